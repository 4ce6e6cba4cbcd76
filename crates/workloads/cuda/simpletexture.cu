// SPDX-License-Identifier: MIT OR Apache-2.0
// Turns an image around a point left of and above its middle, a pixel a thread, reading it through a texture that interpolates and repeats.

#define PIVOT_X 0.375f
#define PIVOT_Y 0.4375f

extern "C" __global__ void simpletexture_turn(float *__restrict__ out, int width, int height, float angle,
                                              cudaTextureObject_t image)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float u = (float)x / width - PIVOT_X, v = (float)y / height - PIVOT_Y;
    float cosine = __cosf(angle), sine = __sinf(angle);
    out[y * width + x] = tex2D<float>(image, u * cosine - v * sine + PIVOT_X, v * cosine + u * sine + PIVOT_Y);
}
