// SPDX-License-Identifier: MIT OR Apache-2.0
// Surfaces: written by one kernel, read by another as a surface and as a texture, and copied back.
#include "check.h"

__global__ void write(cudaSurfaceObject_t s, int width) {
    float value = (float)(threadIdx.y * width + threadIdx.x);
    surf2Dwrite(value, s, threadIdx.x * sizeof(float), threadIdx.y);
}

__global__ void read(cudaSurfaceObject_t s, cudaTextureObject_t t, float *out, int width) {
    float a = surf2Dread<float>(s, threadIdx.x * sizeof(float), threadIdx.y);
    float b = tex2D<float>(t, threadIdx.x + 0.5f, threadIdx.y + 0.5f);
    out[threadIdx.y * width + threadIdx.x] = a + 1000 * b;
}

int main() {
    const int W = 16, H = 8;
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &floats, W, H, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    Buffer<float> out(W * H);
    write<<<1, dim3(W, H)>>>(surface, W);
    read<<<1, dim3(W, H)>>>(surface, texture, out.data, W);
    CHECK(cudaGetLastError());
    std::vector<float> got = out.read(), image(W * H);
    CHECK(cudaMemcpy2DFromArray(image.data(), W * sizeof(float), array, 0, 0, W * sizeof(float), H, cudaMemcpyDeviceToHost));
    for (int i = 0; i < W * H; i++) REQUIRE(got[i] == 1001.0f * i && image[i] == (float)i, "%d: %g %g", i, got[i], image[i]);
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
    puts("surfaces: all values are right");
    return 0;
}
