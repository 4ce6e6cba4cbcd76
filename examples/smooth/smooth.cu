// SPDX-License-Identifier: MIT OR Apache-2.0
// A one-dimensional filter: weights in constant memory, a tile with its neighbours in dynamic shared memory,
// and a count of the values above a limit in a global variable.

#define RADIUS 2

__constant__ float weights[2 * RADIUS + 1];
__device__ unsigned int above;

extern "C" __global__ void smooth(const float *in, float *out, int n, float limit) {
    extern __shared__ float tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int t = threadIdx.x + RADIUS;
    tile[t] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < RADIUS) {
        tile[t - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0.0f;
        int right = i + blockDim.x;
        tile[t + blockDim.x] = right < n ? in[right] : 0.0f;
    }
    __syncthreads();
    if (i >= n)
        return;
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum += weights[k + RADIUS] * tile[t + k];
    out[i] = sum;
    if (sum > limit)
        atomicAdd(&above, 1u);
}

extern "C" __global__ void report(unsigned int *result) {
    *result = above;
    printf("%u values are above the limit\n", above);
}
