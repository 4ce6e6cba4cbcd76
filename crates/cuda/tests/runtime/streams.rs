// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, events in device time, and functions of the host between them.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use warpwatt_cuda::abi::runtime::Dim3;
use warpwatt_cuda::rt::event::*;
use warpwatt_cuda::rt::launch::cudaLaunchKernel;
use warpwatt_cuda::rt::memory::cudaFree;
use warpwatt_cuda::rt::stream::*;

use crate::launches::{download, upload};
use crate::*;

const ONE: Dim3 = Dim3 { x: 1, y: 1, z: 1 };
const FOUR: Dim3 = Dim3 { x: 4, y: 1, z: 1 };

fn add(at: u64, n: u32, stream: u64) -> i32 {
    let args = [(&raw const at).cast::<c_void>(), (&raw const n).cast()];
    unsafe { cudaLaunchKernel(host!(add), ONE, FOUR, args.as_ptr(), 0, stream) }
}

#[test]
fn work_of_two_streams_is_ordered_by_an_event() {
    let _turn = device();
    let at = upload([1; 4]);
    let (mut first, mut second, mut between, mut end) = (0, 0, 0, 0);
    let mut ms = -1.0;
    unsafe {
        assert_eq!(cudaStreamCreateWithFlags(&mut first, 1), OK);
        assert_eq!(cudaStreamCreateWithPriority(&mut second, 1, -2), OK);
        assert_eq!(cudaEventCreate(&mut between), OK);
        assert_eq!(cudaEventCreateWithFlags(&mut end, 0), OK);
        assert_eq!(add(at, 1, first), OK);
        assert_eq!(cudaEventRecord(between, first), OK);
        assert_eq!(cudaStreamWaitEvent(second, between, 0), OK);
        assert_eq!(add(at, 2, second), OK);
        assert_eq!(cudaEventRecord(end, second), OK);
        assert_eq!(cudaEventQuery(end), OK, "a question starts the work and is answered when it is done");
        assert_eq!(cudaEventElapsedTime(&mut ms, between, end), OK);
        assert!(ms > 0.0, "{ms}");
        assert_eq!(cudaStreamSynchronize(second), OK);
        assert_eq!(cudaStreamQuery(first), OK);
        assert_eq!(download(at), [14; 4]);
        let (mut flags, mut priority) = (9, 9);
        assert_eq!(cudaStreamGetFlags(second, &mut flags), OK);
        assert_eq!(cudaStreamGetPriority(second, &mut priority), OK);
        assert_eq!((flags, priority), (1, -2));
        for event in [between, end] {
            assert_eq!(cudaEventDestroy(event), OK);
        }
        for stream in [first, second] {
            assert_eq!(cudaStreamDestroy(stream), OK);
        }
        assert_eq!(cudaFree(at), OK);
    }
}

#[test]
fn stale_and_null_handles_are_refused() {
    let _turn = device();
    let (mut stream, mut event, mut other) = (0, 0, 0);
    let mut ms = 0.0;
    unsafe {
        assert_eq!(cudaStreamCreate(&mut stream), OK);
        assert_eq!(cudaEventCreate(&mut event), OK);
        assert_eq!(cudaEventCreateWithFlags(&mut other, 2), OK);
        assert_eq!(cudaEventElapsedTime(&mut ms, event, event), INVALID_HANDLE, "never recorded");
        assert_eq!(cudaEventRecord(event, stream), OK);
        assert_eq!(cudaEventRecord(other, stream), OK);
        assert_eq!(cudaEventElapsedTime(&mut ms, event, other), INVALID_HANDLE, "without timing");
        assert_eq!(cudaEventElapsedTime(null_mut(), event, event), INVALID_VALUE);
        assert_eq!(cudaStreamDestroy(stream), OK);
        assert_eq!(cudaStreamDestroy(stream), INVALID_HANDLE);
        assert_eq!(cudaStreamSynchronize(stream), INVALID_HANDLE);
        assert_eq!(cudaEventRecord(event, stream), INVALID_HANDLE);
        assert_eq!(cudaEventDestroy(event), OK);
        assert_eq!(cudaEventDestroy(event), INVALID_HANDLE);
        assert_eq!(cudaEventQuery(event), INVALID_HANDLE);
        assert_eq!(cudaEventRecord(0, 0), INVALID_HANDLE);
        assert_eq!(cudaEventDestroy(other), OK);
        assert_eq!(cudaStreamCreate(null_mut()), INVALID_VALUE);
        assert_eq!(cudaStreamCreateWithFlags(&mut stream, 8), INVALID_VALUE);
        assert_eq!(cudaEventCreateWithFlags(&mut event, 64), INVALID_VALUE);
        assert_eq!(cudaStreamWaitEvent(0, 0, 0), INVALID_HANDLE);
    }
}

static CALLS: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn called(data: *mut c_void) {
    CALLS.fetch_add(data as u32, Ordering::Relaxed);
}

unsafe extern "C" fn called_back(_stream: u64, status: i32, data: *mut c_void) {
    assert_eq!(status, 0);
    CALLS.fetch_add(data as u32, Ordering::Relaxed);
}

#[test]
fn functions_of_the_host_run_when_the_stream_gets_there() {
    let _turn = device();
    CALLS.store(0, Ordering::Relaxed);
    let mut stream = 0;
    unsafe {
        assert_eq!(cudaStreamCreate(&mut stream), OK);
        assert_eq!(cudaLaunchHostFunc(stream, Some(called), 3 as *mut c_void), OK);
        assert_eq!(cudaStreamAddCallback(stream, Some(called_back), 40 as *mut c_void, 0), OK);
        assert_eq!(cudaLaunchHostFunc(stream, None, null_mut()), INVALID_VALUE);
        assert_eq!(cudaStreamAddCallback(stream, Some(called_back), null_mut(), 1), INVALID_VALUE);
        assert_eq!(cudaStreamSynchronize(stream), OK);
        assert_eq!(CALLS.load(Ordering::Relaxed), 43);
        assert_eq!(cudaStreamDestroy(stream), OK);
    }
}

#[test]
fn each_thread_has_a_default_stream_of_its_own() {
    let _turn = device();
    let (mut here, mut there) = (0, 0);
    assert_eq!(unsafe { cudaStreamGetId_ptsz(0, &mut here) }, OK);
    let other = std::thread::spawn(|| {
        let mut id = 0;
        assert_eq!(unsafe { cudaStreamGetId_ptsz(0, &mut id) }, OK);
        id
    });
    assert_eq!(unsafe { cudaStreamGetId(0, &mut there) }, OK);
    let other = other.join().unwrap();
    assert!(here != there && here != other && there != other, "{here} {there} {other}");
}
