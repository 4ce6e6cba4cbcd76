// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions are found by name and version, as `cuGetProcAddress` is asked for them.

use warpwatt_cuda::driver::copy::*;
use warpwatt_cuda::driver::entry::*;
use warpwatt_cuda::driver::memory::*;
use warpwatt_cuda::driver::{In, Out, Text, absent};

use crate::setup::{INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED, ok};

fn find(name: &std::ffi::CStr, version: i32, flags: u64) -> (u64, u32) {
    let (mut function, mut status) = (1, 9);
    ok(cuGetProcAddress_v2(
        Text::from(name),
        Out::from(&mut function),
        version,
        flags,
        Out::from(&mut status),
    ));
    (function, status)
}

#[test]
fn a_name_means_the_function_of_its_version() {
    assert_eq!(find(c"cuMemAlloc", 12000, 0), (cuMemAlloc_v2 as *const () as u64, 0));
    assert_eq!(find(c"cuMemAlloc", 3020, 0), (cuMemAlloc_v2 as *const () as u64, 0));
    assert_eq!(find(c"cuMemAlloc", 3010, 0), (absent::cuMemAlloc as *const () as u64, 0));
    assert_eq!(find(c"cuMemPrefetchAsync", 12010, 0).0, cuMemPrefetchAsync as *const () as u64);
    assert_eq!(find(c"cuMemPrefetchAsync", 13000, 0).0, cuMemPrefetchAsync_v2 as *const () as u64);
    assert_eq!(find(c"cuMemPrefetchAsync", 7000, 0), (0, 2), "before its time");
    assert_eq!(find(c"cuMemAlloc_v2", 13000, 0), (0, 1), "names are asked for without their version");
    assert_eq!(find(c"cuNothing", 13000, 0), (0, 1));
    assert_eq!(find(c"", 13000, 0), (0, 1));
}

#[test]
fn twins_for_the_default_stream_of_a_thread_are_asked_for() {
    assert_eq!(find(c"cuMemcpyHtoD", 12000, 2).0, cuMemcpyHtoD_v2_ptds as *const () as u64);
    assert_eq!(find(c"cuMemcpyHtoD", 12000, 1).0, cuMemcpyHtoD_v2 as *const () as u64);
    assert_eq!(find(c"cuMemAlloc", 12000, 2).0, cuMemAlloc_v2 as *const () as u64, "it has none");
}

#[test]
fn bad_questions_are_refused() {
    let mut function = 0;
    let name = Text::from(c"cuInit");
    assert_eq!(cuGetProcAddress_v2(Text::NULL, Out::from(&mut function), 12000, 0, Out::NULL), INVALID_VALUE);
    assert_eq!(cuGetProcAddress_v2(name, Out::NULL, 12000, 0, Out::NULL), INVALID_VALUE);
    assert_eq!(cuGetProcAddress_v2(name, Out::from(&mut function), 99000, 0, Out::NULL), INVALID_VALUE);
    assert_eq!(cuGetProcAddress_v2(name, Out::from(&mut function), 12000, 8, Out::NULL), INVALID_VALUE);
    ok(cuGetProcAddress(name, Out::from(&mut function), 11030, 0));
    assert_eq!(cuGetProcAddress(Text::from(c"cuNothing"), Out::from(&mut function), 11030, 0), NOT_FOUND);
}

#[test]
fn what_is_not_done_says_so() {
    assert_eq!(absent::cuMemCreate(), NOT_SUPPORTED);
    let mut table = 5;
    let id = [0; 16];
    assert_eq!(cuGetExportTable(Out::from(&mut table), In::from(&id)), NOT_FOUND);
    assert_eq!(table, 0);
}
