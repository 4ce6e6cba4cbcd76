// SPDX-License-Identifier: MIT OR Apache-2.0
// Arithmetic: rounding modes, halves, brain floats, 64- and 128-bit integers, intrinsics, inline assembly.
#include <cuda_fp16.h>
#if defined(WITH_BF16)
#include <cuda_bf16.h>
#endif

extern "C" __global__ void floats(float *f, double *d) {
    float a = f[0], b = f[1]; double x = d[0], y = d[1];
    f[2] = __fadd_rn(a, b) + __fmul_rz(a, b) - __fdiv_ru(a, b) + __fsqrt_rd(a) + __frcp_rn(b) + __fmaf_ru(a, b, 1.0f);
    f[3] = sinf(a) + __cosf(b) + expf(a) + __logf(b) + powf(a, b) + rsqrtf(a) + fmodf(a, b) + tanhf(a) + erff(b);
    f[4] = __saturatef(a) + fminf(a, b) + fabsf(b) + floorf(a) + rintf(b) + truncf(a) + ceilf(b) + copysignf(a, b);
    d[2] = x / y + sqrt(x) + __dadd_rz(x, y) + __ddiv_rd(x, y) + fma(x, y, 0.1) + sin(x) + exp(y) + log(x) + pow(x, y) + 1.0 / x;
    d[3] = __int2double_rn(__double2int_rz(x)) + __double2float_ru(y) + __ll2double_rd(__double2ll_rn(x)) + (isnan(x) ? 1e-300 : 2.5);
}
extern "C" __global__ void integers(int *i, unsigned *u, long long *l, unsigned long long *w) {
    i[4] = i[0] / i[1] + i[2] % i[3] + __mulhi(i[0], i[1]) + __mul24(i[0], i[1]) + __sad(i[0], i[1], u[2]) + min(i[0], i[1]) + abs(i[2]);
    u[4] = u[0] / 7 + u[1] % u[2] + __umulhi(u[0], u[1]) + __byte_perm(u[0], u[1], 0x4321) + __funnelshift_l(u[0], u[1], u[2]);
    u[5] = __vadd4(u[0], u[1]) + __vabsdiffu2(u[0], u[1]) + __vcmpeq4(u[0], u[1]) + __vmaxs2(u[0], u[1]) + __uhadd(u[0], u[1]);
#if __CUDA_ARCH__ >= 610
    i[5] = __dp4a(i[0], i[1], i[2]) + __dp2a_lo(i[0], i[1], i[2]); u[6] = __dp4a(u[0], u[1], u[2]);
#endif
    l[4] = l[0] / l[1] + l[2] % l[3] + __mul64hi(l[0], l[1]) + (l[0] << u[0]) + (l[1] >> u[1]);
    w[4] = w[0] / w[1] + __umul64hi(w[0], w[1]) + __popcll(w[0]) + __clzll(w[1]) + __brevll(w[2]) + __ffsll(w[3]);
#if defined(__SIZEOF_INT128__)
    unsigned __int128 big = static_cast<unsigned __int128>(w[0]) * w[1] + w[2]; w[5] = big >> 64; w[6] = big / w[3];
#endif
}
#if __CUDA_ARCH__ >= 530 || !defined(__CUDA_ARCH__)
extern "C" __global__ void halves(__half *h, __half2 *h2, float *f) {
    h[2] = __hadd(h[0], h[1]) * __hfma(h[0], h[1], __float2half(1.5f)) + hsqrt(h[0]) + hexp(h[1]);
    h2[2] = __hadd2(h2[0], __hmul2(h2[1], __floats2half2_rn(f[0], f[1])));
    f[2] = __half2float(h[2]) + __low2float(h2[2]) + (__hlt(h[0], h[1]) ? 1.0f : 2.0f) + __half2int_rn(h[1]);
}
#endif
#if defined(WITH_BF16)
extern "C" __global__ void brains(__nv_bfloat16 *b, __nv_bfloat162 *b2, float *f) {
    b[2] = __hadd(b[0], b[1]) * b[2] + __float2bfloat16(f[0]);
    b2[2] = __hfma2(b2[0], b2[1], b2[2]);
    f[1] = __bfloat162float(b[2]) + __bfloat162float(__hmax(b[0], b[1]));
}
#endif
extern "C" __global__ void assembly(unsigned *u, unsigned long long *w, float *f) {
    unsigned lo, hi;
    asm("add.cc.u32 %0, %2, %3;\n\taddc.u32 %1, %4, %5;" : "=r"(lo), "=r"(hi) : "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]));
    asm("{\n\t.reg .pred p, q;\n\t.reg .b32 t<3>;\n\tsetp.lt.u32 p|q, %1, %2;\n\tselp.b32 t1, %1, %2, p;\n\t@!q mov.b32 t1, 0x7F;\n\t"
        "{ .reg .u32 t1; mov.u32 t1, WARP_SZ; add.u32 t2, t1, (1 << 4) + 3; }\n\tadd.u32 %0, t1, t2;\n\t}" : "=r"(u[4]) : "r"(lo), "r"(hi));
    asm("vadd.s32.u32.s32.sat %0, %1.b0, %2.h1;" : "=r"(u[5]) : "r"(lo), "r"(hi));
    asm("vmad.u32.u32.u32.shr7 %0, %1.b2, -%2.b3, %3;" : "=r"(u[6]) : "r"(lo), "r"(hi), "r"(lo));
    asm("mov.b64 {%0, _}, %1;" : "=r"(u[7]) : "l"(w[0]));
    asm("bfi.b32 %0, %1, %2, 4, 8;" : "=r"(u[8]) : "r"(lo), "r"(hi));
    asm("{ .reg .pred p0; testp.subnormal.f32 p0, %1; selp.u32 %0, 1, 0, p0; }" : "=r"(u[9]) : "f"(f[0]));
    asm volatile("prefetch.global.L2 [%0+128]; st.global.cs.v2.u32 [%0+-8], {%1, 3};" :: "l"(w), "r"(lo) : "memory");
    asm("lop3.b32 %0, %1, %2, %1, 0xE8; prmt.b32.b4e %0, %0, %1, %2;" : "=r"(u[10]) : "r"(lo), "r"(hi));
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, _, %2}, [%3];" : "=f"(f[1]), "=f"(f[2]), "=f"(f[3]) : "l"(f));
}
