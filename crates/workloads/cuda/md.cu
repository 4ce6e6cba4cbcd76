// SPDX-License-Identifier: MIT OR Apache-2.0
// Forces between atoms by the potential of Lennard and Jones, a thread an atom: a loop over a list of its neighbours, whose positions come
// through a texture. Neighbours beyond the cutoff add nothing.

#define CUTOFF_SQUARED 16.0f
#define REPEL 1.5f
#define ATTRACT 2.0f

extern "C" __global__ void md_forces(float4 *__restrict__ forces, const float4 *__restrict__ places,
                                     cudaTextureObject_t positions, const int *__restrict__ neighbours, int per_atom,
                                     int count)
{
    int atom = blockIdx.x * blockDim.x + threadIdx.x;
    if (atom >= count)
        return;
    float4 own = places[atom];
    float fx = 0.0f, fy = 0.0f, fz = 0.0f;
#pragma unroll 1
    for (int k = 0; k < per_atom; k++) {
        float4 other = tex1Dfetch<float4>(positions, neighbours[k * count + atom]);
        float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z;
        float square = fmaf(dz, dz, fmaf(dy, dy, dx * dx));
        if (square < CUTOFF_SQUARED) {
            float inverse = 1.0f / square;
            float sixth = inverse * inverse * inverse;
            float force = inverse * sixth * fmaf(REPEL, sixth, -ATTRACT);
            fx = fmaf(dx, force, fx);
            fy = fmaf(dy, force, fy);
            fz = fmaf(dz, force, fz);
        }
    }
    forces[atom] = make_float4(fx, fy, fz, 0.0f);
}
