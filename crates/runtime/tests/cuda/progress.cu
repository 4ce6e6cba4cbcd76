// SPDX-License-Identifier: MIT OR Apache-2.0
// Programs whose blocks or lanes wait for each other by spinning on memory. Built for compute_75, where the lanes of a warp make progress independently.

// Inclusive sum in one pass: a block publishes its own sum, then looks back over its predecessors until it meets one that
// knows the sum of all before it. status: 0 nothing yet, 1 own sum known, 2 prefix known.
extern "C" __global__ void lookback_scan(const unsigned* in, unsigned* out, unsigned n, unsigned* ticket, volatile unsigned* status,
                                         volatile unsigned* own, volatile unsigned* prefix) {
    __shared__ unsigned block_id, before;
    __shared__ unsigned tile[128];
    unsigned t = threadIdx.x;
    if (t == 0) block_id = atomicAdd(ticket, 1u);
    __syncthreads();
    unsigned b = block_id, i = b * 128u + t;
    tile[t] = i < n ? in[i] : 0u;
    __syncthreads();
    for (unsigned step = 1; step < 128u; step *= 2u) {
        unsigned add = t >= step ? tile[t - step] : 0u;
        __syncthreads();
        tile[t] += add;
        __syncthreads();
    }
    if (t == 127u) {
        own[b] = tile[127];
        __threadfence();
        status[b] = 1u;
        unsigned sum = 0;
        for (int p = (int)b - 1; p >= 0; --p) {
            unsigned s;
            while ((s = status[p]) == 0u) {
            }
            __threadfence();
            if (s == 2u) {
                sum += prefix[p];
                break;
            }
            sum += own[p];
        }
        prefix[b] = sum + tile[127];
        __threadfence();
        status[b] = 2u;
        before = sum;
    }
    __syncthreads();
    if (i < n) out[i] = before + tile[t];
}

// All blocks wait for each other `rounds` times; each round every block adds up what its neighbours wrote in the round before.
extern "C" __global__ void grid_barrier(volatile unsigned* cells, unsigned* arrived, volatile unsigned* phase, unsigned rounds) {
    unsigned blocks = gridDim.x, b = blockIdx.x;
    for (unsigned r = 0; r < rounds; ++r) {
        unsigned left = cells[(b + blocks - 1u) % blocks], right = cells[(b + 1u) % blocks];
        for (int wait = 0; wait < 2; ++wait) {
            __syncthreads();
            if (threadIdx.x == 0) {
                unsigned now = *phase;
                __threadfence();
                if (atomicAdd(arrived, 1u) == blocks - 1u) {
                    *arrived = 0;
                    __threadfence();
                    *phase = now + 1u;
                } else {
                    while (*phase == now) {
                    }
                }
                __threadfence();
            }
            __syncthreads();
            if (wait == 0 && threadIdx.x == 0) cells[b] = left + right + 1u;
        }
    }
}

// Every lane takes the same lock in turn.
extern "C" __global__ void warp_lock(unsigned* lock, unsigned* counter, unsigned* order) {
    while (atomicCAS(lock, 0u, 1u) != 0u) {
    }
    __threadfence();
    unsigned n = *(volatile unsigned*)counter;
    order[n] = blockIdx.x * blockDim.x + threadIdx.x;
    *(volatile unsigned*)counter = n + 1u;
    __threadfence();
    atomicExch(lock, 0u);
}

// Nobody ever opens this lock.
extern "C" __global__ void lost_lock(unsigned* lock, unsigned* out) {
    while (atomicCAS(lock, 0u, 1u) != 0u) {
    }
    out[threadIdx.x] = 1u;
}

// One half of each warp waits at a barrier that the other half never reaches.
extern "C" __global__ void split_barrier(unsigned* out) {
    if (threadIdx.x % 32u < 16u)
        asm volatile("barrier.sync 1, 64;");
    else
        asm volatile("barrier.sync 2, 64;");
    out[threadIdx.x] = threadIdx.x;
}

// Long, but it ends: registers change, memory does not.
extern "C" __global__ void long_count(unsigned* out, unsigned n) {
    unsigned x = threadIdx.x;
    for (unsigned i = 0; i < n; ++i) x = x * 1664525u + 1013904223u;
    out[threadIdx.x] = x;
}
