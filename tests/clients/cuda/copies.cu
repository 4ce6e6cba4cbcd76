// SPDX-License-Identifier: MIT OR Apache-2.0
// Copies and fills in one, two and three dimensions, between linear memory, pitched memory and arrays.
#include "check.h"

__global__ void touch(cudaPitchedPtr p, cudaExtent e) {
    unsigned x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    if (x * sizeof(short) >= e.width || y >= e.height || z >= e.depth) return;
    short *row = (short *)((char *)p.ptr + (z * e.height + y) * p.pitch);
    row[x] = row[x] + 1;
}

int main() {
    // A part of a pitched plane to a part of a host plane.
    const int W = 37, H = 11;
    std::vector<unsigned char> host(W * H), back(W * H, 0);
    for (int i = 0; i < W * H; i++) host[i] = (unsigned char)(i * 31);
    void *plane;
    size_t pitch = 0;
    CHECK(cudaMallocPitch(&plane, &pitch, W, H));
    REQUIRE(pitch >= W && pitch % 32 == 0, "pitch %zu", pitch);
    CHECK(cudaMemset2D(plane, pitch, 0xee, W, H));
    CHECK(cudaMemcpy2D((char *)plane + 2 * pitch + 3, pitch, host.data() + 2 * W + 3, W, 20, 5, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2D(back.data(), W, plane, pitch, W, H, cudaMemcpyDeviceToHost));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            bool inside = x >= 3 && x < 23 && y >= 2 && y < 7;
            REQUIRE(back[y * W + x] == (inside ? host[y * W + x] : 0xee), "2D %d %d: %d", x, y, back[y * W + x]);
        }
    EXPECT(cudaErrorInvalidPitchValue, cudaMemcpy2D(plane, 8, host.data(), W, W, H, cudaMemcpyHostToDevice));
    cudaGetLastError();

    // A box of pitched memory: filled, changed by a kernel, copied to an array, and part of that back.
    const int X = 6, Y = 5, Z = 4;
    cudaPitchedPtr box;
    cudaExtent extent = make_cudaExtent(X * sizeof(short), Y, Z);
    CHECK(cudaMalloc3D(&box, extent));
    CHECK(cudaMemset3D(box, 0, extent));
    std::vector<short> cube(X * Y * Z);
    for (int i = 0; i < X * Y * Z; i++) cube[i] = (short)(i * 3);
    cudaMemcpy3DParms in = {};
    in.srcPtr = make_cudaPitchedPtr(cube.data(), X * sizeof(short), X, Y);
    in.dstPtr = box;
    in.extent = extent;
    in.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&in));
    touch<<<1, dim3(8, 8, 4)>>>(box, extent);
    CHECK(cudaGetLastError());
    cudaChannelFormatDesc shorts = cudaCreateChannelDesc<short>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &shorts, make_cudaExtent(X, Y, Z)));
    cudaMemcpy3DParms across = {};
    across.srcPtr = box;
    across.dstArray = array;
    across.extent = make_cudaExtent(X, Y, Z); // elements, as soon as an array takes part
    across.kind = cudaMemcpyDeviceToDevice;
    CHECK(cudaMemcpy3D(&across));
    std::vector<short> part(3 * 2 * 2, -1);
    cudaMemcpy3DParms out = {};
    out.srcArray = array;
    out.srcPos = make_cudaPos(2, 1, 1);
    out.dstPtr = make_cudaPitchedPtr(part.data(), 3 * sizeof(short), 3, 2);
    out.extent = make_cudaExtent(3, 2, 2);
    out.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&out));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 3; x++) {
                short want = (short)(cube[((z + 1) * Y + y + 1) * X + x + 2] + 1);
                REQUIRE(part[(z * 2 + y) * 3 + x] == want, "3D %d %d %d: %d, not %d", x, y, z, part[(z * 2 + y) * 3 + x], want);
            }

    // Arrays of one dimension, and from array to array.
    cudaArray_t line, copy;
    cudaChannelFormatDesc ints = cudaCreateChannelDesc<int>();
    CHECK(cudaMallocArray(&line, &ints, 32));
    CHECK(cudaMallocArray(&copy, &ints, 32));
    std::vector<int> values(32), got(32);
    for (int i = 0; i < 32; i++) values[i] = i * i;
    CHECK(cudaMemcpy2DToArray(line, 0, 0, values.data(), 128, 128, 1, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DArrayToArray(copy, 0, 0, line, 0, 0, 128, 1, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2DFromArray(got.data(), 128, copy, 0, 0, 128, 1, cudaMemcpyDeviceToHost));
    REQUIRE(got == values);
    cudaChannelFormatDesc format;
    cudaExtent size;
    unsigned flags;
    CHECK(cudaArrayGetInfo(&format, &size, &flags, array));
    REQUIRE(format.x == 16 && format.f == cudaChannelFormatKindSigned && size.width == X && size.height == Y && size.depth == Z);

    // From device to device, overlapping nothing, and a fill of part.
    Buffer<int> a(values), b(32);
    CHECK(cudaMemcpy(b.data, a.data, 128, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemset(b.data + 4, 0xff, 8));
    got = b.read();
    for (int i = 0; i < 32; i++) REQUIRE(got[i] == (i == 4 || i == 5 ? -1 : values[i]), "%d: %d", i, got[i]);
    for (cudaArray_t x : {array, line, copy}) CHECK(cudaFreeArray(x));
    CHECK(cudaFree(plane));
    CHECK(cudaFree(box.ptr));
    puts("copies: all values are right");
    return 0;
}
