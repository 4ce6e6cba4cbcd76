// SPDX-License-Identifier: MIT OR Apache-2.0
// Variables in every space with initialisers, launch bounds, local arrays, vectors, switches, volatile accesses.
struct Item { int key; const char *text; struct Item *next; double weight[2]; };
struct __align__(16) Packed { short a; char b; float4 c; };

__constant__ float coefficients[8] = {1.0f, -2.5f, 3.0e-8f, 4.0f, 0.0f, -0.0f};
__constant__ int matrix[3][4] = {{1, 2, 3, 4}, {-5, 6}, {7}};
__constant__ Packed packed = {1, 'b', {1.f, 2.f, 3.f, 4.f}};
__constant__ double halves[] = {0.5, 0.25, -0.125};
__device__ int counters[4] = {1, 2, 3, 4};
__device__ const char message[] = "hello, \"world\"\n";
__device__ Item third = {3, "three", nullptr, {3.0, 3.5}};
__device__ Item second = {2, message + 7, &third, {2.0, 2.5}};
__device__ Item *first = &second;
__device__ int *middle = &counters[2];
__device__ volatile int flag;
__device__ float4 vectors[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
#ifdef WITH_MANAGED
__managed__ int managed_value = 17;
#endif

extern __shared__ double dynamic[];

extern "C" __global__ void __launch_bounds__(256, 4) bounded(float *out, const float *__restrict__ in, int n) {
    __shared__ float tile[16][17];
    __shared__ float4 quads[8];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[y * n + x] * coefficients[x & 7] + matrix[y & 3][x & 3];
    quads[x & 7] = make_float4(in[x], in[y], 1.0f, packed.c.z);
    dynamic[x] = halves[x % 3];
    __syncthreads();
    out[x * n + y] = tile[x][y] + quads[y & 7].w + static_cast<float>(dynamic[n & 15]);
}
extern "C" __global__ void linked(double *out) {
    double total = 0;
    for (Item *item = first; item; item = item->next) total += item->key * item->weight[threadIdx.x & 1] + item->text[0];
    out[threadIdx.x] = total + *middle + message[threadIdx.x & 7];
#ifdef WITH_MANAGED
    out[0] += managed_value;
#endif
}
extern "C" __global__ void locals(int *out, int n) {
    int stack[32];
    for (int i = 0; i < 32; i++) stack[i] = out[i] ^ i;
    for (int i = 0; i < n; i++) stack[(i * 7) & 31] += stack[(i + n) & 31];
    out[threadIdx.x] = stack[n & 31];
    while (flag == 0) { }
    flag = 2;
}
extern "C" __global__ void switches(int *out, int n) {
    int value = out[threadIdx.x];
    switch (n) {
    case 0: value += 3; break;
    case 1: value *= 5; break;
    case 2: value ^= 0x55; break;
    case 3: value = value / 3; break;
    case 4: value <<= 4; break;
    case 5: value = -value; break;
    case 6: value = ~value; break;
    case 7: value = value % 11; break;
    default: value = 0;
    }
#pragma unroll 1
    for (int i = 0; i < n; i++) value = value * 3 + (value >> 2);
    out[threadIdx.x] = value;
}
extern "C" __global__ void copies(float4 *v, double2 *d, uchar4 *c, short2 *s, char *b, Packed by_value) {
    int t = threadIdx.x;
    v[t + 1] = v[t]; d[t + 1] = d[t]; c[t + 1] = c[t]; s[t + 1] = s[t];
    v[t + 2] = __ldg(&v[t]);
    vectors[t & 1] = by_value.c;
    b[t] = by_value.b + static_cast<char>(by_value.a);
#ifndef __clang__
    __stcs(&v[t + 3], __ldcg(&v[t + 4]));
#endif
}
