# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels on arrays: values, times, faults, and what arrays may be."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import warpwatt as ww
from conftest import ROOT


def arrays(count=1000):
    return np.arange(count, dtype=np.float32), np.ones(count, dtype=np.float32)


def test_a_kernel_computes_on_arrays(saxpy):
    x, y = arrays()
    record = ww.kernel(saxpy, "saxpy")[4, 256](1000, 2.0, x, y)
    assert (y == 2 * np.arange(1000) + 1).all() and (x == np.arange(1000)).all()
    assert record.status == "complete" and record.cycles > 0 and record.energy_j > 0
    assert record.launches.to_rows()[0]["grid_x"] == 4 and record.name == "saxpy[4, 256]"
    assert repr(ww.kernel(saxpy)[(2, 2), 256]) == "<warpwatt.Launch saxpy[(2, 2), 256]>"


def test_time_is_that_of_a_launch_file(saxpy, recorded):
    x, y = arrays()
    record = ww.kernel(saxpy, "saxpy")[4, 256](1000, 2.0, x, y).to_dict()
    command = recorded("--launch", "examples/saxpy/saxpy.toml")
    for part in ("totals", "energy"):
        assert json.dumps(record[part]) == json.dumps(command[part]).replace("examples/saxpy/", str(ROOT / "examples/saxpy") + "/"), part


def test_a_kernel_is_found_by_any_of_its_names(saxpy):
    for name in (None, "saxpy", "_Z5saxpyifPKfPf", "saxpy(int, float, float const*, float*)"):
        kernel = ww.kernel(saxpy, name)
        assert kernel.name == "saxpy(int, float, float const*, float*)"
    assert kernel.parameters == ["u32", "f32", "u64", "u64"]
    with pytest.raises(ww.InputError, match="did you mean `saxpy`"):
        ww.kernel(saxpy, "saxpi")


def test_a_text_is_as_good_as_a_file(saxpy):
    x, y = arrays()
    ww.kernel(saxpy.read_text(), "saxpy")[(4,), (256, 1, 1)](1000, 2.0, x, y, functional=True)
    assert y[999] == 1999


def test_options_of_a_kernel_hold_for_its_launches(saxpy):
    x, y = arrays()
    kernel = ww.kernel(saxpy, "saxpy", gpu="gtx480-wc", techniques=["warped-compression"], technology="wc45")
    record = kernel[4, 256](1000, 2.0, x, y)
    assert (record.gpu, record.technology) == ("gtx480-wc", "wc45") and "warped-compression" in record.techniques[0]
    assert kernel[4, 256](1000, 2.0, x, y, techniques=[]).techniques == []


def test_launches_are_the_same_every_time(saxpy):
    kernel, runs = ww.kernel(saxpy, "saxpy"), []
    for _ in range(3):
        x, y = arrays()
        document = kernel[4, 256](1000, 2.0, x, y).to_dict()
        del document["host"]
        runs.append(document)
    assert runs[0] == runs[1] == runs[2]


class Interface:
    """An array that has nothing but the array interface."""

    def __init__(self, array):
        self.array, self.__array_interface__ = array, array.__array_interface__


class DLPack:
    """An array that has nothing but DLPack, of the old or the new version."""

    def __init__(self, array, old):
        self.array, self.old = array, old

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        if self.old and options:
            raise TypeError("no options")
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("wrap", [Interface, lambda array: DLPack(array, True), lambda array: DLPack(array, False)])
def test_arrays_of_any_kind(saxpy, wrap):
    x, y = arrays()
    ww.kernel(saxpy)[4, 256](1000, 2.0, wrap(x), wrap(y), functional=True)
    assert (y == 2 * np.arange(1000) + 1).all()


def test_arrays_that_share_memory_share_it_on_the_device(saxpy):
    both = np.ones(1001, dtype=np.float32)
    # y[i] = 2 * x[i] + y[i], where x is y shifted by one: one thread after the other would see results.
    ww.kernel(saxpy)[1, 32](16, 2.0, both[1:], both[:-1], functional=True)
    assert both[:17].tolist() == [3.0] * 16 + [1.0]
    same = np.ones(32, dtype=np.float32)
    ww.kernel(saxpy)[1, 32](32, 2.0, same, same, functional=True)
    assert (same == 3).all()


def test_arrays_without_elements(saxpy):
    empty = np.empty(0, dtype=np.float32)
    assert ww.kernel(saxpy)[1, 32](0, 2.0, empty, empty, functional=True).status == "complete"


