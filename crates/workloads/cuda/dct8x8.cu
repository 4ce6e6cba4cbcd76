// SPDX-License-Identifier: MIT OR Apache-2.0
// Discrete cosine transforms of an image in squares of 8 x 8 pixels, as in JPEG: two products with the matrix of the transform, a thread a
// coefficient; the same by the symmetries of cosines, a thread a row and then a column of a square; rounding to multiples of a table; and
// the way back.

#define SIDE 8
#define WIDE 32
#define HIGH 16
#define PITCH (WIDE + 1)

// Row u, column x: cos((2x + 1) u pi / 16) / 2, and 1 / sqrt(8) in row 0.
__constant__ float basis[SIDE * SIDE];
__constant__ float steps[SIDE * SIDE];

// sqrt(2) cos(k pi / 16).
#define C1 1.3870398453f
#define C2 1.3065629649f
#define C3 1.1758756024f
#define C5 0.7856949583f
#define C6 0.5411961001f
#define C7 0.2758993792f
#define NORM 0.3535533906f

extern "C" __global__ void dct_by_matrix(cudaTextureObject_t image, float *__restrict__ out, int width)
{
    __shared__ float pixels[SIDE][SIDE];
    __shared__ float half_way[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * SIDE + tx, y = blockIdx.y * SIDE + ty;
    pixels[ty][tx] = tex2D<float>(image, x + 0.5f, y + 0.5f);
    __syncthreads();
    float sum = basis[ty * SIDE] * pixels[0][tx];
#pragma unroll
    for (int k = 1; k < SIDE; k++)
        sum = fmaf(basis[ty * SIDE + k], pixels[k][tx], sum);
    half_way[ty][tx] = sum;
    __syncthreads();
    sum = half_way[ty][0] * basis[tx * SIDE];
#pragma unroll
    for (int k = 1; k < SIDE; k++)
        sum = fmaf(half_way[ty][k], basis[tx * SIDE + k], sum);
    out[y * width + x] = sum;
}

static __device__ __forceinline__ void forward(float *first, int step)
{
    float v[SIDE];
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        v[k] = first[k * step];
    float s0 = v[0] + v[7], s1 = v[1] + v[6], s2 = v[2] + v[5], s3 = v[3] + v[4];
    float d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];
    float outer = s0 + s3, inner = s1 + s2, outer_apart = s0 - s3, inner_apart = s1 - s2;
    first[0 * step] = NORM * (outer + inner);
    first[4 * step] = NORM * (outer - inner);
    first[2 * step] = NORM * (C2 * outer_apart + C6 * inner_apart);
    first[6 * step] = NORM * (C6 * outer_apart - C2 * inner_apart);
    first[1 * step] = NORM * (C1 * d0 + C3 * d1 + C5 * d2 + C7 * d3);
    first[3 * step] = NORM * (C3 * d0 - C7 * d1 - C1 * d2 - C5 * d3);
    first[5 * step] = NORM * (C5 * d0 - C1 * d1 + C7 * d2 + C3 * d3);
    first[7 * step] = NORM * (C7 * d0 - C5 * d1 + C3 * d2 - C1 * d3);
}

static __device__ __forceinline__ void inverse(float *first, int step)
{
    float v[SIDE];
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        v[k] = first[k * step];
    float high = v[0] + v[4], low = v[0] - v[4];
    float wide = C2 * v[2] + C6 * v[6], narrow = C6 * v[2] - C2 * v[6];
    float e0 = high + wide, e1 = low + narrow, e2 = low - narrow, e3 = high - wide;
    float o0 = C1 * v[1] + C3 * v[3] + C5 * v[5] + C7 * v[7];
    float o1 = C3 * v[1] - C7 * v[3] - C1 * v[5] - C5 * v[7];
    float o2 = C5 * v[1] - C1 * v[3] + C7 * v[5] + C3 * v[7];
    float o3 = C7 * v[1] - C5 * v[3] + C3 * v[5] - C1 * v[7];
    first[0 * step] = NORM * (e0 + o0);
    first[7 * step] = NORM * (e0 - o0);
    first[1 * step] = NORM * (e1 + o1);
    first[6 * step] = NORM * (e1 - o1);
    first[2 * step] = NORM * (e2 + o2);
    first[5 * step] = NORM * (e2 - o2);
    first[3 * step] = NORM * (e3 + o3);
    first[4 * step] = NORM * (e3 - o3);
}

template <bool FORWARD>
static __device__ __forceinline__ void transform(const float *from, float *to, int width)
{
    __shared__ float part[HIGH * PITCH];
    int column = threadIdx.y * SIDE + threadIdx.x, top = threadIdx.z * SIDE;
    int at = (blockIdx.y * HIGH + top) * width + blockIdx.x * WIDE + column;
    float *own_column = part + top * PITCH + column;
    float *own_row = part + (top + threadIdx.x) * PITCH + threadIdx.y * SIDE;
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        own_column[k * PITCH] = from[at + k * width];
    __syncthreads();
    if (FORWARD)
        forward(own_row, 1);
    else
        inverse(own_row, 1);
    __syncthreads();
    if (FORWARD)
        forward(own_column, PITCH);
    else
        inverse(own_column, PITCH);
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        to[at + k * width] = own_column[k * PITCH];
}

extern "C" __global__ void dct_forward(const float *__restrict__ from, float *__restrict__ to, int width)
{
    transform<true>(from, to, width);
}

extern "C" __global__ void dct_inverse(const float *__restrict__ from, float *__restrict__ to, int width)
{
    transform<false>(from, to, width);
}

extern "C" __global__ void dct_quantize(float *data, int width)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int at = (blockIdx.y * SIDE + ty) * width + blockIdx.x * SIDE + tx;
    float step = steps[ty * SIDE + tx];
    data[at] = rintf(data[at] / step) * step;
}
