// SPDX-License-Identifier: MIT OR Apache-2.0
// A ray tracer after Whitted: spheres on a chequered floor, a lamp, shadows that are the lighter the further their sphere is, and mirror reflections, a pixel a thread. The spheres
// are in constant memory. Rays end at different bounces, so warps diverge. Multiplications and additions are fused by hand, so that
// the reference can do the same.

#define MAX_SPHERES 16
#define BOUNCES 4

struct Sphere {
    float x, y, z, radius;
    float red, green, blue, mirror;
};

__constant__ Sphere spheres[MAX_SPHERES];
__constant__ float lamp[3];

static __device__ __forceinline__ float dot(float ax, float ay, float az, float bx, float by, float bz)
{
    return fmaf(az, bz, fmaf(ay, by, __fmul_rn(ax, bx)));
}

// The distance at which a ray of length-one direction enters a sphere, or a huge one.
static __device__ __forceinline__ float enters(const Sphere &sphere, float ox, float oy, float oz, float dx, float dy,
                                               float dz)
{
    float cx = sphere.x - ox, cy = sphere.y - oy, cz = sphere.z - oz;
    float along = dot(cx, cy, cz, dx, dy, dz);
    float apart = fmaf(-along, along, dot(cx, cy, cz, cx, cy, cz));
    float inside = fmaf(sphere.radius, sphere.radius, -apart);
    if (along <= 0.0f || inside < 0.0f)
        return 1e30f;
    float at = along - sqrtf(inside);
    return at > 1e-3f ? at : 1e30f;
}

extern "C" __global__ void ray_render(unsigned *__restrict__ image, float *__restrict__ depth, int width, int height,
                                      int count)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;
    float ox = 0.0f, oy = 1.5f, oz = -6.0f;
    float dx = (2.0f * column - width) / height, dy = (height - 2.0f * row) / height, dz = 2.0f;
    float scale = 1.0f / sqrtf(dot(dx, dy, dz, dx, dy, dz));
    dx *= scale;
    dy *= scale;
    dz *= scale;
    float red = 0.0f, green = 0.0f, blue = 0.0f, weight = 1.0f, travelled = 0.0f;

#pragma unroll 1
    for (int bounce = 0; bounce < BOUNCES; bounce++) {
        float nearest = dy < -1e-4f ? -oy / dy : 1e30f;
        int hit = -1;
#pragma unroll 1
        for (int s = 0; s < count; s++) {
            float at = enters(spheres[s], ox, oy, oz, dx, dy, dz);
            if (at < nearest) {
                nearest = at;
                hit = s;
            }
        }
        if (nearest > 60.0f) {
            // The sky brightens towards the horizon.
            float high = weight * (1.0f - 0.5f * dy);
            red = fmaf(0.5f, high, red);
            green = fmaf(0.7f, high, green);
            blue = fmaf(0.9f, high, blue);
            break;
        }
        travelled += nearest;
        ox = fmaf(nearest, dx, ox);
        oy = fmaf(nearest, dy, oy);
        oz = fmaf(nearest, dz, oz);
        float nx = 0.0f, ny = 1.0f, nz = 0.0f, r = 0.8f, g = 0.8f, b = 0.8f, mirror = 0.1f;
        if (hit >= 0) {
            Sphere sphere = spheres[hit];
            nx = (ox - sphere.x) / sphere.radius;
            ny = (oy - sphere.y) / sphere.radius;
            nz = (oz - sphere.z) / sphere.radius;
            r = sphere.red;
            g = sphere.green;
            b = sphere.blue;
            mirror = sphere.mirror;
        } else if (((int)floorf(ox) ^ (int)floorf(oz)) & 1) {
            r = g = b = 0.2f;
        }
        float lx = lamp[0] - ox, ly = lamp[1] - oy, lz = lamp[2] - oz;
        float far = sqrtf(dot(lx, ly, lz, lx, ly, lz));
        lx /= far;
        ly /= far;
        lz /= far;
        float light = fmaxf(dot(nx, ny, nz, lx, ly, lz), 0.0f);
#pragma unroll 1
        for (int s = 0; s < count && light > 0.0f; s++) {
            float at = enters(spheres[s], ox, oy, oz, lx, ly, lz);
            if (at < far)
                light *= 0.5f * (at / far);
        }
        float shade = weight * (1.0f - mirror) * fmaf(0.8f, light, 0.2f);
        red = fmaf(r, shade, red);
        green = fmaf(g, shade, green);
        blue = fmaf(b, shade, blue);
        weight *= mirror;
        if (weight < 0.02f)
            break;
        float back = -2.0f * dot(nx, ny, nz, dx, dy, dz);
        dx = fmaf(back, nx, dx);
        dy = fmaf(back, ny, dy);
        dz = fmaf(back, nz, dz);
    }
    unsigned r = fminf(red, 1.0f) * 255.0f, g = fminf(green, 1.0f) * 255.0f, b = fminf(blue, 1.0f) * 255.0f;
    image[row * width + column] = r | g << 8 | b << 16;
    depth[row * width + column] = travelled;
}
