// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels with one mistake each, and what the simulator says about them.

// The last thread writes one element past the end: `<=` should be `<`.
extern "C" __global__ void past_the_end(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        out[i] = 1.0f;
}

// Only half of the threads reach the first barrier, the others wait at the second.
extern "C" __global__ void divergent_barrier(int *out) {
    __shared__ int value;
    if (threadIdx.x < 64) {
        value = 1;
        asm volatile("bar.sync 1, 128;");
    } else {
        asm volatile("bar.sync 2, 128;");
    }
    out[threadIdx.x] = value;
}

// A barrier is missing between the write and the read.
extern "C" __global__ void race(int *out) {
    __shared__ int tile[128];
    tile[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = tile[127 - threadIdx.x];
}

// Nobody ever releases the lock.
extern "C" __global__ void lock_held(int *lock) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
}

// A 4-byte load from an odd address.
extern "C" __global__ void misaligned(const char *in, int *out) {
    out[threadIdx.x] = *(const int *)(in + 4 * threadIdx.x + 1);
}
