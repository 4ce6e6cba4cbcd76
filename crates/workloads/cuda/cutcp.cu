// SPDX-License-Identifier: MIT OR Apache-2.0
// Electric potential of atoms at the points of a lattice, each atom as far as a cutoff. Atoms are kept in bins of eight, with a charge
// of zero where there is none. A block of 128 threads has a cube of 8 x 8 x 8 points, four a thread, and goes through the bins around
// it by a list of offsets in constant memory, bringing one bin after the other into shared memory.

#define BIN 8
#define BLOCK 128
#define MAX_NEAR 343

__constant__ int near_count;
__constant__ int near[MAX_NEAR];

extern "C" __global__ void cutcp_potential(const float4 *__restrict__ bins, float *__restrict__ lattice, int across,
                                           int bins_x, int bins_y, int margin, float spacing, float cutoff2,
                                           float inverse)
{
    __shared__ float4 atoms[BIN];
    int t = threadIdx.x;
    int px = t & 7, py = t >> 3 & 7, pz = t >> 6;
    int home = ((blockIdx.z + margin) * bins_y + blockIdx.y + margin) * bins_x + blockIdx.x + margin;
    float x = spacing * (blockIdx.x * 8 + px), y = spacing * (blockIdx.y * 8 + py);
    int first = blockIdx.z * 8 + pz;
    float sum[4] = {};
#pragma unroll 1
    for (int n = 0; n < near_count; n++) {
        __syncthreads();
        if (t < BIN)
            atoms[t] = bins[(home + near[n]) * BIN + t];
        __syncthreads();
#pragma unroll 1
        for (int a = 0; a < BIN; a++) {
            float4 atom = atoms[a];
            if (atom.w == 0.0f)
                break;
            float dx = atom.x - x, dy = atom.y - y;
            float flat = dx * dx + dy * dy;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                float dz = atom.z - spacing * (first + 2 * k);
                float r2 = flat + dz * dz;
                if (r2 < cutoff2) {
                    float fade = 1.0f - r2 * inverse;
                    sum[k] += atom.w * rsqrtf(r2) * fade * fade;
                }
            }
        }
    }
    int row = gridDim.x * 8;
    float *to = lattice + (first * across + blockIdx.y * 8 + py) * row + blockIdx.x * 8 + px;
#pragma unroll
    for (int k = 0; k < 4; k++)
        to[2 * k * across * row] = sum[k];
}
