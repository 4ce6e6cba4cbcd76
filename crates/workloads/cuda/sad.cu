// SPDX-License-Identifier: MIT OR Apache-2.0
// Motion search of a video encoder: sums of absolute differences between blocks of a frame and the places around them in a reference
// frame, which is read through a texture. The first kernel compares blocks of 4 x 4 pixels, a block of threads each; the others add
// up its sums for the larger blocks of a macroblock of 16 x 16 pixels: two by two, then again two by two. A macroblock has 41 sums at
// every place.

#define THREADS 61
#define KINDS 41

extern "C" __global__ void sad_4x4(cudaTextureObject_t reference, const unsigned short *__restrict__ frame,
                                   unsigned short *__restrict__ sums, unsigned width, unsigned range, unsigned padded)
{
    __shared__ int current[16];
    unsigned t = threadIdx.x;
    unsigned x = blockIdx.x * 4, y = blockIdx.y * 4;
    if (t < 16)
        current[t] = frame[(y + t / 4) * width + x + t % 4];
    __syncthreads();

    unsigned side = 2 * range + 1;
    unsigned macroblock = blockIdx.y / 4 * (gridDim.x / 4) + blockIdx.x / 4;
    unsigned kind = blockIdx.y % 4 * 4 + blockIdx.x % 4;
    unsigned short *to = sums + (macroblock * KINDS + kind) * padded;
#pragma unroll 1
    for (unsigned place = t; place < side * side; place += THREADS) {
        unsigned row = place / side;
        float left = (int)(x + place - row * side - range), top = (int)(y + row - range);
        int sum = 0;
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum += abs(current[4 * i + j] - (int)tex2D<unsigned short>(reference, left + j, top + i));
        to[place] = sum;
    }
}

// Blocks of 8 x 4, 4 x 8 and 8 x 8 pixels. A row of threads takes a quarter of the macroblock.
extern "C" __global__ void sad_8(unsigned short *sums, unsigned places, unsigned padded)
{
    unsigned quarter = threadIdx.y;
    unsigned short *own = sums + (blockIdx.y * gridDim.x + blockIdx.x) * KINDS * padded;
    const unsigned short *from = own + (quarter / 2 * 8 + quarter % 2 * 2) * padded;
    unsigned short *wide = own + (16 + 2 * quarter) * padded;
    unsigned short *high = own + (24 + 2 * quarter) * padded;
    unsigned short *both = own + (32 + quarter) * padded;
#pragma unroll 1
    for (unsigned place = threadIdx.x; place < places; place += 32) {
        unsigned a = from[place], b = from[padded + place];
        unsigned c = from[4 * padded + place], d = from[5 * padded + place];
        wide[place] = a + b;
        wide[padded + place] = c + d;
        high[place] = a + c;
        high[padded + place] = b + d;
        both[place] = a + b + c + d;
    }
}

// Blocks of 16 x 8, 8 x 16 and 16 x 16 pixels.
extern "C" __global__ void sad_16(unsigned short *sums, unsigned places, unsigned padded)
{
    unsigned short *own = sums + (blockIdx.y * gridDim.x + blockIdx.x) * KINDS * padded;
    const unsigned short *from = own + 32 * padded;
    unsigned short *to = own + 36 * padded;
#pragma unroll 1
    for (unsigned place = threadIdx.x; place < places; place += 32) {
        unsigned a = from[place], b = from[padded + place];
        unsigned c = from[2 * padded + place], d = from[3 * padded + place];
        to[place] = a + b;
        to[padded + place] = c + d;
        to[2 * padded + place] = a + c;
        to[3 * padded + place] = b + d;
        to[4 * padded + place] = a + b + c + d;
    }
}
