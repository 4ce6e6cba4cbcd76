// SPDX-License-Identifier: MIT OR Apache-2.0
// One Jacobi step of a seven-point stencil over a box: six neighbours weighted by c1, less the cell itself by c0. A block owns a
// column of cells through all planes; each thread walks along z with the planes below, here and above in registers, and meets its
// neighbours of the same plane in shared memory where they belong to the block.

#define WIDE 32
#define HIGH 4

extern "C" __global__ void stencil(float c0, float c1, const float *__restrict__ from, float *__restrict__ to, int nx,
                                   int ny, int nz)
{
    __shared__ float plane[HIGH][WIDE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * WIDE + tx, y = blockIdx.y * HIGH + ty;
    bool there = x < nx && y < ny;
    bool inside = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;
    int layer = nx * ny;
    int at = y * nx + x;

    float below = 0.0f, here = 0.0f;
    if (there) {
        below = from[at];
        here = from[at + layer];
    }
    at += layer;
#pragma unroll 1
    for (int z = 1; z < nz - 1; z++) {
        plane[ty][tx] = here;
        __syncthreads();
        float above = there ? from[at + layer] : 0.0f;
        if (inside) {
            float west = tx > 0 ? plane[ty][tx - 1] : from[at - 1];
            float east = tx < WIDE - 1 ? plane[ty][tx + 1] : from[at + 1];
            float north = ty > 0 ? plane[ty - 1][tx] : from[at - nx];
            float south = ty < HIGH - 1 ? plane[ty + 1][tx] : from[at + nx];
            float sum = above + below + south + north + east + west;
            to[at] = fmaf(sum, c1, -(here * c0));
        }
        __syncthreads();
        below = here;
        here = above;
        at += layer;
    }
}
