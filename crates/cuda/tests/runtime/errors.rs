// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors, the device's properties, and what a fault leaves behind.

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use warpwatt_cuda::abi::runtime::Dim3;
use warpwatt_cuda::rt::absent::cudaIpcGetMemHandle;
use warpwatt_cuda::rt::device::*;
use warpwatt_cuda::rt::error::*;
use warpwatt_cuda::rt::event::cudaDeviceSynchronize;
use warpwatt_cuda::rt::launch::cudaLaunchKernel;
use warpwatt_cuda::rt::memory::{cudaFree, cudaMalloc};
use warpwatt_cuda::rt::peer::*;
use warpwatt_cuda::rt::register::{
    __cudaRegisterFatBinary, __cudaRegisterFunction, __cudaUnregisterFatBinary,
};

use crate::launches::{download, upload};
use crate::*;

const ONE: Dim3 = Dim3 { x: 1, y: 1, z: 1 };

#[test]
fn the_last_error_is_the_threads_own() {
    let _turn = device();
    cudaGetLastError();
    unsafe { assert_eq!(cudaMalloc(null_mut(), 4), INVALID_VALUE) };
    std::thread::spawn(|| assert_eq!(cudaPeekAtLastError(), OK)).join().unwrap();
    assert_eq!(cudaPeekAtLastError(), INVALID_VALUE);
    assert_eq!(cudaGetLastError(), INVALID_VALUE);
    assert_eq!(cudaGetLastError(), OK);
    assert_eq!(cudaIpcGetMemHandle(), 801);
    assert_eq!(cudaGetLastError(), 801);
    let text = |words| unsafe { CStr::from_ptr(words) };
    assert_eq!(text(cudaGetErrorName(2)), c"cudaErrorMemoryAllocation");
    assert_eq!(text(cudaGetErrorString(0)), c"no error");
    assert_eq!(text(cudaGetErrorName(31337)), c"unrecognized error code");
}

#[test]
fn properties_are_the_attributes() {
    let _turn = device();
    let (mut count, mut current, mut multiprocessors) = (0, 9, 0);
    let mut old = vec![0u8; 728];
    let mut new = vec![0u8; 1008];
    unsafe {
        assert_eq!(cudaGetDeviceCount(&mut count), OK);
        assert_eq!(cudaSetDevice(0), OK);
        assert_eq!(cudaSetDevice(1), 101);
        assert_eq!(cudaGetDevice(&mut current), OK);
        assert_eq!((count, current), (1, 0));
        assert_eq!(cudaDeviceGetAttribute(&mut multiprocessors, 16, 0), OK);
        assert_eq!(cudaDeviceGetAttribute(&mut current, -5, 0), INVALID_VALUE);
        assert_eq!(cudaGetDeviceProperties_11(old.as_mut_ptr(), 0), OK);
        assert_eq!(cudaGetDeviceProperties_13(new.as_mut_ptr(), 0), OK);
        assert_eq!(cudaGetDeviceProperties_13(null_mut(), 0), INVALID_VALUE);
        assert_eq!(cudaGetDeviceProperties_13(new.as_mut_ptr(), 3), 101);
        let int = |bytes: &[u8], at: usize| i32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        assert!(multiprocessors > 0);
        assert_eq!((int(&old, 388), int(&new, 384)), (multiprocessors, multiprocessors));
        assert_eq!((int(&old, 360), int(&old, 364)), (7, 5));
        let mut versions = [0; 4];
        assert_eq!(cudaRuntimeGetVersion_11(&mut versions[0]), OK);
        assert_eq!(cudaRuntimeGetVersion_12(&mut versions[1]), OK);
        assert_eq!(cudaRuntimeGetVersion_13(&mut versions[2]), OK);
        assert_eq!(cudaDriverGetVersion(&mut versions[3]), OK);
        assert_eq!(versions, [11080, 12090, 13040, 13040]);
        assert_eq!(cudaDriverGetVersion(null_mut()), INVALID_VALUE);
        let (mut access, mut value) = (9, 0);
        assert_eq!(cudaDeviceCanAccessPeer(&mut access, 0, 0), OK);
        assert_eq!(access, 0);
        assert_eq!(cudaDeviceEnablePeerAccess(1, 0), 101);
        assert_eq!(cudaDeviceSetLimit(2, 1 << 20), OK);
        assert_eq!(cudaDeviceGetLimit(&mut value, 2), OK);
        assert_eq!(value, 1 << 20);
        assert_eq!(cudaDeviceSetLimit(99, 1), INVALID_VALUE);
        let (mut entry, mut status) = (0, 9);
        assert_eq!(cudaGetDriverEntryPoint_13(c"cuInit".as_ptr(), &mut entry, 0, &mut status), OK);
        assert!(entry != 0 && status == 0);
        assert_eq!(cudaGetDriverEntryPoint_13(c"cuNothing".as_ptr(), &mut entry, 0, &mut status), OK);
        assert_eq!((entry, status), (0, 1));
        assert_eq!(cudaGetDriverEntryPoint_11(null(), &mut entry, 0), INVALID_VALUE);
    }
}

