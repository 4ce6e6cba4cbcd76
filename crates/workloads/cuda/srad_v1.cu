// SPDX-License-Identifier: MIT OR Apache-2.0
// Speckle-reducing anisotropic diffusion of an ultrasound image, six kernels of 512 threads, a pixel a thread, columns one after the
// other. Pixels become exponentials first and logarithms last. Each iteration sums the image and its squares by blocks, from which
// the host derives the speckle of a homogeneous area; then derivatives and the coefficient of diffusion, then the divergence.

#define BLOCK 512

extern "C" __global__ void srad_extract(float *image, int n)
{
    int at = blockIdx.x * BLOCK + threadIdx.x;
    if (at < n)
        image[at] = __expf(image[at] / 255.0f);
}

extern "C" __global__ void srad_prepare(const float *__restrict__ image, float *__restrict__ sums,
                                        float *__restrict__ squares, int n)
{
    int at = blockIdx.x * BLOCK + threadIdx.x;
    if (at < n) {
        sums[at] = image[at];
        squares[at] = image[at] * image[at];
    }
}

// Adds up runs of `stride` elements, a block a run, into the first element of each.
extern "C" __global__ void srad_reduce(float *sums, float *squares, int n, int stride)
{
    __shared__ float a[BLOCK], b[BLOCK];
    int t = threadIdx.x;
    int at = (blockIdx.x * BLOCK + t) * stride;
    a[t] = at < n ? sums[at] : 0.0f;
    b[t] = at < n ? squares[at] : 0.0f;
    __syncthreads();
#pragma unroll 1
    for (int reach = BLOCK / 2; reach > 0; reach >>= 1) {
        if (t < reach) {
            a[t] += a[t + reach];
            b[t] += b[t + reach];
        }
        __syncthreads();
    }
    if (t == 0) {
        sums[at] = a[0];
        squares[at] = b[0];
    }
}

extern "C" __global__ void srad_coefficient(const float *__restrict__ image, float *__restrict__ north,
                                            float *__restrict__ south, float *__restrict__ west,
                                            float *__restrict__ east, float *__restrict__ coefficient,
                                            const int *__restrict__ above, const int *__restrict__ below,
                                            const int *__restrict__ before, const int *__restrict__ after, int rows,
                                            int n, float speckle)
{
    int at = blockIdx.x * BLOCK + threadIdx.x;
    if (at >= n)
        return;
    int column = at / rows, row = at - column * rows;
    float here = image[at];
    float dn = image[above[row] + rows * column] - here;
    float ds = image[below[row] + rows * column] - here;
    float dw = image[row + rows * before[column]] - here;
    float de = image[row + rows * after[column]] - here;
    float g2 = fmaf(de, de, fmaf(dw, dw, fmaf(ds, ds, dn * dn))) / (here * here);
    float l = (dn + ds + dw + de) / here;
    float num = fmaf(0.5f, g2, -(0.0625f * (l * l)));
    float den = fmaf(0.25f, l, 1.0f);
    float q = num / (den * den);
    float c = 1.0f / (1.0f + (q - speckle) / (speckle * (1.0f + speckle)));
    c = c < 0.0f ? 0.0f : c > 1.0f ? 1.0f : c;
    north[at] = dn;
    south[at] = ds;
    west[at] = dw;
    east[at] = de;
    coefficient[at] = c;
}

extern "C" __global__ void srad_update(float *image, const float *__restrict__ north, const float *__restrict__ south,
                                       const float *__restrict__ west, const float *__restrict__ east,
                                       const float *__restrict__ coefficient, const int *__restrict__ below,
                                       const int *__restrict__ after, int rows, int n, float lambda)
{
    int at = blockIdx.x * BLOCK + threadIdx.x;
    if (at >= n)
        return;
    int column = at / rows, row = at - column * rows;
    float here = coefficient[at];
    float down = coefficient[below[row] + rows * column];
    float right = coefficient[row + rows * after[column]];
    float flow = fmaf(right, east[at], fmaf(here, west[at], fmaf(down, south[at], here * north[at])));
    image[at] = fmaf(0.25f * lambda, flow, image[at]);
}

extern "C" __global__ void srad_compress(float *image, int n)
{
    int at = blockIdx.x * BLOCK + threadIdx.x;
    if (at < n)
        image[at] = __logf(image[at]) * 255.0f;
}
