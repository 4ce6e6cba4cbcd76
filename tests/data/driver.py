# SPDX-License-Identifier: MIT OR Apache-2.0
"""A CUDA program with nothing but Python's own library: loads PTX by the driver interface, runs saxpy, checks the result."""

import ctypes
import struct
import sys

N = 4096

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *args):
    code = getattr(cuda, name)(*args)
    if code != 0:
        sys.exit(f"{name} returned {code}")


def main():
    text = open(sys.argv[1], "rb").read() + b"\0"
    device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
    call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(text))
    call("cuModuleGetFunction", ctypes.byref(function), module, b"_Z5saxpyifPKfPf")
    x, y = ctypes.c_uint64(), ctypes.c_uint64()
    for buffer, first in ((x, 1.0), (y, 2.0)):
        call("cuMemAlloc_v2", ctypes.byref(buffer), ctypes.c_size_t(4 * N))
        values = struct.pack(f"{N}f", *(first + i for i in range(N)))
        call("cuMemcpyHtoD_v2", buffer, values, ctypes.c_size_t(4 * N))
    arguments = [ctypes.c_int(N), ctypes.c_float(3.0), x, y]
    pointers = (ctypes.c_void_p * 4)(*(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in arguments))
    call("cuLaunchKernel", function, N // 256, 1, 1, 256, 1, 1, 0, None, pointers, None)
    result = ctypes.create_string_buffer(4 * N)
    call("cuMemcpyDtoH_v2", result, y, ctypes.c_size_t(4 * N))
    expected = struct.pack(f"{N}f", *(3.0 * (1.0 + i) + 2.0 + i for i in range(N)))
    sys.exit(0 if result.raw == expected else "the result is wrong")


main()
