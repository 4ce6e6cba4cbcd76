// SPDX-License-Identifier: MIT OR Apache-2.0
// The newer ways to launch (cudaLaunchKernelEx with attributes, cudaLaunchKernel with an array of arguments) and what kernels of
// today use of a warp: shuffles, votes, matching, and the counter of cycles.
#include "check.h"

struct Big {
    double a[20];
    char tag;
    short s;
};

__global__ void arguments(Big big, char c, double d, float3 v, double *out) {
    double s = d + c + v.x + v.y * 10 + v.z * 100 + big.tag + big.s;
    for (double x : big.a) s += x;
    out[threadIdx.x] = s;
}

__global__ void warp(int *sums, unsigned *votes, unsigned *same, long long *cycles) {
    long long start = clock64();
    int lane = threadIdx.x, sum = lane;
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    sum = __shfl_sync(~0u, sum, 0);
    sums[lane] = sum + __popc(__activemask());
    votes[lane] = __ballot_sync(~0u, lane % 3 == 0);
    same[lane] = __match_any_sync(~0u, lane / 5);
    cycles[lane] = clock64() - start;
}

int main() {
    Big big;
    double want = 7.25 + 'c' + 1 + 20 + 300 + 'T' + -5;
    for (int i = 0; i < 20; i++) want += big.a[i] = i * 1.5;
    big.tag = 'T';
    big.s = -5;
    Buffer<double> out(32);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    config.stream = stream;
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributePriority;
    attribute[0].val.priority = 0;
    config.attrs = attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, arguments, big, 'c', 7.25, make_float3(1, 2, 3), out.data));
    CHECK(cudaStreamSynchronize(stream));
    for (double x : out.read()) REQUIRE(x == want, "%g, not %g", x, want);

    Buffer<int> sums(32);
    Buffer<unsigned> votes(32), same(32);
    Buffer<long long> cycles(32);
    void *list[] = {&sums.data, &votes.data, &same.data, &cycles.data};
    CHECK(cudaLaunchKernel((void *)warp, dim3(1), dim3(32), list, 0, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::vector<int> s = sums.read();
    std::vector<unsigned> v = votes.read(), m = same.read();
    std::vector<long long> t = cycles.read();
    for (int i = 0; i < 32; i++) {
        unsigned third = 0, group = 0;
        for (int k = 0; k < 32; k++) third |= (unsigned)(k % 3 == 0) << k, group |= (unsigned)(k / 5 == i / 5) << k;
        REQUIRE(s[i] == 496 + 32 && v[i] == third && m[i] == group && t[i] > 0, "lane %d: %d %x %x %lld", i, s[i], v[i], m[i], t[i]);
    }
    CHECK(cudaStreamDestroy(stream));
    puts("launch_ex: all values are right");
    return 0;
}
