// SPDX-License-Identifier: MIT OR Apache-2.0
// Forces between particles in a box of boxes, each with those of its own box and of up to 26 around it. A block has a box; it keeps the
// particles of its own box and of one neighbour at a time in shared memory. The force falls off with the exponential of the distance.

#define BLOCK 128

extern "C" __global__ void lavamd_forces(const float4 *__restrict__ places, const float *__restrict__ charges,
                                         const int *__restrict__ neighbours, const int *__restrict__ counts,
                                         int particles, float decay, float4 *__restrict__ forces)
{
    __shared__ float4 own[BLOCK], other[BLOCK];
    __shared__ float charge[BLOCK];
    int t = threadIdx.x;
    int box = blockIdx.x;
    if (t < particles)
        own[t] = places[box * particles + t];
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 1
    for (int n = 0; n < counts[box]; n++) {
        int from = neighbours[box * 27 + n] * particles;
        __syncthreads();
        if (t < particles) {
            other[t] = places[from + t];
            charge[t] = charges[from + t];
        }
        __syncthreads();
        if (t < particles) {
            float4 a = own[t];
#pragma unroll 1
            for (int j = 0; j < particles; j++) {
                float4 b = other[j];
                float apart = a.w + b.w - (a.x * b.x + a.y * b.y + a.z * b.z);
                float near = __expf(-decay * apart);
                float pull = 2.0f * near * charge[j];
                sum.x += pull * (a.x - b.x);
                sum.y += pull * (a.y - b.y);
                sum.z += pull * (a.z - b.z);
                sum.w += charge[j] * near;
            }
        }
    }
    if (t < particles)
        forces[box * particles + t] = sum;
}
