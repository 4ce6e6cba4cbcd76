// SPDX-License-Identifier: MIT OR Apache-2.0
// Texture objects: 1D over linear memory, 2D over an array and over pitched memory, 3D; points and linear filter, normalized
// coordinates, address modes, integers read as floats. The CPU filters with the 8 bits of fraction that hardware has.
#include "check.h"

__global__ void fetch1(cudaTextureObject_t t, int *out) { out[threadIdx.x] = tex1Dfetch<int>(t, threadIdx.x); }

__global__ void at2(cudaTextureObject_t t, const float2 *where, float *out) {
    out[threadIdx.x] = tex2D<float>(t, where[threadIdx.x].x, where[threadIdx.x].y);
}

__global__ void at3(cudaTextureObject_t t, float *out, int nx, int ny) {
    out[(threadIdx.z * ny + threadIdx.y) * nx + threadIdx.x] =
        tex3D<float>(t, threadIdx.x + 0.5f, threadIdx.y + 0.5f, threadIdx.z + 0.5f);
}

__global__ void vectors(cudaTextureObject_t t, float4 *out, int width) {
    out[threadIdx.y * width + threadIdx.x] = tex2D<float4>(t, threadIdx.x + 0.5f, threadIdx.y + 0.5f);
}

static const int W = 16, H = 8;

static cudaTextureObject_t make(const cudaResourceDesc &r, cudaTextureAddressMode mode, cudaTextureFilterMode filter,
                                cudaTextureReadMode read, bool normalized) {
    cudaTextureDesc t = {};
    for (auto &m : t.addressMode) m = mode;
    t.filterMode = filter;
    t.readMode = read;
    t.normalizedCoords = normalized;
    cudaTextureObject_t object = 0;
    CHECK(cudaCreateTextureObject(&object, &r, &t, nullptr));
    return object;
}

// What the texture unit gives for a linear filter with clamping: positions keep eight bits of fraction.
static float filtered(const std::vector<float> &p, float x, float y) {
    auto texel = [&](int i, int j) {
        i = i < 0 ? 0 : i >= W ? W - 1 : i;
        j = j < 0 ? 0 : j >= H ? H - 1 : j;
        return p[j * W + i];
    };
    x -= 0.5f, y -= 0.5f;
    float fx = std::floor(x), fy = std::floor(y);
    float a = std::round((x - fx) * 256) / 256, b = std::round((y - fy) * 256) / 256;
    int i = (int)fx, j = (int)fy;
    return (1 - a) * (1 - b) * texel(i, j) + a * (1 - b) * texel(i + 1, j) + (1 - a) * b * texel(i, j + 1) +
           a * b * texel(i + 1, j + 1);
}

