// SPDX-License-Identifier: MIT OR Apache-2.0
// AES with keys of 128 bits in electronic codebook mode, by tables. A thread owns a column of a state, four threads a state, a block
// 64 states. The four tables that join substitution and mixing of columns, and the plain substitution for the last round, come from
// global memory into shared memory; the round keys are in constant memory. Rounds exchange columns through two buffers.

#define BLOCK 256
#define ROUNDS 10

__constant__ unsigned round_keys[4 * (ROUNDS + 1)];

// `turn` is 1 for encryption, which shifts rows to the left, and 3 for decryption, which shifts them to the right.
__device__ __forceinline__ void cipher(const unsigned *__restrict__ tables, const unsigned *__restrict__ in,
                                       unsigned *__restrict__ out, unsigned turn)
{
    __shared__ unsigned table[4][256];
    __shared__ unsigned plain[256];
    __shared__ unsigned state[2][BLOCK];

    unsigned t = threadIdx.x;
    unsigned at = blockIdx.x * BLOCK + t;
    unsigned column = t & 3, first = t & ~3u;
    unsigned b = first + ((column + turn) & 3), c = first + (column ^ 2), d = first + ((column - turn) & 3);
#pragma unroll
    for (int i = 0; i < 4; i++)
        table[i][t] = tables[i * 256 + t];
    plain[t] = tables[4 * 256 + t];

    state[0][t] = in[at] ^ round_keys[column];
    __syncthreads();
    int now = 0;
#pragma unroll 1
    for (int round = 1; round < ROUNDS; round++) {
        state[now ^ 1][t] = table[0][state[now][t] & 255] ^ table[1][state[now][b] >> 8 & 255] ^
                            table[2][state[now][c] >> 16 & 255] ^ table[3][state[now][d] >> 24] ^
                            round_keys[4 * round + column];
        now ^= 1;
        __syncthreads();
    }
    unsigned word = plain[state[now][t] & 255] | plain[state[now][b] >> 8 & 255] << 8 |
                    plain[state[now][c] >> 16 & 255] << 16 | plain[state[now][d] >> 24] << 24;
    out[at] = word ^ round_keys[4 * ROUNDS + column];
}

extern "C" __global__ void aes_encrypt(const unsigned *__restrict__ tables, const unsigned *__restrict__ in,
                                       unsigned *__restrict__ out)
{
    cipher(tables, in, out, 1);
}

extern "C" __global__ void aes_decrypt(const unsigned *__restrict__ tables, const unsigned *__restrict__ in,
                                       unsigned *__restrict__ out)
{
    cipher(tables, in, out, 3);
}
