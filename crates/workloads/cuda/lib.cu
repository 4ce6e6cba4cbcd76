// SPDX-License-Identifier: MIT OR Apache-2.0
// Monte Carlo pricing of a portfolio of swaptions in the LIBOR market model, one path a thread. The first kernel
// also finds the sensitivity to the initial rates by the adjoint method, for which it keeps the rates of every
// time step in local memory; the second only prices.

#define MAX_RATES 80
#define MAX_STEPS 40
#define MAX_OPTIONS 16

__constant__ int rate_count;   // forward rates
__constant__ int step_count;   // time steps to the first exercise
__constant__ int option_count; // swaptions
__constant__ float delta;      // years a period
__constant__ float lambda[MAX_RATES];
__constant__ int maturities[MAX_OPTIONS];
__constant__ float swaprates[MAX_OPTIONS];

// One time step: the rates not fixed yet move by their drift and the step's random number.
static __device__ __forceinline__ void advance(float *rates, int n, float z)
{
    float shock = sqrtf(delta) * z;
    float drift = 0.0f;
#pragma unroll 1
    for (int i = n + 1; i < rate_count; i++) {
        float lam = lambda[i - n - 1];
        float con = delta * lam;
        float rate = rates[i];
        drift += __fdividef(con * rate, 1.0f + delta * rate);
        rates[i] = rate * __expf(con * drift + lam * (shock - 0.5f * con));
    }
}

// Value of the portfolio at the last step, discounted to now. `bond` and `annuity` are the prices of a
// zero-coupon bond and of a stream of payments, each by its maturity.
static __device__ __forceinline__ float portfolio(const float *rates, float *bond, float *annuity)
{
    float b = 1.0f, s = 0.0f;
#pragma unroll 1
    for (int n = step_count; n < rate_count; n++) {
        b = __fdividef(b, 1.0f + delta * rates[n]);
        s += delta * b;
        bond[n] = b;
        annuity[n] = s;
    }
    float v = 0.0f;
#pragma unroll 1
    for (int i = 0; i < option_count; i++) {
        int m = maturities[i] + step_count - 1;
        float swap = bond[m] + swaprates[i] * annuity[m] - 1.0f;
        if (swap < 0.0f)
            v -= 100.0f * swap;
    }
#pragma unroll 1
    for (int n = 0; n < step_count; n++)
        v = __fdividef(v, 1.0f + delta * rates[n]);
    return v;
}

// The adjoint of `portfolio`: fills `adjoint` with the derivative of the value by each final rate.
static __device__ __forceinline__ float portfolio_adjoint(const float *rates, float *adjoint, float *bond,
                                                          float *annuity)
{
    float v = portfolio(rates, bond, annuity);
    float discount = 1.0f;
#pragma unroll 1
    for (int n = 0; n < step_count; n++) {
        float factor = __fdividef(1.0f, 1.0f + delta * rates[n]);
        discount *= factor;
        adjoint[n] = -delta * factor * v;
    }
    float bond_adjoint[MAX_RATES], annuity_adjoint[MAX_RATES];
#pragma unroll 1
    for (int n = step_count; n < rate_count; n++) {
        bond_adjoint[n] = 0.0f;
        annuity_adjoint[n] = 0.0f;
    }
#pragma unroll 1
    for (int i = 0; i < option_count; i++) {
        int m = maturities[i] + step_count - 1;
        float swap = bond[m] + swaprates[i] * annuity[m] - 1.0f;
        if (swap < 0.0f) {
            bond_adjoint[m] -= 100.0f * discount;
            annuity_adjoint[m] -= 100.0f * discount * swaprates[i];
        }
    }
    float b = 0.0f, s = 0.0f;
#pragma unroll 1
    for (int n = rate_count - 1; n >= step_count; n--) {
        float factor = __fdividef(1.0f, 1.0f + delta * rates[n]);
        s += annuity_adjoint[n];
        b += bond_adjoint[n] + delta * s;
        adjoint[n] = -b * bond[n] * delta * factor;
        b *= factor;
    }
    return v;
}

extern "C" __global__ void lib_greeks(const float *__restrict__ z, const float *__restrict__ initial,
                                      float *__restrict__ value, float *__restrict__ sensitivity, int paths)
{
    float rates[MAX_RATES], adjoint[MAX_RATES], bond[MAX_RATES], annuity[MAX_RATES];
    float history[(MAX_STEPS + 1) * MAX_RATES];
    int threads = gridDim.x * blockDim.x;

#pragma unroll 1
    for (int path = blockIdx.x * blockDim.x + threadIdx.x; path < paths; path += threads) {
#pragma unroll 1
        for (int i = 0; i < rate_count; i++)
            history[i] = rates[i] = initial[i];
#pragma unroll 1
        for (int n = 0; n < step_count; n++) {
            advance(rates, n, z[n]);
            float *kept = history + (n + 1) * rate_count;
#pragma unroll 1
            for (int i = n + 1; i < rate_count; i++)
                kept[i] = rates[i];
        }
        value[path] = portfolio_adjoint(rates, adjoint, bond, annuity);

#pragma unroll 1
        for (int n = step_count - 1; n >= 0; n--) {
            const float *before = history + n * rate_count, *after = before + rate_count;
            float carried = 0.0f;
#pragma unroll 1
            for (int i = rate_count - 1; i > n; i--) {
                float lam = lambda[i - n - 1];
                carried += lam * after[i] * adjoint[i];
                float factor = __fdividef(delta, 1.0f + delta * before[i]);
                adjoint[i] = adjoint[i] * __fdividef(after[i], before[i]) + carried * lam * factor * factor;
            }
        }
        float sum = 0.0f;
#pragma unroll 1
        for (int i = 0; i < rate_count; i++)
            sum += adjoint[i];
        sensitivity[path] = sum;
    }
}

extern "C" __global__ void lib_price(const float *__restrict__ z, const float *__restrict__ initial,
                                     float *__restrict__ value, int paths)
{
    float rates[MAX_RATES], bond[MAX_RATES], annuity[MAX_RATES];
    int threads = gridDim.x * blockDim.x;

#pragma unroll 1
    for (int path = blockIdx.x * blockDim.x + threadIdx.x; path < paths; path += threads) {
#pragma unroll 1
        for (int i = 0; i < rate_count; i++)
            rates[i] = initial[i];
#pragma unroll 1
        for (int n = 0; n < step_count; n++)
            advance(rates, n, z[n]);
        value[path] = portfolio(rates, bond, annuity);
    }
}