#[test]
fn a_unit_without_ptx_is_refused_and_can_be_taken_back() {
    let _turn = device();
    static KERNEL: u8 = 0;
    let host = (&raw const KERNEL) as u64;
    // Machine code: the start of an ELF file.
    let mut image = [0u8; 64];
    image[..4].copy_from_slice(b"\x7fELF");
    let mut wrapper = Wrapper { magic: 0x4662_43B1, version: 1, data: image.as_ptr().cast(), name: null() };
    let none = null_mut::<c_void>();
    unsafe {
        let unit = __cudaRegisterFatBinary((&raw mut wrapper).cast());
        let (kernel, name) = (host as *const c_void, c"kernel".as_ptr());
        __cudaRegisterFunction(unit, kernel, none.cast(), name, -1, none, none, none, none, null_mut());
        for _ in 0..2 {
            assert_eq!(cudaLaunchKernel(host, ONE, ONE, null(), 0, 0), 209);
        }
        __cudaUnregisterFatBinary(unit);
        assert_eq!(cudaLaunchKernel(host, ONE, ONE, null(), 0, 0), 98);
        __cudaUnregisterFatBinary(null_mut());
    }
}

#[test]
fn a_fault_stays_until_the_device_is_reset() {
    let _turn = device();
    cudaGetLastError();
    let nowhere = 0x10u64;
    let args = [(&raw const nowhere).cast::<c_void>()];
    unsafe {
        assert_eq!(cudaLaunchKernel(host!(poke), ONE, ONE, args.as_ptr(), 0, 0), OK);
        assert_eq!(cudaGetLastError(), OK, "the launch itself was fine");
        assert_eq!(cudaDeviceSynchronize(), 700);
        assert_eq!(cudaGetLastError(), 700);
        assert_eq!(cudaGetLastError(), 700, "no call gets around it");
        let mut at = 0;
        assert_eq!(cudaMalloc(&mut at, 4), 700);
        assert_eq!(cudaDeviceReset(), OK);
        cudaGetLastError();
        assert_eq!(cudaGetLastError(), OK);
        // The module is loaded again, behind the same host addresses.
        let (at, n) = (upload([1, 1, 1, 1]), 2u32);
        let args = [(&raw const at).cast::<c_void>(), (&raw const n).cast()];
        let four = Dim3 { x: 4, ..ONE };
        assert_eq!(cudaLaunchKernel(host!(add), ONE, four, args.as_ptr(), 0, 0), OK);
        assert_eq!(download(at), [5; 4]);
        assert_eq!(cudaFree(at), OK);
    }
}

#[test]
fn set_device_makes_the_primary_context_for_the_driver_api() {
    let _turn = device();
    std::thread::spawn(|| {
        let get = |device: &mut i32| {
            warpwatt_cuda::driver::context::cuCtxGetDevice(warpwatt_cuda::driver::Out::from(device))
        };
        let mut device = 9;
        assert_eq!(get(&mut device), 201, "a new thread has no context");
        assert_eq!(unsafe { warpwatt_cuda::rt::device::cudaSetDevice(0) }, OK);
        assert_eq!((get(&mut device), device), (0, 0));
    })
    .join()
    .unwrap();
}
