// SPDX-License-Identifier: MIT OR Apache-2.0
// Tracking of points on the wall of a heart through frames of an ultrasound video, a block a point. The template of a point is compared
// with all places around where the point was, by normalised correlation; the best one becomes its new place, and the template is
// blended with what is there.

#define BLOCK 256
#define SIDE 11
#define TAPS (SIDE * SIDE)

extern "C" __global__ void heartwall_track(const int *__restrict__ frame, int width, float *templates, int *rows,
                                           int *columns, int reach, int searchers,
                                           float *__restrict__ scores)
{
    __shared__ float taps[TAPS];
    __shared__ float best[BLOCK];
    __shared__ int where[BLOCK];
    int t = threadIdx.x, point = blockIdx.x;
    float *own = templates + point * TAPS;
    if (t < TAPS)
        taps[t] = own[t];
    __syncthreads();
    float mean = 0.0f;
#pragma unroll 1
    for (int i = 0; i < TAPS; i++)
        mean += taps[i];
    mean /= TAPS;

    unsigned side = 2 * reach + 1;
    const int *corner = frame + (rows[point] - reach - SIDE / 2) * width + columns[point] - reach - SIDE / 2;
    float most = -1e30f;
    int place = 0;
#pragma unroll 1
    for (unsigned p = t < searchers ? t : side * side; p < side * side; p += searchers) {
        const int *from = corner + p / side * width + p % side;
        float sum = 0.0f, squares = 0.0f, cross = 0.0f;
#pragma unroll 1
        for (int i = 0; i < SIDE; i++)
#pragma unroll 1
            for (int j = 0; j < SIDE; j++) {
                float pixel = from[i * width + j];
                sum += pixel;
                squares = fmaf(pixel, pixel, squares);
                cross = fmaf(pixel, taps[i * SIDE + j], cross);
            }
        float spread = fmaf(-(sum / TAPS), sum, squares);
        float score = fmaf(-mean, sum, cross) / sqrtf(spread + 1.0f);
        if (score > most) {
            most = score;
            place = p;
        }
    }
    best[t] = most;
    where[t] = place;
#pragma unroll 1
    for (int half = BLOCK / 2; half > 0; half >>= 1) {
        __syncthreads();
        if (t < half && (best[t + half] > best[t] || (best[t + half] == best[t] && where[t + half] < where[t]))) {
            best[t] = best[t + half];
            where[t] = where[t + half];
        }
    }
    __syncthreads();
    unsigned found = where[0];
    const int *from = corner + found / side * width + found % side;
    if (t < TAPS)
        own[t] = fmaf(0.9f, taps[t], 0.1f * from[(unsigned)t / SIDE * width + (unsigned)t % SIDE]);
    if (t == 0) {
        rows[point] += (int)(found / side) - reach;
        columns[point] += (int)(found % side) - reach;
        scores[point] = best[0];
    }
}
