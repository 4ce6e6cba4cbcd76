// SPDX-License-Identifier: MIT OR Apache-2.0
// Samples of a magnetic resonance scanner put onto a regular grid. The first kernel finds the tile of 8 x 4 x 2 cells of each sample,
// the second brings samples into the order of tiles. The third has a block a tile and a thread a cell: it goes through the samples of the
// tile and of those around it, a block at a time in shared memory, and adds those that are near, weighed by a window of Kaiser and
// Bessel, whose series is written out.

#define TX 8
#define TY 4
#define TZ 2
#define BLOCK (TX * TY * TZ)
#define WIDE_BLOCK 64

extern "C" __global__ void gridding_bin(const float4 *__restrict__ places, int samples, int tiles_x, int tiles_y,
                                        int *__restrict__ bins)
{
    int at = blockIdx.x * WIDE_BLOCK + threadIdx.x;
    if (at >= samples)
        return;
    float4 place = places[at];
    unsigned x = place.x, y = place.y, z = place.z;
    bins[at] = ((z / TZ) * tiles_y + y / TY) * tiles_x + x / TX;
}

extern "C" __global__ void gridding_reorder(const float4 *__restrict__ places, const float2 *__restrict__ values,
                                            const int *__restrict__ order, int samples, float4 *__restrict__ to_places,
                                            float2 *__restrict__ to_values)
{
    int at = blockIdx.x * WIDE_BLOCK + threadIdx.x;
    if (at >= samples)
        return;
    int from = order[at];
    to_places[at] = places[from];
    to_values[at] = values[from];
}

extern "C" __global__ void gridding_gather(const float4 *__restrict__ places, const float2 *__restrict__ values,
                                           const int *__restrict__ starts, float cutoff2, float shape,
                                           float2 *__restrict__ grid)
{
    __shared__ float4 near[BLOCK];
    __shared__ float2 carried[BLOCK];
    int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
    int t = (tz * blockDim.y + ty) * blockDim.x + tx;
    int nx = gridDim.x, ny = gridDim.y, nz = gridDim.z;
    int bx = blockIdx.x, by = blockIdx.y, bz = blockIdx.z;
    int column = bx * blockDim.x + tx, line = by * blockDim.y + ty, layer = bz * blockDim.z + tz;
    float x = column, y = line, z = layer;
    float real = 0.0f, imaginary = 0.0f;
#pragma unroll 1
    for (int k = max(bz - 1, 0); k <= min(bz + 1, nz - 1); k++)
#pragma unroll 1
        for (int j = max(by - 1, 0); j <= min(by + 1, ny - 1); j++) {
            // Tiles of a row follow each other, and so do their samples.
            int row = (k * ny + j) * nx;
            int first = starts[row + max(bx - 1, 0)], end = starts[row + min(bx + 1, nx - 1) + 1];
#pragma unroll 1
            for (; first < end; first += BLOCK) {
                __syncthreads();
                if (first + t < end) {
                    near[t] = places[first + t];
                    carried[t] = values[first + t];
                }
                __syncthreads();
                int count = min(BLOCK, end - first);
#pragma unroll 1
                for (int s = 0; s < count; s++) {
                    float4 place = near[s];
                    float dx = place.x - x, dy = place.y - y, dz = place.z - z;
                    float apart = fmaf(dz, dz, fmaf(dy, dy, __fmul_rn(dx, dx)));
                    if (apart < cutoff2) {
                        float q = shape * (1.0f - apart / cutoff2);
                        float weight = fmaf(q, 1.0f / 14400.0f, 1.0f / 576.0f);
                        weight = fmaf(q, weight, 1.0f / 36.0f);
                        weight = fmaf(q, weight, 0.25f);
                        weight = fmaf(q, weight, 1.0f);
                        weight = __fmul_rn(fmaf(q, weight, 1.0f), place.w);
                        real = fmaf(weight, carried[s].x, real);
                        imaginary = fmaf(weight, carried[s].y, imaginary);
                    }
                }
            }
        }
    grid[(layer * ny * blockDim.y + line) * nx * blockDim.x + column] = make_float2(real, imaginary);
}
