// SPDX-License-Identifier: MIT OR Apache-2.0
// Detection of white blood cells in a frame of a microscope's video. The first kernel looks for circles: around every pixel and for
// several radii it takes the gradient along the normal of a circle, and keeps the largest square of its mean by its variance. The second
// spreads the largest values over a disc. Gradients and values are read through textures; tables of angles, of the circles' points and
// of the disc are in constant memory. A block has a column of the image.

#define MAX_POINTS 150
#define MAX_CIRCLES 7
#define DISC 9

__constant__ float sines[MAX_POINTS];
__constant__ float cosines[MAX_POINTS];
__constant__ int across[MAX_CIRCLES * MAX_POINTS];
__constant__ int down[MAX_CIRCLES * MAX_POINTS];
__constant__ float disc[DISC * DISC];

extern "C" __global__ void leukocyte_gicov(cudaTextureObject_t grad_x, cudaTextureObject_t grad_y, int height,
                                           int margin, int circles, int points, float *__restrict__ out)
{
    int column = blockIdx.x + margin, row = threadIdx.x + margin;
    float most = 0.0f;
#pragma unroll 1
    for (int k = 0; k < circles; k++) {
        float mean = 0.0f, spread = 0.0f;
        int n = 0;
#pragma unroll 1
        do {
            int at = (column + across[k * MAX_POINTS + n]) * height + row + down[k * MAX_POINTS + n];
            float along = fmaf(tex1Dfetch<float>(grad_y, at), sines[n],
                               __fmul_rn(tex1Dfetch<float>(grad_x, at), cosines[n]));
            float apart = along - mean;
            mean += apart / (n + 1);
            spread = fmaf(apart, along - mean, spread);
        } while (++n < points);
        float variance = spread / (points - 1);
        float score = mean * mean / variance;
        most = fmaxf(most, score);
    }
    out[column * height + row] = most;
}

extern "C" __global__ void leukocyte_dilate(cudaTextureObject_t scores, int height, int margin,
                                            float *__restrict__ out)
{
    int column = blockIdx.x + margin, row = threadIdx.x + margin;
    float most = 0.0f;
#pragma unroll 1
    for (int i = 0; i < DISC; i++)
#pragma unroll 1
        for (int j = 0; j < DISC; j++)
            if (disc[i * DISC + j] != 0.0f)
                most = fmaxf(most, tex1Dfetch<float>(scores, (column + i - DISC / 2) * height + row + j - DISC / 2));
    out[column * height + row] = most;
}
