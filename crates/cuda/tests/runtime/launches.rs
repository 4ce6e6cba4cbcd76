// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches, symbols, and what is known of kernels.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use warpwatt_cuda::abi::runtime::{Dim3, FuncAttributes, FuncAttributes12, LaunchAttribute, LaunchConfig};
use warpwatt_cuda::rt::copy::cudaMemcpy;
use warpwatt_cuda::rt::event::cudaDeviceSynchronize;
use warpwatt_cuda::rt::function::*;
use warpwatt_cuda::rt::launch::*;
use warpwatt_cuda::rt::memory::{cudaFree, cudaMalloc};
use warpwatt_cuda::rt::register::*;
use warpwatt_cuda::rt::symbol::*;

use crate::*;

const ONE: Dim3 = Dim3 { x: 1, y: 1, z: 1 };
const FOUR: Dim3 = Dim3 { x: 4, y: 1, z: 1 };

/// Four numbers on the device.
pub fn upload(values: [u32; 4]) -> u64 {
    let mut at = 0;
    unsafe {
        assert_eq!(cudaMalloc(&mut at, 16), OK);
        assert_eq!(cudaMemcpy(at, values.as_ptr() as u64, 16, TO_DEVICE), OK);
    }
    at
}

pub fn download(at: u64) -> [u32; 4] {
    let mut values = [0u32; 4];
    assert_eq!(unsafe { cudaMemcpy(values.as_mut_ptr() as u64, at, 16, TO_HOST) }, OK);
    values
}

#[test]
fn a_kernel_is_launched_the_way_nvcc_13_does_it() {
    let _turn = device();
    let (at, n) = (upload([1, 2, 3, 4]), 10u32);
    let args = [(&raw const at).cast::<c_void>(), (&raw const n).cast()];
    unsafe {
        assert_eq!(__cudaPushCallConfiguration(ONE, FOUR, 0, 0), 0);
        let (mut grid, mut block, mut shared, mut stream) = (FOUR, ONE, 9, 9);
        assert_eq!(__cudaPopCallConfiguration(&mut grid, &mut block, &mut shared, &mut stream), OK);
        assert_eq!((grid.x, block.x, shared, stream), (1, 4, 0, 0));
        assert_eq!(__cudaPopCallConfiguration(&mut grid, &mut block, &mut shared, &mut stream), 52);
        let mut kernel = 0;
        assert_eq!(__cudaGetKernel(&mut kernel, host!(add)), OK);
        assert_eq!(__cudaGetKernel(&mut kernel, host!(stranger)), 98);
        assert_eq!(__cudaLaunchKernel(kernel, grid, block, args.as_ptr(), shared, stream), OK);
        assert_eq!(cudaDeviceSynchronize(), OK);
        assert_eq!(download(at), [13, 16, 19, 22]);
        assert_eq!(cudaFree(at), OK);
    }
}

#[test]
fn launches_that_cannot_be_are_refused() {
    let _turn = device();
    let (at, n) = (upload([0; 4]), 1u32);
    let args = [(&raw const at).cast::<c_void>(), (&raw const n).cast()];
    let huge = Dim3 { x: 2048, y: 1, z: 1 };
    let none = Dim3 { x: 0, y: 1, z: 1 };
    unsafe {
        let launch =
            |function, grid, block, shared| cudaLaunchKernel(function, grid, block, args.as_ptr(), shared, 0);
        assert_eq!(launch(host!(add), ONE, huge, 0), INVALID_CONFIGURATION);
        assert_eq!(launch(host!(add), none, FOUR, 0), INVALID_CONFIGURATION);
        assert_eq!(launch(host!(add), ONE, FOUR, 1 << 30), INVALID_VALUE);
        assert_eq!(launch(host!(stranger), ONE, FOUR, 0), 98, "never registered");
        assert_eq!(launch(host!(missing), ONE, FOUR, 0), 98, "registered, but not in the module");
        assert_eq!(launch(0, ONE, FOUR, 0), 98);
        assert_eq!(cudaLaunchKernel(host!(add), ONE, FOUR, null(), 0, 0), INVALID_VALUE);
        assert_eq!(cudaLaunchKernel(host!(add), ONE, FOUR, args.as_ptr(), 0, 0x1234), INVALID_HANDLE);
        assert_eq!(cudaDeviceSynchronize(), OK);
        assert_eq!(download(at), [0; 4]);
        assert_eq!(cudaFree(at), OK);
    }
}

#[test]
fn attributes_of_a_launch_are_heeded() {
    let _turn = device();
    let (at, n) = (upload([1; 4]), 1u32);
    let args = [(&raw const at).cast::<c_void>(), (&raw const n).cast()];
    let cooperative = LaunchAttribute { id: 2, pad: 0, value: [1, 0, 0, 0, 0, 0, 0, 0] };
    let cluster = LaunchAttribute { id: 4, pad: 0, value: [2 | 1 << 32, 1, 0, 0, 0, 0, 0, 0] };
    let config = |attribute: &LaunchAttribute, grid| LaunchConfig {
        grid,
        block: FOUR,
        shared: 0,
        stream: 0,
        attributes: attribute,
        count: 1,
    };
    let many = Dim3 { x: 60000, y: 1, z: 1 };
    unsafe {
        assert_eq!(cudaLaunchKernelExC(&config(&cooperative, ONE), host!(add), args.as_ptr()), OK);
        assert_eq!(cudaLaunchKernelExC(&config(&cooperative, many), host!(add), args.as_ptr()), 720);
        assert_eq!(cudaLaunchKernelExC(&config(&cluster, ONE), host!(add), args.as_ptr()), 912);
        assert_eq!(cudaLaunchKernelExC(null(), host!(add), args.as_ptr()), INVALID_VALUE);
        assert_eq!(cudaLaunchCooperativeKernel(host!(add), ONE, FOUR, args.as_ptr(), 0, 0), OK);
        assert_eq!(download(at), [13; 4]);
        assert_eq!(cudaFree(at), OK);
    }
}

