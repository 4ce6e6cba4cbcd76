// SPDX-License-Identifier: MIT OR Apache-2.0
// Texture references as programs before CUDA 12 have them: bound to linear memory, to pitched memory and to an array. Compiled by
// clang with the headers of CUDA 11.8.
#include "check.h"

texture<float, 1, cudaReadModeElementType> line;
texture<float, 2, cudaReadModeElementType> rows;
texture<float, 2, cudaReadModeElementType> plane;

__global__ void from_line(float *out) { out[threadIdx.x] = tex1Dfetch(line, threadIdx.x); }
__global__ void from_rows(float *out, int width) {
    out[threadIdx.y * width + threadIdx.x] = tex2D(rows, threadIdx.x + 0.5f, threadIdx.y + 0.5f);
}
__global__ void from_plane(float *out, int width, int height) {
    out[threadIdx.y * width + threadIdx.x] = tex2D(plane, (threadIdx.x + 1.0f) / width, (threadIdx.y + 0.5f) / height);
}

int main() {
    const int W = 16, H = 8;
    Numbers numbers(3);
    std::vector<float> image(W * H);
    for (float &x : image) x = numbers.unit();
    Buffer<float> linear(image), out(W * H);

    size_t offset = 1;
    CHECK(cudaBindTexture(&offset, line, linear.data, W * H * sizeof(float)));
    REQUIRE(offset == 0, "%zu", offset);
    from_line<<<1, W * H>>>(out.data);
    CHECK(cudaGetLastError());
    REQUIRE(out.read() == image);
    CHECK(cudaUnbindTexture(line));

    float *pitched;
    size_t pitch = 0;
    CHECK(cudaMallocPitch((void **)&pitched, &pitch, W * sizeof(float), H));
    CHECK(cudaMemcpy2D(pitched, pitch, image.data(), W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice));
    CHECK(cudaBindTexture2D(&offset, rows, pitched, cudaCreateChannelDesc<float>(), W, H, pitch));
    from_rows<<<1, dim3(W, H)>>>(out.data, W);
    CHECK(cudaGetLastError());
    REQUIRE(out.read() == image);

    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    cudaArray *array;
    CHECK(cudaMallocArray(&array, &floats, W, H));
    CHECK(cudaMemcpyToArray(array, 0, 0, image.data(), W * H * sizeof(float), cudaMemcpyHostToDevice));
    plane.normalized = 1;
    plane.filterMode = cudaFilterModeLinear;
    plane.addressMode[0] = plane.addressMode[1] = cudaAddressModeClamp;
    CHECK(cudaBindTextureToArray(plane, array));
    from_plane<<<1, dim3(W, H)>>>(out.data, W, H);
    CHECK(cudaGetLastError());
    std::vector<float> got = out.read();
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            // Half way between two texels of a row; the last is clamped.
            float want = 0.5f * (image[y * W + x] + image[y * W + (x + 1 < W ? x + 1 : x)]);
            REQUIRE(std::fabs(got[y * W + x] - want) < 0.006f, "at %d %d: %g, not %g", x, y, got[y * W + x], want);
        }
    CHECK(cudaUnbindTexture(plane));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(pitched));
    puts("texture_references: all values are right");
    return 0;
}
