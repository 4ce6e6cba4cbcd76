// SPDX-License-Identifier: MIT OR Apache-2.0
// Coulombic potential: the electrostatic potential of point charges on a plane of a grid, by direct summation. The atoms come in
// chunks through constant memory; a thread owns eight points that lie sixteen apart along x, so that it computes the distance along y
// and z once for all of them, and neighbouring threads write neighbouring words.

#define ATOMS 1000
#define POINTS 8

// x, y, squared distance from the plane, and charge of each atom.
__constant__ float4 atoms[ATOMS];

extern "C" __global__ void cp_potential(int count, float spacing, float *grid)
{
    int column = blockIdx.x * blockDim.x * POINTS + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int at = row * (gridDim.x * blockDim.x * POINTS) + column;
    float y = spacing * (float)row;
    float x = spacing * (float)column;
    float apart = spacing * (float)blockDim.x;

    float sum[POINTS];
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        sum[p] = 0.0f;
#pragma unroll 1
    for (int n = 0; n < count; n++) {
        float4 atom = atoms[n];
        float dy = y - atom.y;
        float across = fmaf(dy, dy, atom.z);
        float dx = x - atom.x;
#pragma unroll
        for (int p = 0; p < POINTS; p++) {
            sum[p] = fmaf(atom.w, rsqrtf(fmaf(dx, dx, across)), sum[p]);
            dx += apart;
        }
    }
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        grid[at + p * 16] += sum[p];
}
