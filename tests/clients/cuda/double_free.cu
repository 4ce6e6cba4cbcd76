// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory that the host frees twice, and memory that it never had.
#include "check.h"

int main() {
    int *block, *other;
    CHECK(cudaMalloc(&block, 256));
    CHECK(cudaMalloc(&other, 256));
    CHECK(cudaFree(block));
    EXPECT(cudaErrorInvalidValue, cudaFree(block));
    EXPECT(cudaErrorInvalidValue, cudaFree(other + 1));
    CHECK(cudaFree(other));
    CHECK(cudaFree(nullptr));
    printf("double_free: errors are as they should be\n");
    return 0;
}
