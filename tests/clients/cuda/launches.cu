// SPDX-License-Identifier: MIT OR Apache-2.0
// How many small launches a second the host gets through, waiting for each and not. Without arguments only the context is made:
// that is the start-up.
#include "check.h"
#include <chrono>

__global__ void tiny(int *p) { p[threadIdx.x] += 1; }

int main(int count, char **arguments) {
    int n = count > 1 ? atoi(arguments[1]) : 0;
    CHECK(cudaFree(0));
    if (n == 0) return 0;
    Buffer<int> p(32);
    CHECK(cudaMemset(p.data, 0, 128));
    tiny<<<1, 32>>>(p.data);
    CHECK(cudaDeviceSynchronize());
    for (bool wait : {false, true}) {
        auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < n; i++) {
            tiny<<<1, 32>>>(p.data);
            if (wait) CHECK(cudaDeviceSynchronize());
        }
        CHECK(cudaDeviceSynchronize());
        std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        printf("%s %.0f\n", wait ? "waiting" : "queued", n / took.count());
    }
    REQUIRE(p.read()[7] == 1 + 2 * n, "%d", p.read()[7]);
    return 0;
}
