// SPDX-License-Identifier: MIT OR Apache-2.0
// Calls of every kind: virtual, through pointers, recursive, by-value structures, and into the device runtime.
#ifdef __CUDACC_RTC__
#include <cuda/std/cassert>
#else
#include <cassert>
#include <cstdio>
#endif
#ifndef assert
#include <assert.h>
#endif

struct Triple { double x; float y; char z[5]; };

class Shape {
public:
    __device__ virtual ~Shape() {}
    __device__ virtual float area(float scale) const = 0;
    __device__ virtual Triple describe(int n) const { Triple t{1.0 * n, 2.0f, {1, 2, 3, 4, 5}}; return t; }
};
class Square : public Shape {
    float side;
public:
    __device__ explicit Square(float s) : side(s) {}
    __device__ float area(float scale) const override { return side * side * scale; }
};
class Circle : public Shape {
    float radius;
public:
    __device__ explicit Circle(float r) : radius(r) {}
    __device__ float area(float scale) const override { return 3.14159f * radius * radius * scale; }
    __device__ Triple describe(int n) const override { Triple t{radius, 0.5f * n, {'c'}}; return t; }
};

typedef int (*Operator)(int, int);
__device__ int plus_(int a, int b) { return a + b; }
__device__ int minus_(int a, int b) { return a - b; }
__device__ __noinline__ int times_(int a, int b) { return a * b; }
__device__ Operator table[4] = {plus_, minus_, times_, plus_};

__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ int even(int n);
__device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }
__device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__device__ __noinline__ Triple by_value(Triple t, char c) { t.z[2] = c; t.x += t.y; return t; }

template <typename T, int N, template <typename> class Policy>
struct Folder {
    template <typename U> __device__ __noinline__ static T fold(const U (&values)[N], Policy<T> policy) {
        T total = policy.start();
        for (int i = 0; i < N; i++) total = policy.join(total, static_cast<T>(values[i]));
        return total;
    }
};
template <typename T> struct VeryLongPolicyNameThatMakesMangledNamesLong {
    __device__ T start() const { return T(0); }
    __device__ T join(T a, T b) const { return a > b ? a : b; }
};

__global__ void shapes(float *out, int kind, int n) {
    Shape *shape = kind ? static_cast<Shape *>(new Square(2.0f)) : new Circle(1.5f);
    Triple t = shape->describe(n);
    out[threadIdx.x] = shape->area(0.5f) + static_cast<float>(t.x) + t.z[n & 3];
    delete shape;
}
__global__ void pointers(int *out, int which) { out[threadIdx.x] = table[which & 3](out[threadIdx.x], 7); }
__global__ void recursion(unsigned *out, int n) { out[0] = fibonacci(n); out[1] = even(n); }
__global__ void structures(Triple *out, Triple in, char c) { out[threadIdx.x] = by_value(in, c); }
template <typename T> __global__ void folded(T *out, float a, int b) {
    float floats[8]; int ints[8];
    for (int i = 0; i < 8; i++) { floats[i] = a * i + out[i]; ints[i] = b * i; }
    out[0] = Folder<T, 8, VeryLongPolicyNameThatMakesMangledNamesLong>::fold(floats, {});
    out[1] = Folder<T, 8, VeryLongPolicyNameThatMakesMangledNamesLong>::fold(ints, {});
}
template __global__ void folded<double>(double *, float, int);
template __global__ void folded<long long>(long long *, float, int);

__global__ void runtime_calls(int *data, int n) {
    int *p = static_cast<int *>(malloc(n * sizeof(int)));
    assert(p != nullptr);
    p[0] = data[0];
    printf("thread %d of %d: %f %s\n", threadIdx.x, n, 0.5, "text");
    assert(data[1] > 0 && "positive");
    data[2] = p[0] + n;
    free(p);
    if (data[3] == 42) __trap();
}
