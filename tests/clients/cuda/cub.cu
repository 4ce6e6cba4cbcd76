// SPDX-License-Identifier: MIT OR Apache-2.0
// CUB's DeviceReduce, DeviceScan and DeviceRadixSort, and Thrust's sort, against the CPU.
#include "check.h"
#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>
#include <thrust/device_vector.h>
#include <thrust/sort.h>

// CUB is asked twice: how much room it needs, then to do it.
template <class F>
static void with_room(F call) {
    size_t bytes = 0;
    CHECK(call(nullptr, bytes));
    void *room;
    CHECK(cudaMalloc(&room, bytes + 1));
    CHECK(call(room, bytes));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(room));
}

int main(int count, char **arguments) {
    int n = count > 1 ? atoi(arguments[1]) : 3000;
    Numbers numbers(11);
    std::vector<int> host(n);
    std::vector<unsigned> keys(n);
    for (int i = 0; i < n; i++) host[i] = (int)(numbers.next() % 1000) - 500, keys[i] = numbers.next();
    Buffer<int> in(host), out(n), one(1);
    with_room([&](void *room, size_t &bytes) { return cub::DeviceReduce::Sum(room, bytes, in.data, one.data, n); });
    REQUIRE(one.read()[0] == std::accumulate(host.begin(), host.end(), 0), "%d", one.read()[0]);
    with_room([&](void *room, size_t &bytes) { return cub::DeviceReduce::Max(room, bytes, in.data, one.data, n); });
    REQUIRE(one.read()[0] == *std::max_element(host.begin(), host.end()));
    puts("cub: reductions are right");

    with_room([&](void *room, size_t &bytes) { return cub::DeviceScan::InclusiveSum(room, bytes, in.data, out.data, n); });
    std::vector<int> sums(n);
    std::partial_sum(host.begin(), host.end(), sums.begin());
    REQUIRE(out.read() == sums);
    puts("cub: the scan is right");

    Buffer<unsigned> unsorted(keys), sorted(n);
    with_room([&](void *room, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(room, bytes, unsorted.data, sorted.data, in.data, out.data, n);
    });
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    std::vector<unsigned> got = sorted.read();
    std::vector<int> values = out.read();
    for (int i = 0; i < n; i++)
        REQUIRE(got[i] == keys[order[i]] && values[i] == host[order[i]], "sorted %d: %u", i, got[i]);
    puts("cub: the radix sort is right");

    thrust::device_vector<int> vector(host.begin(), host.end());
    thrust::sort(vector.begin(), vector.end(), [] __device__(int a, int b) { return a > b; });
    std::vector<int> descending = host;
    std::sort(descending.begin(), descending.end(), std::greater<int>());
    std::vector<int> back(n);
    thrust::copy(vector.begin(), vector.end(), back.begin());
    REQUIRE(back == descending);
    puts("thrust: the sort is right");
    return 0;
}
