// SPDX-License-Identifier: MIT OR Apache-2.0
// One Jacobi iteration of Laplace's equation in three dimensions: each inner cell becomes the mean of its six neighbours, cells on
// the boundary keep their value. A block of 32 x 4 threads walks along z with three planes in shared memory, each with a halo of one
// cell, which some threads of the block fetch; the plane at the bottom
// needs none, because it stays as it is.

#define WIDE 32
#define HIGH 4
#define ROW (WIDE + 2)
#define PLANE (ROW * (HIGH + 2))

extern "C" __global__ void lps_laplace(const float *__restrict__ from, float *__restrict__ to, int nx, int ny, int nz)
{
    __shared__ float planes[3 * PLANE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int own = ROW * (ty + 1) + tx + 1;
    int x = blockIdx.x * WIDE + tx, y = blockIdx.y * HIGH + ty;
    bool active = x < nx && y < ny;
    bool boundary = x == 0 || x == nx - 1 || y == 0 || y == ny - 1;
    int layer = nx * ny;
    int at = y * nx + x;

    // The halo of a plane: two rows of 34 cells for the first threads, two columns of 4 for the last. A thread fetches at most one cell.
    int thread = ty * WIDE + tx;
    int halo = -1, halo_x = 0, halo_y = 0;
    if (thread < 2 * ROW) {
        int top = thread < ROW;
        int i = top ? thread : thread - ROW;
        halo_x = blockIdx.x * WIDE + i - 1;
        halo_y = blockIdx.y * HIGH + (top ? -1 : HIGH);
        halo = (top ? 0 : ROW * (HIGH + 1)) + i;
    } else if (thread >= WIDE * HIGH - 2 * HIGH) {
        int i = thread - (WIDE * HIGH - 2 * HIGH);
        int left = i < HIGH;
        int j = left ? i : i - HIGH;
        halo_x = blockIdx.x * WIDE + (left ? -1 : WIDE);
        halo_y = blockIdx.y * HIGH + j;
        halo = ROW * (j + 1) + (left ? 0 : WIDE + 1);
    }
    bool fetches = halo >= 0 && halo_x >= 0 && halo_x < nx && halo_y >= 0 && halo_y < ny;
    int halo_at = halo_y * nx + halo_x;

    int below = 0, here = PLANE, above = 2 * PLANE;
    if (active)
        planes[above + own] = from[at];
#pragma unroll 1
    for (int z = 0; z < nz; z++) {
        int oldest = below;
        below = here;
        here = above;
        above = oldest;
        if (z < nz - 1) {
            if (active)
                planes[above + own] = from[at + layer];
            if (fetches)
                planes[above + halo] = from[halo_at + layer];
        }
        __syncthreads();
        if (active) {
            float next;
            if (boundary || z == 0 || z == nz - 1)
                next = planes[here + own];
            else
                next = (planes[here + own - 1] + planes[here + own + 1] + planes[here + own - ROW] +
                        planes[here + own + ROW] + planes[below + own] + planes[above + own]) *
                       (1.0f / 6.0f);
            to[at] = next;
        }
        at += layer;
        halo_at += layer;
        __syncthreads();
    }
}
