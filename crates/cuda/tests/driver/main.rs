// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver API as a C program calls it, function by function, on a functional device. One process has one device, so tests
//! take turns.

mod copies;
mod events;
mod graphs;
mod images;
mod kernels;
mod lookup;
mod memory;
mod random_graphs;
mod setup;

use warpwatt_cuda::driver::context::*;
use warpwatt_cuda::driver::device::*;
use warpwatt_cuda::driver::entry::*;
use warpwatt_cuda::driver::{Out, Text};

use setup::{INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, ok, ready};

#[test]
fn the_device_tells_what_it_is() {
    let _turn = ready();
    let (mut version, mut count, mut device, mut value) = (0, 0, -1, 0);
    ok(cuDriverGetVersion(Out::from(&mut version)));
    assert_eq!(version, 13040);
    ok(cuDeviceGetCount(Out::from(&mut count)));
    ok(cuDeviceGet(Out::from(&mut device), 0));
    assert_eq!((count, device), (1, 0));
    let expected = [(1, 1024), (10, 32), (16, 15), (75, 7), (76, 5), (82, 32768), (97, 48 << 10), (102, 0)];
    for (attribute, expected) in expected {
        ok(cuDeviceGetAttribute(Out::from(&mut value), attribute, 0));
        assert_eq!(value, expected, "attribute {attribute}");
    }
    assert_eq!(cuDeviceGetAttribute(Out::from(&mut value), 0, 0), INVALID_VALUE);
    assert_eq!(cuDeviceGetAttribute(Out::from(&mut value), 4000, 0), INVALID_VALUE);
    assert_eq!(cuDeviceGetAttribute(Out::from(&mut value), 16, 1), INVALID_DEVICE);
    assert_eq!(cuDeviceGetAttribute(Out::NULL, 16, 0), INVALID_VALUE);
    assert_eq!(cuDeviceGet(Out::from(&mut device), 1), INVALID_DEVICE);

    let mut name = [1; 12];
    ok(cuDeviceGetName(Out::from(&mut name[0]), 9, 0));
    let written = name.map(|c| c as u8);
    assert_eq!(&written[..10], b"warpwatt\0\x01", "cut off, ended, and nothing written behind");
    let mut uuid = [0; 16];
    ok(cuDeviceGetUuid_v2(Out::from(&mut uuid), 0));
    assert_ne!(uuid, [0; 16]);
    let mut bytes = 0;
    ok(cuDeviceTotalMem_v2(Out::from(&mut bytes), 0));
    assert!(bytes > 1 << 30);
    ok(cuDeviceGetByPCIBusId(Out::from(&mut device), Text::from(c"0000:01:00.0")));
    assert_eq!(cuDeviceGetByPCIBusId(Out::from(&mut device), Text::from(c"0000:02:00.0")), INVALID_DEVICE);
}

#[test]
fn errors_have_names_and_sentences() {
    let mut text = 0;
    ok(cuGetErrorName(700, Out::from(&mut text)));
    assert_eq!(Text::at(text).get().unwrap(), "CUDA_ERROR_ILLEGAL_ADDRESS");
    ok(cuGetErrorString(0, Out::from(&mut text)));
    assert_eq!(Text::at(text).get().unwrap(), "no error");
    assert_eq!(cuGetErrorName(123456, Out::from(&mut text)), INVALID_VALUE);
    assert_eq!(text, 0);
    assert_eq!(cuGetErrorName(1, Out::NULL), INVALID_VALUE);
}

#[test]
fn each_thread_has_a_stack_of_contexts() {
    let _turn = ready();
    let (mut primary, mut made, mut popped, mut now) = (0, 0, 0, 0);
    ok(cuCtxGetCurrent(Out::from(&mut primary)));
    assert_ne!(primary, 0);
    ok(cuCtxCreate_v2(Out::from(&mut made), 0, 0));
    ok(cuCtxGetCurrent(Out::from(&mut now)));
    assert_eq!(now, made);
    std::thread::spawn(|| {
        let mut now = 1;
        ok(cuCtxGetCurrent(Out::from(&mut now)));
        assert_eq!(now, 0, "a new thread has no context");
        assert_eq!(cuCtxSynchronize(), INVALID_CONTEXT);
        assert_eq!(cuCtxPopCurrent_v2(Out::NULL), INVALID_CONTEXT);
    })
    .join()
    .unwrap();
    ok(cuCtxPopCurrent_v2(Out::from(&mut popped)));
    assert_eq!(popped, made);
    ok(cuCtxPushCurrent_v2(made));
    ok(cuCtxSetCurrent(primary));
    assert_eq!(cuCtxPushCurrent_v2(12345), INVALID_CONTEXT);
    ok(cuCtxDestroy_v2(made));
    assert_eq!(cuCtxDestroy_v2(made), INVALID_CONTEXT);
    assert_eq!(cuCtxSetCurrent(made), INVALID_CONTEXT);
    ok(cuCtxGetCurrent(Out::from(&mut now)));
    assert_eq!(now, primary);
    let (mut flags, mut active) = (0, 0);
    ok(cuDevicePrimaryCtxGetState(0, Out::from(&mut flags), Out::from(&mut active)));
    assert_eq!(active, 1);
    assert_eq!(cuDevicePrimaryCtxRetain(Out::from(&mut now), 3), INVALID_DEVICE);
}

#[test]
fn limits_are_kept_and_the_heap_has_an_effect() {
    let _turn = ready();
    const HEAP: u32 = 2;
    let mut value = 0;
    ok(cuCtxSetLimit(HEAP, 16 << 20));
    ok(cuCtxGetLimit(Out::from(&mut value), HEAP));
    assert_eq!(value, 16 << 20);
    assert_eq!(cuCtxGetLimit(Out::from(&mut value), 99), INVALID_VALUE);
    assert_eq!(cuCtxSetLimit(99, 1), INVALID_VALUE);
    assert_eq!(cuCtxGetLimit(Out::NULL, HEAP), INVALID_VALUE);
}
