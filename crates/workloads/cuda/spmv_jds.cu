// SPDX-License-Identifier: MIT OR Apache-2.0
// Sparse matrix times vector in jagged diagonal storage: rows sorted by length, the n-th entries of all rows that have as many stored
// one after the other, so that neighbouring threads read neighbouring words. Where each diagonal starts, and how many each group of
// 32 rows has, is in constant memory.

#define MAX_DEPTH 512
#define MAX_GROUPS 8192

__constant__ int diagonal_start[MAX_DEPTH];
__constant__ int group_depth[MAX_GROUPS];

extern "C" __global__ void spmv_jds(float *__restrict__ out, const float *__restrict__ data,
                                    const int *__restrict__ column, const int *__restrict__ row_of,
                                    const float *__restrict__ x, int rows)
{
    int sorted = blockIdx.x * blockDim.x + threadIdx.x;
    if (sorted >= rows)
        return;
    int depth = group_depth[sorted >> 5];
    float sum = 0.0f;
#pragma unroll 1
    for (int d = 0; d < depth; d++) {
        int at = diagonal_start[d] + sorted;
        sum = fmaf(data[at], x[column[at]], sum);
    }
    out[row_of[sorted]] = sum;
}
