// SPDX-License-Identifier: MIT OR Apache-2.0
// Pinned, mapped and registered host memory, and what pointers are said to be.
#include "check.h"

__global__ void square(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * in[i];
}

static cudaMemoryType kind(const void *p) {
    cudaPointerAttributes a;
    CHECK(cudaPointerGetAttributes(&a, p));
    return a.type;
}

int main() {
    const int n = 1000;
    int *in, *out, *device_in, *device_out;
    CHECK(cudaHostAlloc((void **)&in, n * sizeof(int), cudaHostAllocMapped));
    CHECK(cudaHostAlloc((void **)&out, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocWriteCombined));
    for (int i = 0; i < n; i++) in[i] = i - 500, out[i] = -1;
    CHECK(cudaHostGetDevicePointer((void **)&device_in, in, 0));
    CHECK(cudaHostGetDevicePointer((void **)&device_out, out, 0));
    square<<<4, 256>>>(device_in, device_out, n);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) REQUIRE(out[i] == in[i] * in[i], "mapped %d: %d", i, out[i]);
    unsigned flags = 0;
    CHECK(cudaHostGetFlags(&flags, in));
    REQUIRE(flags & cudaHostAllocMapped, "%u", flags);

    // Memory of the program's own.
    std::vector<int> own(n);
    for (int i = 0; i < n; i++) own[i] = 2 * i;
    REQUIRE(kind(own.data()) == cudaMemoryTypeUnregistered);
    CHECK(cudaHostRegister(own.data(), n * sizeof(int), cudaHostRegisterMapped));
    EXPECT(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own.data(), n * sizeof(int), cudaHostRegisterMapped));
    cudaGetLastError();
    REQUIRE(kind(own.data()) == cudaMemoryTypeHost && kind(in) == cudaMemoryTypeHost);
    int *device_own;
    CHECK(cudaHostGetDevicePointer((void **)&device_own, own.data(), 0));
    square<<<4, 256>>>(device_own, device_out, n);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) REQUIRE(out[i] == 4 * i * i, "registered %d: %d", i, out[i]);
    CHECK(cudaHostUnregister(own.data()));
    EXPECT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own.data()));
    cudaGetLastError();

    // A copy to the device and back, asynchronous both ways.
    Buffer<int> buffer(n);
    REQUIRE(kind(buffer.data) == cudaMemoryTypeDevice);
    CHECK(cudaMemcpyAsync(buffer.data, in, n * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyAsync(out, buffer.data, n * sizeof(int), cudaMemcpyDefault));
    CHECK(cudaStreamSynchronize(0));
    for (int i = 0; i < n; i++) REQUIRE(out[i] == in[i], "copied %d: %d", i, out[i]);
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    puts("pinned: host and device saw the same");
    return 0;
}