def test_numbers_of_numpy_are_numbers(saxpy):
    x, y = arrays()
    ww.kernel(saxpy)[4, 256](np.int64(1000), np.float64(2), x, y, functional=True)
    assert y[999] == 1999


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda x, y: (1000, 2.0, x), "has 4 parameters, and 3 arguments are given"),
        (lambda x, y: (1000, 2.0, x, 3.5), "argument 4 of `saxpy` is 3.5, and the parameter is u64"),
        (lambda x, y: (1000, y, x, y), "argument 2 of `saxpy` is an array, and the parameter is f32"),
        (lambda x, y: (2**40, 2.0, x, y), "does not fit u32"),
        (lambda x, y: ("many", 2.0, x, y), "argument 1 of `saxpy` is of type str"),
        (lambda x, y: (1000, 2.0, x, y[::2]), "argument 4 of `saxpy` is not contiguous"),
        (lambda x, y: (1000, 2.0, x.astype(">f4"), y), "big-endian"),
        (lambda x, y: (1000, 2.0, np.array([None]), y), "elements of type"),
        (lambda x, y: (1000, 2.0, x, read_only(y)), "wrote to argument 4, which is read-only"),
    ],
)
def test_arguments_that_cannot_be_used(saxpy, arguments, message):
    with pytest.raises(ww.UsageError, match=message):
        ww.kernel(saxpy)[4, 256](*arguments(*arrays()), functional=True)


def test_read_only_arrays_may_be_read(saxpy):
    x, y = arrays()
    ww.kernel(saxpy)[4, 256](1000, 2.0, read_only(x), y, functional=True)
    assert y[1] == 3


@pytest.mark.parametrize("functional", [True, False])
def test_a_fault_has_fields(saxpy, functional):
    x, y = arrays()
    with pytest.raises(ww.Fault) as raised:
        ww.kernel(saxpy)[4, 256](1024, 2.0, x, y, functional=functional)
    fault = raised.value
    assert fault.code == "out-of-bounds" and fault.kernel == "saxpy(int, float, float const*, float*)"
    assert fault.file.endswith("saxpy.cu") and fault.line == 7 and "a * x[i] + y[i]" in fault.text
    # Loads may go to the end of the last page of the allocation; x is read first.
    assert fault.thread[0] < 256 and fault.block[0] < 4 and fault.bytes == 4
    assert fault.allocation.startswith("argument ") and "float32[1000]" in fault.allocation
    assert isinstance(fault.address, int) and fault.record.status == "failed"
    assert (y == 1).all(), "arrays stay as they were"


def test_races_are_found_on_request():
    racy = textwrap.dedent("""
        .version 7.0
        .target sm_50
        .address_size 64
        .visible .entry racy(.param .u64 out) {
            .reg .b64 %rd<3>;
            .reg .b32 %r<2>;
            ld.param.u64 %rd1, [out];
            mov.u32 %r1, %tid.x;
            st.global.u32 [%rd1], %r1;
            ret;
        }
    """)
    kernel, out = ww.kernel(racy), np.zeros(1, dtype=np.int32)
    kernel[1, 64](out, functional=True)
    with pytest.raises(ww.Fault) as raised:
        kernel[2, 32](out, functional=True, check="races")
    assert raised.value.code == "global-race" and raised.value.allocation == "argument 1: int32[1]"


def test_ptx_that_cannot_be_used_is_told_with_its_line():
    with pytest.raises(ww.InputError, match="kernel.ptx:3"):
        ww.kernel(".version 7.0\n.target sm_50\n.address_sise 64\n")


def test_a_block_that_does_not_fit_is_refused(saxpy):
    x, y = arrays()
    with pytest.raises(ww.InputError, match="the block has an extent of 2048"):
        ww.kernel(saxpy)[1, 2048](1000, 2.0, x, y)
    with pytest.raises(TypeError):
        ww.kernel(saxpy)[1]


def test_cuda_is_compiled_where_nvrtc_is():
    source = textwrap.dedent("""
        #include <cstdio>
        extern "C" __global__ void scale(double a, double *x, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i == 0) printf("n is %d\\n", n);
            if (i < n) x[i] *= a;
        }
    """)
    try:
        kernel = ww.kernel(source.replace("#include <cstdio>", ""))
    except ww.UsageError as error:
        assert "NVRTC" in str(error) and "pip install" in error.help
        pytest.skip("NVRTC is not installed")
    x = np.arange(10.0)
    record = kernel[1, 32](0.5, x, 10)
    assert (x == np.arange(10) * 0.5).all()
    assert any("x[i] *= a" in (text or "") for text in record.lines["text"])
    with pytest.raises(ww.InputError, match="identifier"):
        ww.kernel("__global__ void wrong() {\n nothing();\n}\n")


PRINTS = """
.version 7.0
.target sm_50
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[11] = {104, 101, 108, 108, 111, 32, 103, 112, 117, 10, 0};
.visible .entry speak() {
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    mov.u64 %rd1, text;
    cvta.global.u64 %rd2, %rd1;
    { .param .b64 p0; .param .b64 p1; .param .b32 r0;
      st.param.b64 [p0], %rd2;
      mov.u64 %rd1, 0;
      st.param.b64 [p1], %rd1;
      call.uni (r0), vprintf, (p0, p1);
      ld.param.b32 %r1, [r0]; }
    ret;
}
"""


def test_what_kernels_print_goes_to_pythons_output(capsys):
    ww.kernel(PRINTS)[1, 2](functional=True)
    assert capsys.readouterr().out == "hello gpu\n" * 2


def test_numpy_is_not_needed(saxpy):
    """Arrays of other packages do; the package itself imports none."""
    script = "import sys, warpwatt as ww; ww.run('vecadd@tiny'); sys.exit('numpy' in sys.modules or 'IPython' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], timeout=600).returncode == 0
