# SPDX-License-Identifier: MIT OR Apache-2.0
"""cuda.core: compile to PTX, allocate from the device's memory resource, launch, compare with numpy."""

import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
template <class T>
__global__ void scale(T *p, T factor, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) p[i] *= factor;
}
"""

device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
module = Program(SOURCE, code_type="c++", options=options).compile("ptx", name_expressions=("scale<double>",))
kernel = module.get_kernel("scale<double>")

n = 1000
# Pinned memory is seen by both sides, so no copy is needed.
from cuda.core import LegacyPinnedMemoryResource

pinned = LegacyPinnedMemoryResource().allocate(n * 8, stream=stream)
values = np.from_dlpack(pinned).view(np.float64)
values[:] = np.arange(n)
on_device = device.allocate(n * 8, stream=stream)
on_device.copy_from(pinned, stream=stream)
launch(stream, LaunchConfig(grid=(n + 127) // 128, block=128), kernel, on_device, np.float64(2.5), np.uint64(n))
pinned.copy_from(on_device, stream=stream)
stream.sync()
assert np.array_equal(values, np.arange(n) * 2.5)
launch(stream, LaunchConfig(grid=(n + 127) // 128, block=128), kernel, pinned, np.float64(2), np.uint64(n))
stream.sync()
assert np.array_equal(values, np.arange(n) * 5.0)
del values
on_device.close(stream)
pinned.close(stream)
print(f"core: values are right on {device.name}")
