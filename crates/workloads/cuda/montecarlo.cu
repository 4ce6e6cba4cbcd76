// SPDX-License-Identifier: MIT OR Apache-2.0
// Prices of European call options by simulated prices at maturity. Each thread has a generator of its own (Marsaglia's xorwow) and makes
// normal numbers of it two at a time (Box and Muller); a block prices one option after another and adds up payoffs and their squares.

#define BLOCK 256

typedef unsigned int uint;

struct State {
    uint x, y, z, w, v, count;
};

struct Option {
    float price, strike, drift, spread;
};

static __device__ __forceinline__ uint mixed(uint n)
{
    n ^= n >> 16;
    n *= 0x7feb352du;
    n ^= n >> 15;
    n *= 0x846ca68bu;
    return n ^ (n >> 16);
}

extern "C" __global__ void montecarlo_setup(State *states, uint seed)
{
    uint t = blockIdx.x * BLOCK + threadIdx.x;
    uint from = mixed(seed ^ mixed(t));
    State own;
    own.x = mixed(from + 1);
    own.y = mixed(from + 2);
    own.z = mixed(from + 3);
    own.w = mixed(from + 4);
    own.v = mixed(from + 5) | 1;
    own.count = from;
    states[t] = own;
}

static __device__ __forceinline__ uint draw(State &own)
{
    uint t = own.x ^ (own.x >> 2);
    own.x = own.y;
    own.y = own.z;
    own.z = own.w;
    own.w = own.v;
    own.v = (own.v ^ (own.v << 4)) ^ (t ^ (t << 1));
    own.count += 362437;
    return own.v + own.count;
}

// A number in (0, 1].
static __device__ __forceinline__ float unit(uint bits)
{
    return (bits | 1) * (1.0f / 4294967296.0f);
}

static __device__ __forceinline__ float payoff(Option option, float normal)
{
    return fmaxf(option.price * __expf(option.drift + option.spread * normal) - option.strike, 0.0f);
}

extern "C" __global__ void montecarlo_price(const State *__restrict__ states, const Option *__restrict__ options,
                                            float2 *__restrict__ sums, int count, int paths)
{
    __shared__ float first[BLOCK];
    __shared__ float second[BLOCK];
    int t = threadIdx.x;
    State own = states[blockIdx.x * BLOCK + t];
#pragma unroll 1
    for (int at = blockIdx.x; at < count; at += gridDim.x) {
        Option option = options[at];
        float sum = 0.0f, squares = 0.0f;
#pragma unroll 1
        for (int path = 2 * t; path < paths; path += 2 * BLOCK) {
            float radius = sqrtf(-2.0f * __logf(unit(draw(own))));
            float angle = unit(draw(own)) * 6.283185307f - 3.141592654f;
            float one = payoff(option, radius * __sinf(angle)), other = payoff(option, radius * __cosf(angle));
            sum += one + other;
            squares += one * one + other * other;
        }
        first[t] = sum;
        second[t] = squares;
#pragma unroll 1
        for (int half = BLOCK / 2; half > 0; half >>= 1) {
            __syncthreads();
            if (t < half) {
                first[t] += first[t + half];
                second[t] += second[t + half];
            }
        }
        if (t == 0)
            sums[at] = make_float2(first[0], second[0]);
        __syncthreads();
    }
}
