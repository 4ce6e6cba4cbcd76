// SPDX-License-Identifier: MIT OR Apache-2.0
// printf of device and host on one standard output, in the order in which they must appear.
#include "check.h"

__global__ void hello(int round, const char *word) {
    printf("device %d thread %d: %5.2f %s %c %llx %%\n", round, threadIdx.x, threadIdx.x * 0.5, word, 'a' + threadIdx.x,
           0x123456789abcull);
}

int main() {
    char *word;
    CHECK(cudaMallocManaged((void **)&word, 8));
    snprintf(word, 8, "word");
    for (int round = 0; round < 2; round++) {
        printf("host before %d\n", round);
        hello<<<1, 2>>>(round, word);
        CHECK(cudaDeviceSynchronize());
        printf("host after %d\n", round);
    }
    CHECK(cudaFree(word));
    return 0;
}
