// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels that wait for ever, each in its own way, and right ones beside them that look much the same. Built for compute_75.

__device__ void take(unsigned* lock) {
    while (atomicCAS(lock, 0u, 1u) != 0u) {
    }
    __threadfence();
}

__device__ void give(unsigned* lock) {
    __threadfence();
    atomicExch(lock, 0u);
}

// Two warps take two locks, in opposite order if `crossed`, the second one when both have had the time to take the first.
extern "C" __global__ void two_locks(unsigned* locks, unsigned* sum, unsigned crossed) {
    unsigned warp = threadIdx.x / 32u;
    if (threadIdx.x % 32u == 0) {
        unsigned first = crossed ? warp & 1u : 0u;
        take(locks + first);
        for (unsigned wait = 0; wait < 300; ++wait) __nanosleep(20);
        take(locks + 1u - first);
        *(volatile unsigned*)sum = *(volatile unsigned*)sum + 1u;
        give(locks + 1u - first);
        give(locks + first);
    }
}

// Every lane takes a lock, and takes it once more without having given it back if `twice`.
extern "C" __global__ void take_twice(unsigned* lock, unsigned* sum, unsigned twice) {
    take(lock);
    if (twice) take(lock);
    *(volatile unsigned*)sum = *(volatile unsigned*)sum + 1u;
    give(lock);
}

// Counts its tries while it waits for a flag. The last block sets it, after a while, if `sets`.
extern "C" __global__ void counted_wait(volatile unsigned* flag, unsigned* out, unsigned sets) {
    unsigned tries = 0;
    if (sets && blockIdx.x == gridDim.x - 1u) {
        unsigned x = 1;
        for (unsigned i = 0; i < sets; ++i) x = x * 1664525u + 1013904223u;
        if (threadIdx.x == 0) *flag = x | 1u;
    }
    while (*flag == 0u) ++tries;
    out[blockIdx.x * blockDim.x + threadIdx.x] = tries;
}

// The same with pauses, and a look at the clock that decides nothing.
extern "C" __global__ void timed_wait(volatile unsigned* flag, long long* out, unsigned sets) {
    long long start = clock64(), now = start;
    if (sets && blockIdx.x == gridDim.x - 1u) {
        while (now - start < sets) now = clock64();
        if (threadIdx.x == 0) *flag = 1u;
    }
    while (*flag == 0u) {
        __nanosleep(100);
        now = clock64();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = now - start;
}

// Waits until a flag is set, or for so many cycles of the clock.
extern "C" __global__ void deadline(volatile unsigned* flag, unsigned* out, unsigned cycles) {
    long long start = clock64();
    while (*flag == 0u && clock64() - start < cycles) {
    }
    out[threadIdx.x] = *flag;
}

// Waits for a shared flag, which a second warp sets after it has counted in shared memory up to `n`; never if that is 0.
extern "C" __global__ void shared_count(unsigned* out, unsigned n) {
    __shared__ volatile unsigned counter, flag;
    if (threadIdx.x == 0) counter = flag = 0u;
    __syncthreads();
    if (threadIdx.x == 32u && n != 0u) {
        while (counter < n) counter = counter + 1u;
        flag = 1u;
    }
    while (flag == 0u) {
    }
    out[threadIdx.x] = flag;
}

// Walks along a ring of flags again and again, until one of them is set: a long way around.
extern "C" __global__ void ring(volatile unsigned* flags, unsigned n, unsigned* out) {
    unsigned i = 0;
    while (flags[i] == 0u) i = i + 1u == n ? 0u : i + 1u;
    out[threadIdx.x] = i;
}

// Half of the warps wait at a barrier, the others for a flag that is set behind it.
extern "C" __global__ void barrier_and_flag(unsigned* out, unsigned sets) {
    __shared__ volatile unsigned flag;
    if (threadIdx.x == 0) flag = 0u;
    __syncthreads();
    if (threadIdx.x < 32u) {
        if (sets) flag = 1u;
        __syncthreads();
        flag = 1u;
    } else {
        while (flag == 0u) {
        }
        __syncthreads();
    }
    out[threadIdx.x] = flag;
}

// A queue between blocks, `depth` cells long: block 0 puts in what block 1 takes out.
extern "C" __global__ void queue(volatile unsigned* cells, unsigned depth, volatile unsigned* head, volatile unsigned* tail,
                                 unsigned items, unsigned work, unsigned* out) {
    if (threadIdx.x != 0) return;
    unsigned sum = 0, x = 1;
    for (unsigned i = 0; i < items; ++i) {
        for (unsigned k = 0; k < work; ++k) x = x * 1664525u + 1013904223u;
        if (blockIdx.x == 0) {
            while (*head - *tail == depth) {
            }
            cells[i % depth] = i + (x & 0u);
            __threadfence();
            *head = i + 1u;
        } else {
            while (*head == *tail) {
            }
            __threadfence();
            sum += cells[i % depth];
            __threadfence();
            *tail = i + 1u;
        }
    }
    if (blockIdx.x == 1) out[0] = sum;
}

// Every lane of the grid waits for its turn at a lock with tickets, and holds it for a while.
extern "C" __global__ void tickets(unsigned* next, volatile unsigned* served, unsigned hold, unsigned* out) {
    unsigned mine = atomicAdd(next, 1u), x = mine;
    bool done = false;
    while (!done) {
        if (*served == mine) {
            for (unsigned i = 0; i < hold; ++i) x = x * 1664525u + 1013904223u;
            out[mine] = x | 1u;
            __threadfence();
            *served = mine + 1u;
            done = true;
        }
    }
}

// Never ends, and stores all the time; with a barrier in each round if `meets`.
extern "C" __global__ void endless(unsigned* out, volatile unsigned* stop, unsigned meets) {
    while (*stop == 0u) {
        out[threadIdx.x] += 1u;
        if (meets) __syncthreads();
    }
}

// Reads for long from all over `count` words, a power of two, and stores once: it is alive, though memory does not change meanwhile.
extern "C" __global__ void adds_up(const unsigned* from, unsigned count, unsigned* out, unsigned rounds) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
#pragma unroll 1
    for (unsigned i = 0; i < rounds; ++i) sum += from[(at * 97u + i * 8191u) & (count - 1u)];
    out[at] = sum;
}
