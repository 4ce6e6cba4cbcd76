// SPDX-License-Identifier: MIT OR Apache-2.0
// Forward wavelet transform of a colour image by lifting, with the reversible 5/3 filter of JPEG 2000. The first kernel splits pixels
// into three planes; the second transforms one plane once: each block takes windows of 64 x 8 cells, one below the other, with the
// cells around them that the filter reaches, first along rows, then along columns. At the edges cells are mirrored.

#define BLOCK 256
#define WIDE 64
#define HIGH 8
#define COLS (WIDE + 3)
#define ROWS (HIGH + 3)

extern "C" __global__ void dwt_components(const unsigned char *__restrict__ pixels, int *__restrict__ red,
                                          int *__restrict__ green, int *__restrict__ blue, int count)
{
    __shared__ unsigned char stage[3 * BLOCK];
    int t = threadIdx.x;
    int first = blockIdx.x * BLOCK;
    stage[t] = pixels[3 * first + t];
    stage[t + BLOCK] = pixels[3 * first + t + BLOCK];
    stage[t + 2 * BLOCK] = pixels[3 * first + t + 2 * BLOCK];
    __syncthreads();
    int at = first + t;
    if (at < count) {
        red[at] = stage[3 * t] - 128;
        green[at] = stage[3 * t + 1] - 128;
        blue[at] = stage[3 * t + 2] - 128;
    }
}

static __device__ __forceinline__ int mirrored(int at, int count)
{
    at = at < 0 ? -at : at;
    return at < count ? at : 2 * count - 2 - at;
}

extern "C" __global__ void dwt_53(const int *__restrict__ in, int *__restrict__ out, int *__restrict__ low, int width,
                                  int height, int pitch, int steps)
{
    __shared__ int tile[ROWS * COLS];
    int t = threadIdx.x;
    int x0 = blockIdx.x * WIDE;
    int half_width = (unsigned)(width + 1) / 2, half_height = (unsigned)(height + 1) / 2;
    int x = x0 + t;
    int to_x = x & 1 ? half_width + (x >> 1) : x >> 1;

#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        int y0 = (blockIdx.y * steps + step) * HIGH;
        if (y0 >= height)
            return;
#pragma unroll 1
        for (int r = 0; r < ROWS; r++) {
            const int *row = in + mirrored(y0 - 2 + r, height) * width;
            tile[r * COLS + t] = row[mirrored(x - 2, width)];
            if (t < 3)
                tile[r * COLS + WIDE + t] = row[mirrored(x - 2 + WIDE, width)];
        }
        __syncthreads();
        // Along rows: high cells, at odd places, then low ones.
#pragma unroll 1
        for (unsigned i = t; i < ROWS * (WIDE / 2 + 1); i += WIDE) {
            int at = i / (WIDE / 2 + 1) * COLS + i % (WIDE / 2 + 1) * 2 + 1;
            tile[at] -= (tile[at - 1] + tile[at + 1]) >> 1;
        }
        __syncthreads();
#pragma unroll 1
        for (unsigned i = t; i < ROWS * (WIDE / 2); i += WIDE) {
            int at = i / (WIDE / 2) * COLS + i % (WIDE / 2) * 2 + 2;
            tile[at] += (tile[at - 1] + tile[at + 1] + 2) >> 2;
        }
        __syncthreads();
        // Along columns, of which each thread has one.
        int *column = tile + t + 2;
#pragma unroll 1
        for (int at = COLS; at < ROWS * COLS; at += 2 * COLS)
            column[at] -= (column[at - COLS] + column[at + COLS]) >> 1;
#pragma unroll 1
        for (int at = 2 * COLS; at < (ROWS - 1) * COLS; at += 2 * COLS)
            column[at] += (column[at - COLS] + column[at + COLS] + 2) >> 2;
        if (x < width) {
            int rows = min(HIGH, height - y0);
#pragma unroll 1
            for (int r = 0; r < rows; r++) {
                int y = y0 + r;
                int to_y = r & 1 ? half_height + (y >> 1) : y >> 1;
                int value = column[(r + 2) * COLS];
                out[to_y * pitch + to_x] = value;
                if (((x | r) & 1) == 0)
                    low[(y >> 1) * half_width + (x >> 1)] = value;
            }
        }
        __syncthreads();
    }
}
