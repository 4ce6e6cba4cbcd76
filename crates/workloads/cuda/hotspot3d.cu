// SPDX-License-Identifier: MIT OR Apache-2.0
// Heat in a stack of chips: one explicit step of a seven-point stencil over temperature, driven by the power of each cell. A thread owns a
// column of cells and walks up through the layers with the temperatures below, here and above in registers. Cells at a face have themselves
// for a neighbour. The grid covers the layers exactly.

#define AMBIENT 80.0f

extern "C" __global__ void hotspot3d(const float *__restrict__ power, const float *__restrict__ from,
                                     float *__restrict__ to, int nx, int ny, int nz, float along_x, float along_y,
                                     float along_z, float own, float per_watt)
{
    int x = blockDim.x * blockIdx.x + threadIdx.x, y = blockDim.y * blockIdx.y + threadIdx.y;
    int at = x + y * nx;
    int layer = nx * ny;
    int west = x == 0 ? at : at - 1, east = x == nx - 1 ? at : at + 1;
    int north = y == 0 ? at : at - nx, south = y == ny - 1 ? at : at + nx;
    float below = from[at], here = below;
#pragma unroll 1
    for (int z = 0; z < nz; z++) {
        float above = z == nz - 1 ? here : from[at + layer];
        float sum = fmaf(own, here, along_z * AMBIENT);
        sum = fmaf(along_x, from[west], sum);
        sum = fmaf(along_x, from[east], sum);
        sum = fmaf(along_y, from[south], sum);
        sum = fmaf(along_y, from[north], sum);
        sum = fmaf(along_z, below, sum);
        sum = fmaf(along_z, above, sum);
        to[at] = fmaf(per_watt, power[at], sum);
        below = here;
        here = above;
        at += layer;
        west += layer;
        east += layer;
        north += layer;
        south += layer;
    }
}
