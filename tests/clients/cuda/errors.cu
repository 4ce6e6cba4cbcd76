// SPDX-License-Identifier: MIT OR Apache-2.0
// Errors that a program may go on after: each has its code, is told once, and leaves the device usable.
#include "check.h"
#include <cstring>

__global__ void store(int *p) { *p = 1; }

int main() {
    Buffer<int> word(1);
    // Too large a block, no block, too much memory, null, a function that is none.
    store<<<1, 4096>>>(word.data);
    EXPECT(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
    EXPECT(cudaErrorInvalidConfiguration, cudaGetLastError());
    CHECK(cudaGetLastError());
    store<<<0, 32>>>(word.data);
    EXPECT(cudaErrorInvalidConfiguration, cudaGetLastError());
    store<<<dim3(1, 70000), 32>>>(word.data);
    EXPECT(cudaErrorInvalidConfiguration, cudaGetLastError());
    void *p = &p;
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&p, (size_t)1 << 45));
    EXPECT(cudaErrorMemoryAllocation, cudaGetLastError());
    EXPECT(cudaErrorInvalidValue, cudaMalloc(nullptr, 4));
    cudaGetLastError();
    CHECK(cudaMalloc(&p, 0));
    REQUIRE(p == nullptr);
    CHECK(cudaFree(nullptr));
    EXPECT(cudaErrorInvalidValue, cudaFree(&word));
    cudaGetLastError();
    int nothing = 0;
    void *arguments[] = {&word.data};
    EXPECT(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((void *)&nothing, dim3(1), dim3(1), arguments, 0, 0));
    cudaGetLastError();
    EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpy(word.data, &nothing, 4, (cudaMemcpyKind)17));
    cudaGetLastError();
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(word.data, &nothing, 1 << 20, cudaMemcpyDeviceToDevice));
    cudaGetLastError();
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventRecord(nullptr));
    cudaGetLastError();
    REQUIRE(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"));
    REQUIRE(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
    // It still works.
    store<<<1, 1>>>(word.data);
    CHECK(cudaGetLastError());
    REQUIRE(word.read()[0] == 1);
    puts("errors: each has its code, and the device went on");
    return 0;
}