int main() {
    // 1D, linear memory.
    std::vector<int> ints(128);
    for (int i = 0; i < 128; i++) ints[i] = i * 7 - 100;
    Buffer<int> linear(ints), got(128);
    cudaResourceDesc line = {};
    line.resType = cudaResourceTypeLinear;
    line.res.linear.devPtr = linear.data;
    line.res.linear.desc = cudaCreateChannelDesc<int>();
    line.res.linear.sizeInBytes = 128 * sizeof(int);
    cudaTextureObject_t t1 = make(line, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, false);
    fetch1<<<1, 128>>>(t1, got.data);
    CHECK(cudaGetLastError());
    REQUIRE(got.read() == ints);

    // 2D, an array: linear filter, plain and normalized coordinates.
    Numbers numbers(2);
    std::vector<float> image(W * H);
    for (float &x : image) x = numbers.unit();
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &floats, W, H));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice));
    cudaResourceDesc plane = {};
    plane.resType = cudaResourceTypeArray;
    plane.res.array.array = array;
    const int n = 200;
    std::vector<float2> where(n), normal(n);
    for (int i = 0; i < n; i++) {
        where[i] = make_float2(numbers.unit() * (W + 4) - 2, numbers.unit() * (H + 4) - 2);
        normal[i] = make_float2(where[i].x / W, where[i].y / H);
    }
    Buffer<float2> positions(where), normals(normal);
    Buffer<float> out(n);
    cudaTextureObject_t smooth = make(plane, cudaAddressModeClamp, cudaFilterModeLinear, cudaReadModeElementType, false);
    at2<<<1, n>>>(smooth, positions.data, out.data);
    std::vector<float> values = out.read();
    for (int i = 0; i < n; i++) {
        float want = filtered(image, where[i].x, where[i].y);
        REQUIRE(std::fabs(values[i] - want) < 0.006f, "linear at %g %g: %g, not %g", where[i].x, where[i].y, values[i], want);
    }
    cudaTextureObject_t unit = make(plane, cudaAddressModeClamp, cudaFilterModeLinear, cudaReadModeElementType, true);
    at2<<<1, n>>>(unit, normals.data, out.data);
    values = out.read();
    for (int i = 0; i < n; i++) {
        float want = filtered(image, where[i].x, where[i].y);
        REQUIRE(std::fabs(values[i] - want) < 0.006f, "normalized at %g %g: %g, not %g", where[i].x, where[i].y, values[i], want);
    }
    // Wrapping, points: any position has the texel of its remainder.
    cudaTextureObject_t wrap = make(plane, cudaAddressModeWrap, cudaFilterModePoint, cudaReadModeElementType, true);
    at2<<<1, n>>>(wrap, normals.data, out.data);
    values = out.read();
    int differing = 0;
    for (int i = 0; i < n; i++) {
        int x = ((int)std::floor(where[i].x) + 4 * W) % W, y = ((int)std::floor(where[i].y) + 4 * H) % H;
        differing += values[i] != image[y * W + x];
    }
    REQUIRE(differing <= 1, "%d positions wrapped wrongly", differing); // one may sit on an edge
    // Border: outside is zero.
    cudaTextureObject_t border = make(plane, cudaAddressModeBorder, cudaFilterModePoint, cudaReadModeElementType, false);
    at2<<<1, n>>>(border, positions.data, out.data);
    values = out.read();
    for (int i = 0; i < n; i++) {
        bool inside = where[i].x >= 0 && where[i].x < W && where[i].y >= 0 && where[i].y < H;
        float want = inside ? image[(int)where[i].y * W + (int)where[i].x] : 0;
        REQUIRE(values[i] == want, "border at %g %g: %g, not %g", where[i].x, where[i].y, values[i], want);
    }

    // 2D over pitched memory: bytes with four channels, read as fractions.
    std::vector<uchar4> pixels(W * H);
    for (auto &p : pixels) p = make_uchar4(numbers.next() & 255, numbers.next() & 255, numbers.next() & 255, 255);
    void *pitched;
    size_t pitch = 0;
    CHECK(cudaMallocPitch(&pitched, &pitch, W * sizeof(uchar4), H));
    CHECK(cudaMemcpy2D(pitched, pitch, pixels.data(), W * sizeof(uchar4), W * sizeof(uchar4), H, cudaMemcpyHostToDevice));
    cudaResourceDesc rows = {};
    rows.resType = cudaResourceTypePitch2D;
    rows.res.pitch2D.devPtr = pitched;
    rows.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
    rows.res.pitch2D.width = W;
    rows.res.pitch2D.height = H;
    rows.res.pitch2D.pitchInBytes = pitch;
    cudaTextureObject_t fractions =
        make(rows, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeNormalizedFloat, false);
    Buffer<float4> quads(W * H);
    vectors<<<1, dim3(W, H)>>>(fractions, quads.data, W);
    std::vector<float4> colours = quads.read();
    for (int i = 0; i < W * H; i++) {
        REQUIRE(std::fabs(colours[i].x - pixels[i].x / 255.0f) < 1e-6f && std::fabs(colours[i].z - pixels[i].z / 255.0f) < 1e-6f &&
                    colours[i].w == 1.0f,
                "pixel %d: %g %g %g", i, colours[i].x, colours[i].z, colours[i].w);
    }

    // 3D.
    const int D = 4;
    std::vector<float> volume(W * H * D);
    for (float &x : volume) x = numbers.unit();
    cudaArray_t cube;
    cudaExtent extent = make_cudaExtent(W, H, D);
    CHECK(cudaMalloc3DArray(&cube, &floats, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(volume.data(), W * sizeof(float), W, H);
    copy.dstArray = cube;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    cudaResourceDesc solid = {};
    solid.resType = cudaResourceTypeArray;
    solid.res.array.array = cube;
    cudaTextureObject_t t3 = make(solid, cudaAddressModeClamp, cudaFilterModeLinear, cudaReadModeElementType, false);
    Buffer<float> voxels(W * H * D);
    at3<<<1, dim3(W, H, D)>>>(t3, voxels.data, W, H);
    REQUIRE(voxels.read() == volume); // in the middle of a texel a filter changes nothing

    cudaTextureDesc asked = {};
    CHECK(cudaGetTextureObjectTextureDesc(&asked, smooth));
    REQUIRE(asked.filterMode == cudaFilterModeLinear && asked.addressMode[0] == cudaAddressModeClamp);
    for (cudaTextureObject_t t : {t1, smooth, unit, wrap, border, fractions, t3}) CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeArray(cube));
    CHECK(cudaFree(pitched));
    puts("textures: all values are right");
    return 0;
}
