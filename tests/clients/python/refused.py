# SPDX-License-Identifier: MIT OR Apache-2.0
"""A kernel with a tensor-core instruction, which is not simulated: the driver's sentence for the error, which Python packages put into their
exceptions, says which instruction it is, where, and what to do."""

import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
PTX = b"""\
.version 7.8
.target sm_80
.address_size 64
.visible .entry product(.param .u64 out)
{
    .reg .b32 %r<8>;
    .reg .f32 %f<8>;
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [out];
    mov.b32 %r1, 0;
    mov.b32 %r2, 0;
    mov.b32 %r3, 0;
    mov.f32 %f1, 0f00000000;
    mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f2,%f3,%f4,%f5}, {%r1,%r1,%r1,%r1}, {%r2,%r3}, {%f1,%f1,%f1,%f1};
    st.global.f32 [%d1], %f2;
    ret;
}
\0"""


def ok(code):
    assert code == 0, f"the driver answers {code}"


ok(cuda.cuInit(0))
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
ok(cuda.cuCtxSetCurrent(context))
ok(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
ok(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"product"))
out = ctypes.c_uint64(0)
arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(out), ctypes.c_void_p))
code = cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None)
assert code == 218, f"the driver answers {code}"
text = ctypes.c_char_p()
ok(cuda.cuGetErrorString(code, ctypes.byref(text)))
print(text.value.decode())
