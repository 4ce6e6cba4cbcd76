// SPDX-License-Identifier: MIT OR Apache-2.0
// Constant and device variables by name: copies to and from them, parts of them, their addresses and sizes.
#include "check.h"

__constant__ float coefficients[16] = {1, 2, 3};
__device__ int counters[4] = {10, 20, 30, 40};
__device__ int *pointer;

__global__ void polynomial(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 15; k >= 0; k--) s = s * x[i] + coefficients[k];
    y[i] = s;
    atomicAdd(&counters[i & 3], 1);
}

__global__ void through_pointer() { pointer[threadIdx.x] = counters[threadIdx.x]; }

int main() {
    float initial[16];
    CHECK(cudaMemcpyFromSymbol(initial, coefficients, sizeof initial));
    REQUIRE(initial[0] == 1 && initial[2] == 3 && initial[3] == 0);
    const int n = 300;
    std::vector<float> x(n);
    Numbers numbers(7);
    for (float &v : x) v = numbers.unit() - 0.5f;
    Buffer<float> dx(x), dy(n);
    float c[16];
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < 16; k++) c[k] = (float)(k + round);
        // The second round writes the second half only, in stream order after the first kernel.
        if (round == 0) CHECK(cudaMemcpyToSymbol(coefficients, c, sizeof c));
        else CHECK(cudaMemcpyToSymbolAsync(coefficients, c + 8, 8 * sizeof(float), 8 * sizeof(float), cudaMemcpyHostToDevice, 0));
        polynomial<<<2, 256>>>(dx.data, dy.data, n);
        CHECK(cudaGetLastError());
        std::vector<float> y = dy.read();
        for (int i = 0; i < n; i++) {
            double want = 0;
            for (int k = 15; k >= 0; k--) want = want * x[i] + (round == 1 && k < 8 ? k : c[k]);
            REQUIRE(std::fabs(y[i] - want) < 1e-4, "round %d, %d: %g, not %g", round, i, y[i], want);
        }
    }
    int counts[4];
    CHECK(cudaMemcpyFromSymbol(counts, counters, sizeof counts));
    for (int k = 0; k < 4; k++) REQUIRE(counts[k] == 10 * (k + 1) + 2 * 75, "%d: %d", k, counts[k]);

    void *address;
    size_t size = 0;
    CHECK(cudaGetSymbolAddress(&address, counters));
    CHECK(cudaGetSymbolSize(&size, counters));
    REQUIRE(size == 16, "%zu", size);
    CHECK(cudaMemset(address, 0, size));
    Buffer<int> target(4);
    CHECK(cudaMemcpyToSymbol(pointer, &target.data, sizeof(int *)));
    through_pointer<<<1, 4>>>();
    std::vector<int> zero = target.read();
    for (int v : zero) REQUIRE(v == 0, "%d", v);
    EXPECT(cudaErrorInvalidValue, cudaMemcpyToSymbol(coefficients, c, sizeof c, 4));
    cudaGetLastError();
    int not_a_symbol;
    EXPECT(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&address, not_a_symbol));
    cudaGetLastError();
    puts("symbols: all values are right");
    return 0;
}
