// SPDX-License-Identifier: MIT OR Apache-2.0
// Speckle-reducing anisotropic diffusion in two kernels with blocks of 16 x 16 threads, whose pixels are in shared memory: the first
// finds derivatives and the coefficient of diffusion, the second the divergence. Neighbours of other blocks are read from memory;
// beyond the edges of the image a pixel is its own neighbour.

#define SIDE 16

extern "C" __global__ void srad2_coefficient(const float *__restrict__ image, float *__restrict__ coefficient,
                                             float *__restrict__ east, float *__restrict__ west,
                                             float *__restrict__ north, float *__restrict__ south, int cols, int rows,
                                             float speckle)
{
    __shared__ float tile[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * SIDE + tx, y = blockIdx.y * SIDE + ty;
    int at = y * cols + x;
    float here = image[at];
    tile[ty][tx] = here;
    __syncthreads();
    float up = ty > 0 ? tile[ty - 1][tx] : y > 0 ? image[at - cols] : here;
    float down = ty < SIDE - 1 ? tile[ty + 1][tx] : y < rows - 1 ? image[at + cols] : here;
    float left = tx > 0 ? tile[ty][tx - 1] : x > 0 ? image[at - 1] : here;
    float right = tx < SIDE - 1 ? tile[ty][tx + 1] : x < cols - 1 ? image[at + 1] : here;
    float dn = up - here, ds = down - here, dw = left - here, de = right - here;
    float g2 = fmaf(de, de, fmaf(dw, dw, fmaf(ds, ds, __fmul_rn(dn, dn)))) / (here * here);
    float l = (dn + ds + dw + de) / here;
    float num = fmaf(0.5f, g2, -(0.0625f * (l * l)));
    float den = fmaf(0.25f, l, 1.0f);
    float q = num / (den * den);
    float c = 1.0f / (1.0f + (q - speckle) / (speckle * (1.0f + speckle)));
    coefficient[at] = fminf(fmaxf(c, 0.0f), 1.0f);
    east[at] = de;
    west[at] = dw;
    north[at] = dn;
    south[at] = ds;
}

extern "C" __global__ void srad2_update(float *__restrict__ image, const float *__restrict__ coefficient,
                                        const float *__restrict__ east, const float *__restrict__ west,
                                        const float *__restrict__ north, const float *__restrict__ south, int cols,
                                        int last_column, int last_row, float lambda)
{
    __shared__ float tile[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * SIDE + tx, y = blockIdx.y * SIDE + ty;
    int at = y * cols + x;
    float here = coefficient[at];
    tile[ty][tx] = here;
    __syncthreads();
    float down = ty < SIDE - 1 ? tile[ty + 1][tx] : y < last_row ? coefficient[at + cols] : here;
    float right = tx < SIDE - 1 ? tile[ty][tx + 1] : x < last_column ? coefficient[at + 1] : here;
    float flow = fmaf(right, east[at], fmaf(here, west[at], fmaf(down, south[at], __fmul_rn(here, north[at]))));
    image[at] = fmaf(0.25f * lambda, flow, image[at]);
}
