// SPDX-License-Identifier: MIT OR Apache-2.0
// Static and dynamic shared memory, its limits, and attributes of functions.
#include "check.h"

__global__ void reverse(const int *in, int *out, int n) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = in[blockIdx.x * n + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * n + threadIdx.x] = tile[n - 1 - threadIdx.x];
}

template <int SIDE>
__global__ void transpose(const float *in, float *out, int n) {
    __shared__ float tile[SIDE][SIDE + 1];
    tile[threadIdx.y][threadIdx.x] = in[(blockIdx.y * SIDE + threadIdx.y) * n + blockIdx.x * SIDE + threadIdx.x];
    __syncthreads();
    out[(blockIdx.x * SIDE + threadIdx.y) * n + blockIdx.y * SIDE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

int main() {
    const int n = 256, blocks = 3;
    std::vector<int> host(n * blocks);
    for (int i = 0; i < n * blocks; i++) host[i] = i;
    Buffer<int> in(host), out(n * blocks);
    reverse<<<blocks, n, n * sizeof(int)>>>(in.data, out.data, n);
    CHECK(cudaGetLastError());
    std::vector<int> got = out.read();
    for (int i = 0; i < n * blocks; i++) REQUIRE(got[i] == i / n * n + n - 1 - i % n, "%d: %d", i, got[i]);

    int optin = 0, limit = 0;
    CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlock, 0));
    CHECK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    REQUIRE(optin >= limit && limit >= 16384, "%d %d", limit, optin);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, reverse));
    REQUIRE(attributes.sharedSizeBytes == 0 && attributes.numRegs > 0 && attributes.maxThreadsPerBlock >= 512);
    CHECK(cudaFuncGetAttributes(&attributes, transpose<16>));
    REQUIRE(attributes.sharedSizeBytes == 16 * 17 * 4, "%zu", attributes.sharedSizeBytes);
    CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, optin));
    CHECK(cudaFuncSetCacheConfig(reverse, cudaFuncCachePreferShared));
    reverse<<<blocks, n, optin>>>(in.data, out.data, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    EXPECT(cudaErrorInvalidValue, cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, optin + 4));
    cudaGetLastError();
    reverse<<<blocks, n, optin + 4>>>(in.data, out.data, n);
    EXPECT(cudaErrorInvalidValue, cudaGetLastError());

    const int side = 48;
    std::vector<float> matrix(side * side);
    Numbers numbers(5);
    for (float &x : matrix) x = numbers.unit();
    Buffer<float> m(matrix), t(side * side);
    transpose<16><<<dim3(side / 16, side / 16), dim3(16, 16)>>>(m.data, t.data, side);
    CHECK(cudaGetLastError());
    std::vector<float> turned = t.read();
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) REQUIRE(turned[x * side + y] == matrix[y * side + x], "%d %d", x, y);
    puts("shared_memory: all values are right");
    return 0;
}
