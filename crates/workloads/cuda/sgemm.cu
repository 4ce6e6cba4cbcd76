// SPDX-License-Identifier: MIT OR Apache-2.0
// C = alpha * A * B + beta * C in single precision, all matrices row-major.
//
// A block of 16 x 16 threads makes a 64 x 64 tile of C; each thread keeps 4 x 4 sums in registers and
// feeds them from two shared tiles, so that eight multiply-adds are paid for by one 16-byte shared load.
// m and n are multiples of 64 and k is a multiple of 16.

#define TILE 64
#define DEPTH 16
#define SIDE 16

extern "C" __global__ __launch_bounds__(SIDE *SIDE) void sgemm(const float *__restrict__ a,
                                                               const float *__restrict__ b,
                                                               float *__restrict__ c, unsigned n, unsigned k,
                                                               float alpha, float beta)
{
    __shared__ __align__(16) float a_tile[DEPTH][TILE]; // transposed: [k][row]
    __shared__ __align__(16) float b_tile[DEPTH][TILE]; // [k][column]

    unsigned tx = threadIdx.x, ty = threadIdx.y;
    unsigned id = ty * SIDE + tx;
    unsigned row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;

    // Each thread copies four consecutive floats of either tile.
    unsigned a_row = id / 4, a_k = id % 4 * 4;
    unsigned b_k = id / 16, b_col = id % 16 * 4;
    const float *a_from = a + (row0 + a_row) * k + a_k;
    const float *b_from = b + b_k * n + col0 + b_col;

    float sum[4][4] = {};

#pragma unroll 1
    for (unsigned k0 = 0; k0 < k; k0 += DEPTH) {
        float4 from_a = *(const float4 *)a_from;
        float4 from_b = *(const float4 *)b_from;
        a_tile[a_k + 0][a_row] = from_a.x;
        a_tile[a_k + 1][a_row] = from_a.y;
        a_tile[a_k + 2][a_row] = from_a.z;
        a_tile[a_k + 3][a_row] = from_a.w;
        *(float4 *)&b_tile[b_k][b_col] = from_b;
        a_from += DEPTH;
        b_from += DEPTH * n;
        __syncthreads();

#pragma unroll
        for (int kk = 0; kk < DEPTH; kk++) {
            float4 left = *(const float4 *)&a_tile[kk][ty * 4];
            float4 top = *(const float4 *)&b_tile[kk][tx * 4];
            float l[4] = {left.x, left.y, left.z, left.w};
            float t[4] = {top.x, top.y, top.z, top.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sum[i][j] += l[i] * t[j];
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < 4; i++) {
        float4 *out = (float4 *)(c + (row0 + ty * 4 + i) * n + col0 + tx * 4);
        float4 old = *out;
        *out = make_float4(alpha * sum[i][0] + beta * old.x, alpha * sum[i][1] + beta * old.y,
                           alpha * sum[i][2] + beta * old.z, alpha * sum[i][3] + beta * old.w);
    }
}
