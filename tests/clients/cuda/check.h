// SPDX-License-Identifier: MIT OR Apache-2.0
// What every program here uses to say what went wrong and where. A program that ends with 0 has checked its results.
#pragma once
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                            \
    do {                                                                                                                       \
        cudaError_t code_ = (call);                                                                                            \
        if (code_ != cudaSuccess) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: %s (%d)\n", __FILE__, __LINE__, #call, cudaGetErrorName(code_), (int)code_);           \
            exit(1);                                                                                                           \
        }                                                                                                                      \
    } while (0)

// The call must give exactly this error.
#define EXPECT(error, call)                                                                                                    \
    do {                                                                                                                       \
        cudaError_t code_ = (call);                                                                                            \
        if (code_ != (error)) {                                                                                                \
            fprintf(stderr, "%s:%d: %s: %s (%d), expected %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(code_),           \
                    (int)code_, cudaGetErrorName(error));                                                                      \
            exit(1);                                                                                                           \
        }                                                                                                                      \
    } while (0)

#define REQUIRE(condition, ...)                                                                                                \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition);                                            \
            fprintf(stderr, "" __VA_ARGS__);                                                                                   \
            fputc('\n', stderr);                                                                                               \
            exit(1);                                                                                                           \
        }                                                                                                                      \
    } while (0)

// Numbers that look random and are the same every time.
struct Numbers {
    unsigned long long state;
    explicit Numbers(unsigned long long seed) : state(seed * 2862933555777941757ull + 3037000493ull) {}
    unsigned next() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return (unsigned)(state >> 33);
    }
    float unit() { return (float)(next() & 0xffffff) / 16777216.0f; }
};

template <class T>
struct Buffer {
    T *data = nullptr;
    size_t count;
    explicit Buffer(size_t n) : count(n) { CHECK(cudaMalloc((void **)&data, n * sizeof(T))); }
    explicit Buffer(const std::vector<T> &from) : Buffer(from.size()) {
        CHECK(cudaMemcpy(data, from.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Buffer() { cudaFree(data); }
    Buffer(const Buffer &) = delete;
    std::vector<T> read() const {
        std::vector<T> out(count);
        CHECK(cudaMemcpy(out.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
        return out;
    }
};
