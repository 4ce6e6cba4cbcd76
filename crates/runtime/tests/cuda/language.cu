// SPDX-License-Identifier: MIT OR Apache-2.0
// What CUDA C++ programs do beside arithmetic: printf, assert, malloc, virtual calls, recursion, local arrays, constant tables.


__constant__ int weights[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int counter = 40;
__device__ int* hidden = &counter;

extern "C" __global__ void speak(int n) {
    if (threadIdx.x < 2) printf("block %d thread %u: %5.2f %s %c %lld %x\n", blockIdx.x, threadIdx.x, n * 0.5, "text", 'z', -7000000000LL, 255);
}

extern "C" __global__ void must_be_small(const int* in) {
    int v = in[threadIdx.x];
    assert(v < 100);
}

struct Shape {
    __device__ virtual int area(int s) const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    __device__ int area(int s) const override { return s * s; }
};
struct Triangle : Shape {
    __device__ int area(int s) const override { return s * (s + 1) / 2; }
};

extern "C" __global__ void virtual_calls(int* out) {
    Shape* shape;
    if (threadIdx.x % 3 == 0)
        shape = new Square;
    else
        shape = new Triangle;
    out[threadIdx.x] = shape->area((int)threadIdx.x);
    delete shape;
}

__device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursion(int* out) { out[threadIdx.x] = ackermann(2, (int)threadIdx.x % 5); }

extern "C" __global__ void runaway(int* out) {
    out[threadIdx.x] = ackermann(3, 1000);
}

extern "C" __global__ void local_table(int* out, int n) {
    int table[16];
    for (int i = 0; i < 16; ++i) table[i] = i * n + weights[i & 7];
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += table[(threadIdx.x * 7 + i * 5) & 15];
    out[threadIdx.x] = sum;
}

extern "C" __global__ void through_pointers(int* out) {
    if (threadIdx.x == 0) *hidden += 2;
    __syncthreads();
    out[threadIdx.x] = *hidden;
}

extern "C" __global__ void heap(unsigned long long* out) {
    int* mine = (int*)malloc(64 * sizeof(int));
    for (int i = 0; i < 64; ++i) mine[i] = (int)threadIdx.x + i;
    unsigned long long sum = 0;
    for (int i = 0; i < 64; ++i) sum += mine[i];
    out[threadIdx.x] = sum;
    free(mine);
}

extern "C" __global__ void sample(cudaTextureObject_t image, float* out, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width) out[y * width + x] = tex2D<float>(image, (x + 1.0f) / width, (y + 0.5f) / height);
}

extern "C" __global__ void past_the_end(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = 1.0f;
}
