// SPDX-License-Identifier: MIT OR Apache-2.0
// Storage by content: the MD5 digest (RFC 1321) of every segment of a stream, a thread a segment. The threads of a block bring the
// next 64 bytes of all their segments into shared memory together, in rows of 17 words so that columns fall into different banks.

#define BLOCK 128
#define WORDS 16
#define ROW (WORDS + 1)

__constant__ unsigned sines[64];

__device__ __forceinline__ unsigned rotate(unsigned x, int by)
{
    return x << by | x >> (32 - by);
}

extern "C" __global__ void sto_md5(const unsigned *__restrict__ data, int segments, int segment_words,
                                   uint4 *__restrict__ digests)
{
    __shared__ unsigned stage[BLOCK * ROW];

    int t = threadIdx.x;
    int first = blockIdx.x * BLOCK;
    unsigned here = min(segments - first, BLOCK);
    unsigned a0 = 0x67452301u, b0 = 0xefcdab89u, c0 = 0x98badcfeu, d0 = 0x10325476u;
    unsigned *own = stage + t * ROW;
    const int turns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

    // The last chunk is padding: a one, zeros, the length in bits.
#pragma unroll 1
    for (int at = 0; at <= segment_words; at += WORDS) {
        if (at < segment_words) {
#pragma unroll 1
            for (unsigned i = t; i < here * WORDS; i += BLOCK)
                stage[(i / WORDS) * ROW + i % WORDS] = data[(first + i / WORDS) * segment_words + at + i % WORDS];
        } else {
#pragma unroll
            for (int i = 0; i < WORDS; i++)
                own[i] = i == 0 ? 0x80u : i == 14 ? (unsigned)segment_words * 32 : 0;
        }
        __syncthreads();
        unsigned a = a0, b = b0, c = c0, d = d0;
#pragma unroll
        for (int i = 0; i < 64; i++) {
            int quarter = i / 16;
            unsigned f;
            int word;
            if (quarter == 0) {
                f = (b & c) | (~b & d);
                word = i;
            } else if (quarter == 1) {
                f = (d & b) | (~d & c);
                word = 5 * i + 1;
            } else if (quarter == 2) {
                f = b ^ c ^ d;
                word = 3 * i + 5;
            } else {
                f = c ^ (b | ~d);
                word = 7 * i;
            }
            unsigned turned = rotate(a + f + sines[i] + own[word % WORDS], turns[quarter][i % 4]);
            a = d;
            d = c;
            c = b;
            b += turned;
        }
        a0 += a;
        b0 += b;
        c0 += c;
        d0 += d;
        __syncthreads();
    }
    if (t < here)
        digests[first + t] = make_uint4(a0, b0, c0, d0);
}
