// SPDX-License-Identifier: MIT OR Apache-2.0
// Monte Carlo pricing of a portfolio of swaptions in the LIBOR market model, one path a thread. The first kernel
// also finds the sensitivity to the initial rates by the adjoint method, for which it keeps the rates of every
// time step in local memory; the second only prices. All counts are at least 1 and there are fewer steps than
// rates, so loops test at their end.

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
    int i = n + 1;
#pragma unroll 1
    do {
        float lam = lambda[i - n - 1];
        float con = delta * lam;
        float rate = rates[i];
        drift += __fdividef(con * rate, 1.0f + delta * rate);
        rates[i] = rate * __expf(con * drift + lam * (shock - 0.5f * con));
    } while (++i < rate_count);
}

// Prices at the last step of a zero-coupon bond and of a stream of payments, each by its maturity.
static __device__ __forceinline__ void discount_curve(const float *rates, float *bond, float *annuity)
{
    float b = 1.0f, s = 0.0f;
    int n = step_count;
#pragma unroll 1
    do {
        b = __fdividef(b, 1.0f + delta * rates[n]);
        s += delta * b;
        bond[n] = b;
        annuity[n] = s;
    } while (++n < rate_count);
}

static __device__ __forceinline__ float swap_value(const float *bond, const float *annuity, int option)
{
    int m = maturities[option] + step_count - 1;
    return bond[m] + swaprates[option] * annuity[m] - 1.0f;
}

// `v` at the last step, discounted to now.
static __device__ __forceinline__ float discounted(float v, const float *rates)
{
    int n = 0;
#pragma unroll 1
    do
        v = __fdividef(v, 1.0f + delta * rates[n]);
    while (++n < step_count);
    return v;
}

// Value of the portfolio.
static __device__ __forceinline__ float portfolio(const float *rates, float *bond, float *annuity)
{
    discount_curve(rates, bond, annuity);
    float v = 0.0f;
    int i = 0;
#pragma unroll 1
    do
        v -= 100.0f * fminf(swap_value(bond, annuity, i), 0.0f);
    while (++i < option_count);
    return discounted(v, rates);
}

// Value of the portfolio, and in `adjoint` its derivative by each final rate.
static __device__ __forceinline__ float portfolio_adjoint(const float *rates, float *adjoint, float *bond,
                                                          float *annuity)
{
    float bond_adjoint[MAX_RATES], annuity_adjoint[MAX_RATES];
    discount_curve(rates, bond, annuity);
    int n = step_count;
#pragma unroll 1
    do {
        bond_adjoint[n] = 0.0f;
        annuity_adjoint[n] = 0.0f;
    } while (++n < rate_count);

    float v = 0.0f;
    int i = 0;
#pragma unroll 1
    do {
        float swap = swap_value(bond, annuity, i);
        if (swap < 0.0f) {
            int m = maturities[i] + step_count - 1;
            v -= 100.0f * swap;
            bond_adjoint[m] -= 100.0f;
            annuity_adjoint[m] -= 100.0f * swaprates[i];
        }
    } while (++i < option_count);

    float discount = discounted(1.0f, rates);
    v *= discount;
    n = 0;
#pragma unroll 1
    do
        adjoint[n] = __fdividef(-delta * v, 1.0f + delta * rates[n]);
    while (++n < step_count);

    float b = 0.0f, s = 0.0f;
    n = rate_count;
#pragma unroll 1
    do {
        n--;
        float factor = __fdividef(1.0f, 1.0f + delta * rates[n]);
        s += annuity_adjoint[n];
        b += bond_adjoint[n] + delta * s;
        adjoint[n] = -discount * b * bond[n] * delta * factor;
        b *= factor;
    } while (n > step_count);
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
        int i = 0;
#pragma unroll 1
        do
            history[i] = rates[i] = initial[i];
        while (++i < rate_count);

        int n = 0;
#pragma unroll 1
        do {
            advance(rates, n, z[n]);
            float *kept = history + (n + 1) * rate_count;
            i = n + 1;
#pragma unroll 1
            do
                kept[i] = rates[i];
            while (++i < rate_count);
        } while (++n < step_count);
        value[path] = portfolio_adjoint(rates, adjoint, bond, annuity);

        // Back through the time steps.
        do {
            n--;
            const float *before = history + n * rate_count, *after = before + rate_count;
            float carried = 0.0f;
            i = rate_count - 1;
#pragma unroll 1
            do {
                float lam = lambda[i - n - 1];
                carried += lam * after[i] * adjoint[i];
                float factor = __fdividef(delta, 1.0f + delta * before[i]);
                adjoint[i] = adjoint[i] * __fdividef(after[i], before[i]) + carried * lam * factor * factor;
            } while (--i > n);
        } while (n > 0);

        float sum = 0.0f;
        i = 0;
#pragma unroll 1
        do
            sum += adjoint[i];
        while (++i < rate_count);
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
        int i = 0;
#pragma unroll 1
        do
            rates[i] = initial[i];
        while (++i < rate_count);
        int n = 0;
#pragma unroll 1
        do
            advance(rates, n, z[n]);
        while (++n < step_count);
        value[path] = portfolio(rates, bond, annuity);
    }
}