#[test]
fn symbols_are_found_by_the_hosts_addresses() {
    let _turn = device();
    let (mut at, mut bytes) = (0, 0);
    let mut values = [0u32; 4];
    unsafe {
        assert_eq!(cudaGetSymbolSize(&mut bytes, host!(counter)), OK);
        assert_eq!(bytes, 16);
        assert_eq!(cudaGetSymbolAddress(&mut at, host!(counter)), OK);
        assert_eq!(cudaMemcpyFromSymbol(values.as_mut_ptr() as u64, host!(counter), 16, 0, TO_HOST), OK);
        assert_eq!(values, [5, 6, 7, 8]);
        let new = 99u32;
        assert_eq!(cudaMemcpyToSymbol(host!(counter), (&raw const new) as u64, 4, 4, TO_DEVICE), OK);
        assert_eq!(download(at), [5, 99, 7, 8]);
        assert_eq!(
            cudaMemcpyToSymbol(host!(counter), (&raw const new) as u64, 4, 16, TO_DEVICE),
            INVALID_VALUE
        );
        assert_eq!(cudaMemcpyToSymbol(host!(counter), (&raw const new) as u64, 4, 0, TO_HOST), 21);
        assert_eq!(cudaMemcpyToSymbol(host!(stranger), (&raw const new) as u64, 4, 0, TO_DEVICE), 13);
        assert_eq!(cudaGetSymbolAddress(null_mut(), host!(counter)), INVALID_VALUE);
        let old = 6u32;
        assert_eq!(cudaMemcpyToSymbol(host!(counter), (&raw const old) as u64, 4, 4, TO_DEVICE), OK);
    }
}

#[test]
fn managed_variables_are_there_for_the_host() {
    let _turn = device();
    unsafe {
        assert_eq!(__cudaInitModule(unit()), 1);
        assert!(!SHARED_BY_BOTH.is_null());
        assert_eq!(*SHARED_BY_BOTH, 11);
        let new = 12u32;
        assert_eq!(cudaMemcpyToSymbol(SHARED_BY_BOTH as u64, (&raw const new) as u64, 4, 0, TO_DEVICE), OK);
        assert_eq!(*SHARED_BY_BOTH, 12);
        let old = 11u32;
        assert_eq!(cudaMemcpyToSymbol(SHARED_BY_BOTH as u64, (&raw const old) as u64, 4, 0, TO_DEVICE), OK);
    }
}

#[test]
fn kernels_tell_what_they_need() {
    let _turn = device();
    let mut old: FuncAttributes = unsafe { std::mem::zeroed() };
    let mut new: FuncAttributes12 = unsafe { std::mem::zeroed() };
    let mut blocks = 0;
    unsafe {
        assert_eq!(cudaFuncGetAttributes_11(&mut old, host!(add)), OK);
        assert_eq!(cudaFuncGetAttributes_12(&mut new, host!(add)), OK);
        assert!(old.registers > 0 && old.max_threads > 0);
        assert_eq!((old.registers, old.max_threads), (new.registers, new.max_threads));
        assert_eq!(cudaFuncGetAttributes_12(null_mut(), host!(add)), INVALID_VALUE);
        assert_eq!(cudaFuncGetAttributes_12(&mut new, host!(stranger)), 98);
        assert_eq!(cudaFuncSetAttribute(host!(add), 8, 1024), OK);
        assert_eq!(cudaFuncSetAttribute(host!(add), 8, 1 << 30), INVALID_VALUE);
        assert_eq!(cudaFuncSetAttribute(host!(add), 1, 0), INVALID_VALUE);
        assert_eq!(cudaFuncSetCacheConfig(host!(add), 7), INVALID_VALUE);
        assert_eq!(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, host!(add), 128, 0), OK);
        assert!(blocks > 0);
        assert_eq!(
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, host!(add), 0, 0),
            INVALID_VALUE
        );
        let (mut count, mut offset, mut size) = (0, 0, 0);
        assert_eq!(cudaFuncGetParamCount(host!(add), &mut count), OK);
        assert_eq!(cudaFuncGetParamInfo(host!(add), 1, &mut offset, &mut size), OK);
        assert_eq!((count, offset, size), (2, 8, 4));
        assert_eq!(cudaFuncGetParamInfo(host!(add), 2, &mut offset, &mut size), INVALID_VALUE);
        let mut function = 0;
        assert_eq!(cudaGetFuncBySymbol(&mut function, host!(add)), OK);
        assert_eq!(cudaFuncGetParamCount(function, &mut count), OK, "a handle stands for its kernel");
    }
}
