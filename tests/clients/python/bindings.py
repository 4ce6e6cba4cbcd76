# SPDX-License-Identifier: MIT OR Apache-2.0
"""cuda-python with NVRTC: a vector sum compiled at run time, on a stream, against numpy."""

import numpy as np
from cuda.bindings import driver, nvrtc

SOURCE = r"""
extern "C" __global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""


def ok(answer):
    code, *rest = answer
    assert int(code) == 0, f"{type(code).__name__} {code}"
    return rest[0] if len(rest) == 1 else rest


ok(driver.cuInit(0))
device = ok(driver.cuDeviceGet(0))
name = ok(driver.cuDeviceGetName(64, device)).split(b"\0")[0].decode()
attribute = driver.CUdevice_attribute
major = ok(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))
minor = ok(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))
context = ok(driver.cuDevicePrimaryCtxRetain(device))
ok(driver.cuCtxSetCurrent(context))

program = ok(nvrtc.nvrtcCreateProgram(SOURCE.encode(), b"add.cu", 0, [], []))
options = [f"--gpu-architecture=compute_{major}{minor}".encode()]
ok(nvrtc.nvrtcCompileProgram(program, len(options), options))
ptx = b" " * ok(nvrtc.nvrtcGetPTXSize(program))
ok(nvrtc.nvrtcGetPTX(program, ptx))
module = ok(driver.cuModuleLoadData(ptx))
add = ok(driver.cuModuleGetFunction(module, b"add"))

n = 3000
rng = np.random.default_rng(1)
a, b = rng.random(n, dtype=np.float32), rng.random(n, dtype=np.float32)
c = np.zeros(n, dtype=np.float32)
pa, pb, pc = (ok(driver.cuMemAlloc(a.nbytes)) for _ in range(3))
stream = ok(driver.cuStreamCreate(0))
ok(driver.cuMemcpyHtoDAsync(pa, a.ctypes.data, a.nbytes, stream))
ok(driver.cuMemcpyHtoDAsync(pb, b.ctypes.data, b.nbytes, stream))
values = [np.array([int(p)], dtype=np.uint64) for p in (pa, pb, pc)] + [np.array([n], dtype=np.int32)]
pointers = np.array([v.ctypes.data for v in values], dtype=np.uint64)
ok(driver.cuLaunchKernel(add, (n + 255) // 256, 1, 1, 256, 1, 1, 0, stream, pointers.ctypes.data, 0))
ok(driver.cuMemcpyDtoHAsync(c.ctypes.data, pc, c.nbytes, stream))
ok(driver.cuStreamSynchronize(stream))
assert np.array_equal(c, a + b)

ok(driver.cuStreamDestroy(stream))
for p in (pa, pb, pc):
    ok(driver.cuMemFree(p))
ok(driver.cuModuleUnload(module))
ok(driver.cuDevicePrimaryCtxRelease(device))
print(f"bindings: the sum is right on {name} ({major}.{minor})")
