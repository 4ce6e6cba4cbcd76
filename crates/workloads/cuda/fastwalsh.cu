// SPDX-License-Identifier: MIT OR Apache-2.0
// Fast Walsh-Hadamard transforms in natural order, for a dyadic convolution. Long strides are done in device memory, four points a
// thread; the last 1024 points of each run in shared memory, by the same step of radix four. The last kernel multiplies two spectra.

#define POINTS 1024
#define BLOCK 256

static __device__ __forceinline__ void step(float *data, int at, int stride)
{
    float a = data[at], b = data[at + stride], c = data[at + 2 * stride], d = data[at + 3 * stride];
    float low = a + c, low_apart = a - c, high = b + d, high_apart = b - d;
    data[at] = low + high;
    data[at + stride] = low - high;
    data[at + 2 * stride] = low_apart + high_apart;
    data[at + 3 * stride] = low_apart - high_apart;
}

extern "C" __global__ void walsh_long(float *data, int stride)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int low = i & (stride - 1);
    step(data, ((i - low) << 2) + low, stride);
}

extern "C" __global__ void walsh_short(float *data, int first)
{
    __shared__ float points[POINTS];
    int t = threadIdx.x;
    float *own = data + blockIdx.x * POINTS;
#pragma unroll
    for (int k = 0; k < 4; k++)
        points[t + k * BLOCK] = own[t + k * BLOCK];
#pragma unroll 1
    for (int stride = first; stride > 0; stride >>= 2) {
        __syncthreads();
        int low = t & (stride - 1);
        step(points, ((t - low) << 2) + low, stride);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; k++)
        own[t + k * BLOCK] = points[t + k * BLOCK];
}

extern "C" __global__ void walsh_modulate(float *__restrict__ data, const float *__restrict__ other, int count,
                                          float scale)
{
    int threads = blockDim.x * gridDim.x;
#pragma unroll 1
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += threads)
        data[at] *= scale * other[at];
}
