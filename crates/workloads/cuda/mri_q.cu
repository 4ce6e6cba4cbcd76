// SPDX-License-Identifier: MIT OR Apache-2.0
// The Q matrix of a magnetic resonance reconstruction: for each voxel the sum over sample points of |phi|^2 times e to the power of
// i 2 pi k x. The first kernel computes |phi|^2; the second goes through the samples in chunks that the host puts into constant
// memory, a voxel a thread.

#define CHUNK 1024
#define TWO_PI 6.2831853071795864769f

// kx, ky, kz and |phi|^2 of each sample.
__constant__ float4 samples[CHUNK];

extern "C" __global__ void mri_phi_mag(const float *__restrict__ real, const float *__restrict__ imag,
                                       float *__restrict__ mag, int count)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count)
        mag[k] = fmaf(real[k], real[k], imag[k] * imag[k]);
}

extern "C" __global__ void mri_q(int count, int voxels, const float *__restrict__ x, const float *__restrict__ y,
                                 const float *__restrict__ z, float *__restrict__ q_real, float *__restrict__ q_imag)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= voxels)
        return;
    float px = x[v], py = y[v], pz = z[v];
    float re = q_real[v], im = q_imag[v];
#pragma unroll 2
    for (int k = 0; k < count; k++) {
        float4 s = samples[k];
        float angle = TWO_PI * fmaf(s.z, pz, fmaf(s.y, py, s.x * px));
        re = fmaf(s.w, __cosf(angle), re);
        im = fmaf(s.w, __sinf(angle), im);
    }
    q_real[v] = re;
    q_imag[v] = im;
}
