// SPDX-License-Identifier: MIT OR Apache-2.0
// Prices of European options by the formula of Black and Scholes, a grid of threads over all options. The normal distribution is the
// polynomial of Abramowitz and Stegun, 26.2.17.

static __device__ __forceinline__ float normal(float d)
{
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float series = 1.330274429f;
    series = -1.821255978f + k * series;
    series = 1.781477937f + k * series;
    series = -0.356563782f + k * series;
    series = 0.31938153f + k * series;
    float tail = 0.39894228f * __expf(-0.5f * d * d) * (k * series);
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(float *__restrict__ calls, float *__restrict__ puts,
                                         const float *__restrict__ prices, const float *__restrict__ strikes,
                                         const float *__restrict__ years, float riskless, float volatility, int count,
                                         int stride)
{
#pragma unroll 1
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        float price = prices[at], strike = strikes[at], t = years[at];
        float spread = volatility * sqrtf(t);
        float d1 = __fdividef(__logf(__fdividef(price, strike)) + (riskless + 0.5f * volatility * volatility) * t, spread);
        float d2 = d1 - spread;
        float n1 = normal(d1), n2 = normal(d2);
        float discounted = strike * __expf(-riskless * t);
        calls[at] = price * n1 - discounted * n2;
        puts[at] = discounted * (1.0f - n2) - price * (1.0f - n1);
    }
}
