// SPDX-License-Identifier: MIT OR Apache-2.0
// K-means clustering with the points read through a texture. The points come one after the other and are first turned into one array a
// feature, so that neighbouring threads read neighbouring texels; then each round finds the nearest centre of every point. The centres
// are in constant memory; the host moves them between rounds.

#define MAX_CENTRES 32
#define FEATURES 34

__constant__ float centres[MAX_CENTRES * FEATURES];

extern "C" __global__ void kmeans_texture_invert(const float *__restrict__ in, float *__restrict__ out, int points)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point < points)
#pragma unroll 1
        for (int f = 0; f < FEATURES; f++)
            out[f * points + point] = in[point * FEATURES + f];
}

extern "C" __global__ void kmeans_texture_assign(cudaTextureObject_t features, int points, int centre_count,
                                                 int *__restrict__ membership, float *__restrict__ distance)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points)
        return;
    int nearest = -1;
    float least = 3.4e38f;
#pragma unroll 1
    for (int c = 0; c < centre_count; c++) {
        float sum = 0.0f;
#pragma unroll 1
        for (int f = 0; f < FEATURES; f++) {
            float apart = tex1Dfetch<float>(features, f * points + point) - centres[c * FEATURES + f];
            sum = fmaf(apart, apart, sum);
        }
        if (sum < least) {
            least = sum;
            nearest = c;
        }
    }
    membership[point] = nearest;
    distance[point] = least;
}
