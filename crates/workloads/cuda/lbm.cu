// SPDX-License-Identifier: MIT OR Apache-2.0
// One time step of a lattice Boltzmann fluid with 19 directions in a box whose lid moves: every cell relaxes towards equilibrium and
// sends what moves in each direction to its neighbour there. Cells of the wall send back what came. A block has a row of 120 cells.
// Each direction is an array of its own, the type of cells another.

#define NX 120
#define WALL 1
#define LID 2

// A coordinate times a component of a direction, added to a sum, without multiplying by 0 or 1.
#define ALONG(sum, component, value) ((component) == 0 ? (sum) : (component) > 0 ? (sum) + (value) : (sum) - (value))

extern "C" __global__ void lbm_step(const float *__restrict__ from, float *__restrict__ to,
                                    const int *__restrict__ kinds, int ny, int stride, float omega)
{
    constexpr int d[19][3] = {
        {0, 0, 0},  {1, 0, 0},   {-1, 0, 0}, {0, 1, 0},  {0, -1, 0}, {0, 0, 1},   {0, 0, -1},
        {1, 1, 0},  {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0}, {1, 0, 1},  {-1, 0, -1}, {1, 0, -1},
        {-1, 0, 1}, {0, 1, 1},   {0, -1, -1}, {0, 1, -1}, {0, -1, 1}};
    // A layer of the box lies before the first and behind the last, for what leaves the wall.
    int cell = ((blockIdx.y + 1) * ny + blockIdx.x) * NX + threadIdx.x;
    int kind = kinds[cell];
    float f[19];
#pragma unroll
    for (int i = 0; i < 19; i++)
        f[i] = from[i * stride + cell];
    if (kind == WALL) {
        // Opposite directions follow each other.
#pragma unroll
        for (int i = 1; i < 19; i += 2) {
            float there = f[i];
            f[i] = f[i + 1];
            f[i + 1] = there;
        }
    } else {
        float density = f[0], ux = 0.0f, uy = 0.0f, uz = 0.0f;
#pragma unroll
        for (int i = 1; i < 19; i++) {
            density += f[i];
            ux = ALONG(ux, d[i][0], f[i]);
            uy = ALONG(uy, d[i][1], f[i]);
            uz = ALONG(uz, d[i][2], f[i]);
        }
        ux /= density;
        uy /= density;
        uz /= density;
        if (kind == LID) {
            ux = 0.05f;
            uy = 0.02f;
            uz = 0.0f;
        }
        float still = fmaf(-1.5f, fmaf(uz, uz, fmaf(uy, uy, __fmul_rn(ux, ux))), 1.0f);
#pragma unroll
        for (int i = 0; i < 19; i++) {
            float along = 0.0f, shape = still;
            along = ALONG(along, d[i][0], ux);
            along = ALONG(along, d[i][1], uy);
            along = ALONG(along, d[i][2], uz);
            float weight = i == 0 ? 1.0f / 3.0f : i < 7 ? 1.0f / 18.0f : 1.0f / 36.0f;
            if (i > 0)
                shape = fmaf(along, fmaf(4.5f, along, 3.0f), still);
            float level = __fmul_rn(__fmul_rn(weight, density), shape);
            f[i] = fmaf(omega, level - f[i], f[i]);
        }
    }
#pragma unroll
    for (int i = 0; i < 19; i++)
        to[i * stride + cell + (d[i][2] * ny + d[i][1]) * NX + d[i][0]] = f[i];
}
