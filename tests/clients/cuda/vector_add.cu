// SPDX-License-Identifier: MIT OR Apache-2.0
// The first program that everyone writes: the sum of two vectors, plus what it says about the device.
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main() {
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    REQUIRE(devices == 1, "%d devices", devices);
    CHECK(cudaSetDevice(0));
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(1));
    EXPECT(cudaErrorInvalidDevice, cudaGetLastError());
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    REQUIRE(properties.multiProcessorCount > 0 && properties.warpSize == 32 && properties.maxThreadsPerBlock >= 512);
    REQUIRE(properties.totalGlobalMem > (256u << 20), "%zu bytes", properties.totalGlobalMem);
    int major = 0, sms = 0;
    CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    REQUIRE(major == properties.major && sms == properties.multiProcessorCount);
    size_t free_bytes = 0, total = 0;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    REQUIRE(total == properties.totalGlobalMem && free_bytes <= total);

    const int n = 5000;
    Numbers numbers(1);
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; i++) a[i] = numbers.unit(), b[i] = numbers.unit();
    Buffer<float> da(a), db(b), dc(n);
    add<<<(n + 255) / 256, 256>>>(da.data, db.data, dc.data, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::vector<float> c = dc.read();
    for (int i = 0; i < n; i++) REQUIRE(c[i] == a[i] + b[i], "c[%d] is %g", i, c[i]);
    printf("vector_add: %d sums are right\n", n);
    return 0;
}
