// SPDX-License-Identifier: MIT OR Apache-2.0
// Histograms of the angles between points on a sphere, for a correlation function: of the observed points among themselves, and of each
// random set with the observed points and with itself, a block each. Points come in tiles through shared memory. The bin of a cosine
// is found by bisection among borders in constant memory; each warp has a histogram of its own in shared memory.

#define BLOCK 256
#define BINS 20
#define WARPS (BLOCK / 32)
#define TILE 32

__constant__ float borders[BINS + 1];

extern "C" __global__ void tpacf_histograms(const float *__restrict__ x, const float *__restrict__ y,
                                            const float *__restrict__ z, int points, unsigned *__restrict__ counts)
{
    __shared__ float tx[TILE], ty[TILE], tz[TILE];
    __shared__ unsigned local[WARPS * BINS];
    unsigned t = threadIdx.x;
    // Counts start at one, which the sums take off again.
    if (t < WARPS * BINS)
        local[t] = 1;
    // Block 0: the observed points. Odd blocks: random ones with observed ones. Even blocks: random ones among themselves.
    int one = (blockIdx.x + 1) / 2, other = blockIdx.x & 1 ? 0 : one;
    bool same = one == other;
    const float *ox = x + other * points, *oy = y + other * points, *oz = z + other * points;
    unsigned *own = local + t / 32 * BINS;
#pragma unroll 1
    for (int first = 0; first < points; first += TILE) {
        __syncthreads();
        int from = one * points + first + t;
        if (t < TILE && first + t < points) {
            tx[t] = x[from];
            ty[t] = y[from];
            tz[t] = z[from];
        }
        __syncthreads();
        int here = min(TILE, points - first);
#pragma unroll 1
        for (int j = t; j < points; j += BLOCK) {
            float px = ox[j], py = oy[j], pz = oz[j];
#pragma unroll 1
            for (int k = 0; k < here; k++) {
                if (same && first + k >= j)
                    break;
                float cosine = fmaf(tz[k], pz, fmaf(ty[k], py, __fmul_rn(tx[k], px)));
                int low = 0, high = BINS;
#pragma unroll 1
                while (high - low > 1) {
                    int middle = (unsigned)(low + high) / 2;
                    if (cosine >= borders[middle])
                        high = middle;
                    else
                        low = middle;
                }
                atomicAdd(own + low, 1u);
            }
        }
    }
    __syncthreads();
    if (t < BINS) {
        unsigned sum = 0u - WARPS;
#pragma unroll 1
        for (int w = 0; w < WARPS; w++)
            sum += local[w * BINS + t];
        counts[blockIdx.x * BINS + t] = sum;
    }
}
