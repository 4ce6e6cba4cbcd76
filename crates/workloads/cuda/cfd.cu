// SPDX-License-Identifier: MIT OR Apache-2.0
// Flow of air around a wing by the equations of Euler on an unstructured grid of cells with four faces each. An iteration finds the
// step of each cell, and three times its fluxes through all faces and the cell's new state (Runge and Kutta). State, normals and
// neighbours are arrays of their own for each component. Neighbour -1 is the wing, -2 the air far away.

#define BLOCK 192
#define FACES 4
#define GAMMA 1.4f

__constant__ float far_state[5];
__constant__ float far_flux[12];

struct Flow {
    float density, x, y, z, energy;
    float vx, vy, vz, pressure, speed2;
};

static __device__ __forceinline__ float dot(float ax, float ay, float az, float bx, float by, float bz)
{
    return fmaf(az, bz, fmaf(ay, by, __fmul_rn(ax, bx)));
}

static __device__ __forceinline__ Flow flow_of(const float *state, int cell, int cells)
{
    Flow f;
    f.density = state[cell];
    f.x = state[cells + cell];
    f.y = state[2 * cells + cell];
    f.z = state[3 * cells + cell];
    f.energy = state[4 * cells + cell];
    f.vx = f.x / f.density;
    f.vy = f.y / f.density;
    f.vz = f.z / f.density;
    f.speed2 = dot(f.vx, f.vy, f.vz, f.vx, f.vy, f.vz);
    f.pressure = __fmul_rn(GAMMA - 1.0f, fmaf(-0.5f * f.density, f.speed2, f.energy));
    return f;
}

extern "C" __global__ void cfd_step(const float *__restrict__ state, const float *__restrict__ areas,
                                    float *__restrict__ steps, int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    Flow f = flow_of(state, cell, cells);
    float sound = sqrtf(GAMMA * f.pressure / f.density);
    steps[cell] = 0.5f / (sqrtf(areas[cell]) * (sqrtf(f.speed2) + sound));
}

extern "C" __global__ void cfd_flux(const int *__restrict__ neighbours, const float *__restrict__ normals,
                                    const float *__restrict__ state, float *__restrict__ fluxes, int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    Flow f = flow_of(state, cell, cells);
    float sound = sqrtf(GAMMA * f.pressure / f.density);
    float sum[5] = {};
#pragma unroll 1
    for (int face = 0; face < FACES; face++) {
        int other = neighbours[face * cells + cell];
        float nx = normals[face * cells + cell], ny = normals[(face + FACES) * cells + cell],
              nz = normals[(face + 2 * FACES) * cells + cell];
        float area = sqrtf(dot(nx, ny, nz, nx, ny, nz));
        if (other >= 0) {
            Flow g = flow_of(state, other, cells);
            float other_sound = sqrtf(GAMMA * g.pressure / g.density);
            // A little viscosity keeps the scheme stable.
            float mix = -area * 0.1f * (sqrtf(f.speed2) + sqrtf(g.speed2) + sound + other_sound);
            float through = dot(nx, ny, nz, f.vx, f.vy, f.vz), back = dot(nx, ny, nz, g.vx, g.vy, g.vz);
            float press = 0.5f * (f.pressure + g.pressure);
            sum[0] = fmaf(mix, f.density - g.density, sum[0]);
            sum[0] = fmaf(0.5f, dot(nx, ny, nz, f.x + g.x, f.y + g.y, f.z + g.z), sum[0]);
            sum[1] = fmaf(mix, f.x - g.x, sum[1]);
            sum[1] = fmaf(0.5f, fmaf(g.x, back, __fmul_rn(f.x, through)), fmaf(nx, press, sum[1]));
            sum[2] = fmaf(mix, f.y - g.y, sum[2]);
            sum[2] = fmaf(0.5f, fmaf(g.y, back, __fmul_rn(f.y, through)), fmaf(ny, press, sum[2]));
            sum[3] = fmaf(mix, f.z - g.z, sum[3]);
            sum[3] = fmaf(0.5f, fmaf(g.z, back, __fmul_rn(f.z, through)), fmaf(nz, press, sum[3]));
            sum[4] = fmaf(mix, f.energy - g.energy, sum[4]);
            sum[4] = fmaf(0.5f, fmaf(g.energy + g.pressure, back, __fmul_rn(f.energy + f.pressure, through)), sum[4]);
        } else if (other == -1) {
            sum[1] = fmaf(nx, f.pressure, sum[1]);
            sum[2] = fmaf(ny, f.pressure, sum[2]);
            sum[3] = fmaf(nz, f.pressure, sum[3]);
        } else {
            // Half of the flux is that of the air far away: density, three momenta, energy, by direction.
            float through = 0.5f * dot(nx, ny, nz, f.vx, f.vy, f.vz);
            float hx = 0.5f * nx, hy = 0.5f * ny, hz = 0.5f * nz;
            sum[0] = fmaf(f.density, through, sum[0]) + dot(hx, hy, hz, far_state[1], far_state[2], far_state[3]);
            sum[1] = fmaf(f.x, through, fmaf(hx, f.pressure, sum[1])) + dot(hx, hy, hz, far_flux[0], far_flux[1], far_flux[2]);
            sum[2] = fmaf(f.y, through, fmaf(hy, f.pressure, sum[2])) + dot(hx, hy, hz, far_flux[3], far_flux[4], far_flux[5]);
            sum[3] = fmaf(f.z, through, fmaf(hz, f.pressure, sum[3])) + dot(hx, hy, hz, far_flux[6], far_flux[7], far_flux[8]);
            sum[4] = fmaf(f.energy + f.pressure, through, sum[4]) + dot(hx, hy, hz, far_flux[9], far_flux[10], far_flux[11]);
        }
    }
#pragma unroll
    for (int i = 0; i < 5; i++)
        fluxes[i * cells + cell] = sum[i];
}

extern "C" __global__ void cfd_advance(const float *__restrict__ before, float *__restrict__ state,
                                       const float *__restrict__ steps, const float *__restrict__ fluxes, int part,
                                       int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    float step = steps[cell] / part;
#pragma unroll
    for (int i = 0; i < 5; i++)
        state[i * cells + cell] = fmaf(-step, fluxes[i * cells + cell], before[i * cells + cell]);
}
