// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels that are right, and become wrong in one place with `wrong`. Built for compute_75. Blocks have 128 threads.

// Four words at a time into shared memory, and out of it one by one, by other threads.
extern "C" __global__ void vectors(unsigned* out, unsigned wrong) {
    __shared__ uint4 tile[128];
    unsigned t = threadIdx.x;
    tile[t] = make_uint4(t, t + 1u, t + 2u, t + 3u);
    if (!wrong) __syncthreads();
    const unsigned* words = (const unsigned*)tile;
    out[t] = words[(4u * t + 128u) % 512u];
}

// Bytes of one word belong to four threads, which is no race; that somebody stores the whole word is.
extern "C" __global__ void bytes(unsigned* out, unsigned wrong) {
    __shared__ unsigned words[32];
    unsigned t = threadIdx.x;
    ((volatile unsigned char*)words)[t] = (unsigned char)t;
    if (wrong && t < 32u) ((volatile unsigned*)words)[31u - t] = t;
    __syncthreads();
    if (t < 32u) out[t] = words[t];
}

// Each half of a warp shuffles by itself, with a mask of its own.
extern "C" __global__ void halves(unsigned* out, unsigned wrong) {
    unsigned t = threadIdx.x, lane = t % 32u, got;
    if (lane < 16u)
        got = __shfl_sync(0x0000ffffu, t, wrong ? lane + 16u : 15u - lane);
    else
        got = __shfl_xor_sync(0xffff0000u, t, 3);
    out[t] = got;
}

// Lanes of a group exchange values through shared memory; the group is too small for that with `wrong`.
extern "C" __global__ void groups(unsigned* out, unsigned wrong) {
    __shared__ unsigned place[128];
    unsigned t = threadIdx.x, lane = t % 32u;
    place[t] = t * 3u;
    __syncwarp(wrong ? 0xffu << (lane & 24u) : 0xffffu << (lane & 16u));
    out[t] = place[t ^ 8u];
}

// Block 0 hands a value to the others, behind a flag with release and acquire. They do not wait for it with `wrong`.
extern "C" __global__ void hand_over(unsigned* out, unsigned wrong) {
    if (threadIdx.x != 0) return;
    unsigned *value = out + 64, *flag = out + 65, seen = 0;
    if (blockIdx.x == 0) {
        *value = 77u;
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1u) : "memory");
    } else {
        while (!wrong && seen == 0u) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        out[blockIdx.x] = *value;
    }
}

// Two arrays in one piece of dynamic shared memory.
extern "C" __global__ void two_arrays(unsigned* out, unsigned wrong) {
    extern __shared__ unsigned both[];
    unsigned *first = both, *second = both + blockDim.x, t = threadIdx.x;
    first[t] = t;
    second[t] = 2u * t;
    if (!wrong) __syncthreads();
    out[t] = first[127u - t] + second[127u - t];
}

// Counts by atomics in shared memory, which are read behind a barrier.
extern "C" __global__ void counts(unsigned* out, unsigned wrong) {
    __shared__ unsigned bins[8];
    unsigned t = threadIdx.x;
    if (t < 8u) bins[t] = 0u;
    __syncthreads();
    atomicAdd(&bins[t % 8u], 1u);
    if (!wrong) __syncthreads();
    if (t < 8u) out[t] = bins[t];
}

// One barrier a step is enough for two buffers that take turns, and not for one.
extern "C" __global__ void buffers(unsigned* out, unsigned wrong) {
    __shared__ unsigned tile[2][128];
    unsigned t = threadIdx.x, x = t;
    for (unsigned step = 0; step < 6u; ++step) {
        unsigned now = wrong ? 0u : step % 2u;
        tile[now][t] = x + step;
        __syncthreads();
        x += tile[now][(t + 32u) % 128u];
    }
    out[t] = x;
}

// Half of the warps fill an array and arrive; the other half waits for them at a barrier with a number.
extern "C" __global__ void arrivals(unsigned* out, unsigned wrong) {
    __shared__ unsigned tile[64];
    unsigned t = threadIdx.x;
    if (t < 64u) {
        tile[t] = t + 1u;
        asm volatile("barrier.arrive 3, 128;" ::: "memory");
    } else {
        if (!wrong)
            asm volatile("barrier.sync 3, 128;" ::: "memory");
        out[t] = tile[127u - t];
        if (wrong)
            asm volatile("barrier.sync 3, 128;" ::: "memory");
    }
}

// A loop whose lanes leave it at different times, with a vote of those that are left.
extern "C" __global__ void votes(unsigned* out, unsigned wrong) {
    unsigned t = threadIdx.x, lane = t % 32u, rounds = 0;
    while (rounds < lane) {
        unsigned left = wrong ? 0xffffffffu : __activemask();
        unsigned first = __shfl_sync(left, lane, wrong ? 0 : __ffs(left) - 1);
        rounds += 1u + (first & 0u);
    }
    out[t] = rounds;
}
