// SPDX-License-Identifier: MIT OR Apache-2.0
// Warps and blocks: shuffles, votes, matches, reductions, barriers, fences, atomics of every type.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void shuffles(int *i, float *f, double *d, long long *l) {
    int t = threadIdx.x;
    i[t] = __shfl_sync(~0u, i[t], 3) + __shfl_up_sync(~0u, i[t], 1, 16) + __shfl_down_sync(0xffffu, i[t], 2);
    f[t] += __shfl_xor_sync(~0u, f[t], 8);
    d[t] += __shfl_xor_sync(~0u, d[t], 4);
    l[t] += __shfl_sync(~0u, l[t], t ^ 1, 8);
}
extern "C" __global__ void votes(unsigned *out) {
    unsigned t = threadIdx.x, active = __activemask();
    bool odd = out[t] & 1;
    out[t] = __ballot_sync(active, odd) + __all_sync(active, odd) * 2 + __any_sync(active, odd) * 4;
    out[t + 32] = __popc(active) + __clz(out[t]) + __ffs(out[t]) + __brev(out[t]);
    __syncwarp();
    out[t] += __syncthreads_count(odd) + __syncthreads_and(odd) + __syncthreads_or(odd);
#if __CUDA_ARCH__ >= 700
    int all;
    out[t] += __match_any_sync(active, out[t]) ^ __match_all_sync(active, out[t + 32], &all);
    out[t] += all;
    __nanosleep(100);
#endif
#if __CUDA_ARCH__ >= 800
    out[t] += __reduce_add_sync(active, out[t]) + __reduce_max_sync(active, static_cast<int>(out[t]));
    out[t] ^= __reduce_xor_sync(active, out[t]);
#endif
}
extern "C" __global__ void atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d) {
    __shared__ int si; __shared__ unsigned su; __shared__ unsigned long long sl; __shared__ float sf;
    if (threadIdx.x == 0) { si = 0; su = 1; sl = 2; sf = 0; }
    __syncthreads();
    atomicAdd(i, 1); atomicSub(i, 2); atomicMin(i, 3); atomicMax(i, 4); atomicExch(i, 5); atomicAnd(i, 6);
    u[1] = atomicInc(u, 7) + atomicDec(u, 8) + atomicCAS(u, 9, 10) + atomicOr(u, 11) + atomicXor(u, 12);
    l[1] = atomicAdd(l, 13ull) + atomicMax(l, 14ull) + atomicCAS(l, 15ull, 16ull) + atomicExch(l, 17ull);
    f[1] = atomicAdd(f, 1.5f) + atomicExch(f, 2.5f);
#if __CUDA_ARCH__ >= 600
    d[1] = atomicAdd(d, 3.5); atomicAdd_system(i, 1); atomicAdd_block(i, 2); atomicCAS_system(u, 1u, 2u);
#endif
    atomicAdd(&si, i[0]); atomicMax(&su, u[0]); atomicAdd(&sl, l[0]); atomicAdd(&sf, f[0]); atomicCAS(&su, 1u, 3u);
    __threadfence_block(); __threadfence(); __threadfence_system();
    __syncthreads();
    i[2] = si; u[2] = su; l[2] = sl; f[2] = sf;
}
__device__ int group_sum(cg::thread_group group, int *scratch, int value) {
    int lane = group.thread_rank();
    for (int i = group.size() / 2; i > 0; i /= 2) {
        scratch[lane] = value;
        group.sync();
        if (lane < i) value += scratch[lane + i];
        group.sync();
    }
    return value;
}
extern "C" __global__ void groups(int *out) {
    extern __shared__ int scratch[];
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int value = group_sum(block, scratch, out[block.thread_rank()]);
    value += tile.shfl_down(value, 4) + tile.any(value > 3);
    if (value & 1) { auto active = cg::coalesced_threads(); value += active.size(); active.sync(); }
    out[block.thread_rank()] = value;
}
extern "C" __global__ void clocks(long long *out) {
    long long start = clock64();
    unsigned lane, mask, smid; unsigned long long timer;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
    out[0] = clock64() - start + clock() + lane + mask + smid + timer;
}
