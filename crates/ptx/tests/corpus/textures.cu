// SPDX-License-Identifier: MIT OR Apache-2.0
// Texture and surface objects, and texture references where the compiler still has them.
extern "C" __global__ void fetches(float *out, cudaTextureObject_t t1, cudaTextureObject_t t2, cudaTextureObject_t t3, float x, float y) {
    float total = tex1Dfetch<float>(t1, threadIdx.x) + tex1D<float>(t1, x) + tex2D<float>(t2, x, y) + tex3D<float>(t3, x, y, 1.0f);
    float4 quad = tex2D<float4>(t2, x, y);
    int4 ints = tex2DLayered<int4>(t2, x, y, 3);
    uint2 cube = texCubemap<uint2>(t3, x, y, 0.5f);
    total += quad.x + quad.w + ints.y + cube.x + tex2DLod<float>(t2, x, y, 2.0f) + tex1DLayered<float>(t1, x, 4);
    total += tex2DGrad<float>(t2, x, y, make_float2(0.1f, 0.2f), make_float2(0.3f, 0.4f)) + tex2Dgather<float4>(t2, x, y, 1).z;
    total += texCubemapLayered<float>(t3, x, y, 0.5f, 2) + tex3DLod<float>(t3, x, y, 0.25f, 1.0f);
    out[threadIdx.x] = total;
}
#ifndef __clang__
extern "C" __global__ void surfaces(cudaSurfaceObject_t s, int x, int y) {
    float value = surf2Dread<float>(s, x * 4, y);
    uchar4 bytes = surf2Dread<uchar4>(s, x * 4, y, cudaBoundaryModeClamp);
    surf2Dwrite(value + bytes.x, s, x * 4, y);
    surf1Dwrite(make_int2(x, y), s, x * 8, cudaBoundaryModeZero);
    surf3Dwrite(make_float4(value, 1, 2, 3), s, x * 16, y, 2);
    surf2DLayeredwrite(static_cast<short>(x), s, x * 2, y, 1);
}
#endif
#ifdef WITH_REFERENCES
texture<float, cudaTextureType2D, cudaReadModeElementType> image;
texture<uchar4, cudaTextureType1D, cudaReadModeNormalizedFloat> line;
texture<int, cudaTextureType1D, cudaReadModeElementType> linear;
extern "C" __global__ void references(float *out, float x, float y) {
    float4 colour = tex1D(line, x);
    out[threadIdx.x] = tex2D(image, x, y) + colour.x + colour.z + tex1Dfetch(linear, threadIdx.x);
}
#endif
