// SPDX-License-Identifier: MIT OR Apache-2.0
// A particle filter that follows an object through a noisy video. Each frame has four kernels: particles move at random and are weighed
// by how the pixels of a disc around them fit object and ground; block sums of the weights; weights are made to sum to one; particles
// are drawn again by their weights, from a table of sums that is read through a texture.

#define BLOCK 128
#define DISC 69

__constant__ int across[DISC];
__constant__ int down[DISC];

// Numbers from 0 up to 1 by a linear congruential generator.
static __device__ __forceinline__ float draw(unsigned &seed)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) * (1.0f / 16777216.0f);
}

extern "C" __global__ void particle_likelihood(float *__restrict__ xs, float *__restrict__ ys,
                                               const float *__restrict__ chosen_x, const float *__restrict__ chosen_y,
                                               unsigned *__restrict__ seeds, const unsigned char *__restrict__ frame,
                                               int width, int count, float *__restrict__ weights,
                                               float *__restrict__ sums)
{
    __shared__ float parts[BLOCK];
    int t = threadIdx.x, at = blockIdx.x * BLOCK + t;
    float weight = 0.0f;
    if (at < count) {
        unsigned seed = seeds[at];
        float x = chosen_x[at] + 1.0f + 5.0f * (draw(seed) + draw(seed) + draw(seed) - 1.5f);
        float y = chosen_y[at] - 2.0f + 2.0f * (draw(seed) + draw(seed) + draw(seed) - 1.5f);
        seeds[at] = seed;
        x = fminf(fmaxf(x, 5.0f), width - 6.0f);
        y = fminf(fmaxf(y, 5.0f), width - 6.0f);
        xs[at] = x;
        ys[at] = y;
        int px = x, py = y;
        int fit = 0;
#pragma unroll 1
        for (int i = 0; i < DISC; i++) {
            int pixel = frame[(py + down[i]) * width + px + across[i]];
            fit += (pixel - 100) * (pixel - 100) - (pixel - 228) * (pixel - 228);
        }
        weight = __expf(fit * (1.0f / (50.0f * DISC * 50.0f)));
        weights[at] = weight;
    }
    parts[t] = weight;
#pragma unroll 1
    for (int half = BLOCK / 2; half > 0; half >>= 1) {
        __syncthreads();
        if (t < half)
            parts[t] += parts[t + half];
    }
    if (t == 0)
        sums[blockIdx.x] = parts[0];
}

extern "C" __global__ void particle_sum(float *sums, int blocks)
{
    float sum = 0.0f;
#pragma unroll 1
    for (int i = 0; i < blocks; i++)
        sum += sums[i];
    sums[0] = sum;
}

extern "C" __global__ void particle_normalize(float *__restrict__ weights, int count, const float *__restrict__ sums)
{
    __shared__ float total;
    int at = blockIdx.x * BLOCK + threadIdx.x;
    if (threadIdx.x == 0)
        total = sums[0];
    __syncthreads();
    if (at < count)
        weights[at] /= total;
}

extern "C" __global__ void particle_find(cudaTextureObject_t table, float first, int count, const float *__restrict__ xs,
                                         const float *__restrict__ ys, float *__restrict__ chosen_x,
                                         float *__restrict__ chosen_y)
{
    int at = blockIdx.x * BLOCK + threadIdx.x;
    if (at >= count)
        return;
    float level = first + at * (1.0f / count);
    int found = 0;
    // The last sum is larger than all levels.
    while (tex1Dfetch<float>(table, found) < level)
        found++;
    chosen_x[at] = xs[found];
    chosen_y[at] = ys[found];
}
