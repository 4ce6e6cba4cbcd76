// SPDX-License-Identifier: MIT OR Apache-2.0
// Heat on a chip: an explicit five-point stencil over temperature, driven by the power of each cell. A launch
// makes several time steps; a block of 16 x 16 threads computes a ghost zone that shrinks by one cell on each
// side with each step (pyramid blocking), so that blocks need nothing from each other in between.

#define SIDE 16

extern "C" __global__ void hotspot(int steps, const float *__restrict__ power, const float *__restrict__ from,
                                   float *__restrict__ to, int cols, int rows, float cap, float rx, float ry,
                                   float rz, float step)
{
    __shared__ float now[SIDE][SIDE];

    const float ambient = 80.0f;
    float step_div_cap = step / cap;
    float per_rx = 1.0f / rx, per_ry = 1.0f / ry, per_rz = 1.0f / rz;

    int tx = threadIdx.x, ty = threadIdx.y;
    int own = SIDE - steps * 2;
    int block_x = own * (int)blockIdx.x - steps, block_y = own * (int)blockIdx.y - steps;
    int x = block_x + tx, y = block_y + ty;
    int at = cols * y + x;

    int min_x = block_x < 0 ? -block_x : 0, min_y = block_y < 0 ? -block_y : 0;
    int max_x = block_x + SIDE > cols ? cols - 1 - block_x : SIDE - 1;
    int max_y = block_y + SIDE > rows ? rows - 1 - block_y : SIDE - 1;
    bool valid = tx >= min_x && tx <= max_x && ty >= min_y && ty <= max_y;
    int west = max(tx - 1, min_x), east = min(tx + 1, max_x);
    int north = max(ty - 1, min_y), south = min(ty + 1, max_y);

    int off_centre = max(abs(2 * tx - (SIDE - 1)), abs(2 * ty - (SIDE - 1)));

    float heat = 0.0f, then = 0.0f;
    if (valid) {
        now[ty][tx] = from[at];
        heat = power[at];
    }
    __syncthreads();

#pragma unroll 1
    for (int i = 0;;) {
        // Each step loses one cell on every side of the square.
        bool computed = valid && off_centre < SIDE - 1 - 2 * i;
        if (computed) {
            float here = now[ty][tx];
            float vertical = now[south][tx] + now[north][tx] - 2.0f * here;
            float horizontal = now[ty][east] + now[ty][west] - 2.0f * here;
            then = here + step_div_cap * (heat + vertical * per_ry + horizontal * per_rx +
                                          (ambient - here) * per_rz);
        }
        __syncthreads();
        if (++i == steps) {
            if (computed)
                to[at] = then;
            break;
        }
        if (computed)
            now[ty][tx] = then;
        __syncthreads();
    }
}
