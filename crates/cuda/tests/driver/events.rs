// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, events and host functions.

use std::sync::atomic::{AtomicU32, Ordering};

use warpwatt_cuda::driver::context::*;
use warpwatt_cuda::driver::event::*;
use warpwatt_cuda::driver::launch::*;
use warpwatt_cuda::driver::memory::cuMemGetInfo_v2;
use warpwatt_cuda::driver::pool::{cuMemAllocAsync, cuMemFreeAsync};
use warpwatt_cuda::driver::stream::*;
use warpwatt_cuda::driver::{In, Out};

use crate::setup::*;

fn event(flags: u32) -> u64 {
    let mut event = 0;
    ok(cuEventCreate(Out::from(&mut event), flags));
    event
}

#[test]
fn time_passes_between_events() {
    let _turn = ready();
    let scale = function(module(), c"scale");
    let at = buffer(&[0; 1024]);
    let (first, second, third) = (event(0), event(0), event(0));
    let (mut short, mut long) = (0.0, 0.0);
    ok(cuEventRecord(first, 0));
    ok(cuEventRecord(second, 0));
    ok(launch(scale, 8, 128, 0, &Arguments::new(&[at, 1024, 3])));
    ok(cuEventRecord(third, 0));
    ok(cuEventSynchronize(third));
    ok(cuEventElapsedTime(Out::from(&mut short), first, second));
    ok(cuEventElapsedTime_v2(Out::from(&mut long), second, third));
    assert!(0.0 < short && short < long, "{short} ms, {long} ms");
    ok(cuEventQuery(third));
    let untimed = event(2);
    ok(cuEventRecord(untimed, 0));
    assert_eq!(cuEventElapsedTime(Out::from(&mut long), first, untimed), INVALID_HANDLE);
    assert_eq!(cuEventElapsedTime(Out::NULL, first, second), INVALID_VALUE);
    ok(cuEventDestroy_v2(first));
    assert_eq!(cuEventRecord(first, 0), INVALID_HANDLE);
    assert_eq!(cuEventDestroy_v2(first), INVALID_HANDLE);
    let mut none = 0;
    assert_eq!(cuEventCreate(Out::from(&mut none), 64), INVALID_VALUE);
    ok(cuEventQuery(event(0)));
}

#[test]
fn streams_and_events_are_waited_for_and_destroyed_without_a_context() {
    let _turn = ready();
    let (mut stream, mut empty) = (0, 7);
    ok(cuStreamCreate(Out::from(&mut stream), 1));
    let (first, last) = (event(0), event(0));
    let at = buffer(&[1; 4]);
    ok(cuEventRecord(first, stream));
    ok(launch(function(module(), c"scale"), 1, 4, stream, &Arguments::new(&[at, 4, 10])));
    ok(cuEventRecord(last, stream));
    std::thread::spawn(move || {
        let mut milliseconds = 0.0;
        ok(cuEventQuery(last));
        ok(cuEventSynchronize(last));
        ok(cuEventElapsedTime(Out::from(&mut milliseconds), first, last));
        ok(cuStreamQuery(stream));
        ok(cuStreamSynchronize(stream));
        ok(cuEventRecord(last, stream));
        ok(cuStreamWaitEvent(stream, last, 0));
        ok(cuMemAllocAsync(Out::from(&mut empty), 0, stream));
        assert_eq!(empty, 0, "nothing is a null pointer");
        ok(cuMemFreeAsync(0, stream));
        // The default streams are those of a context.
        assert_eq!(cuStreamSynchronize(0), INVALID_CONTEXT);
        assert_eq!(cuEventRecord(last, 0), INVALID_CONTEXT);
        ok(cuEventDestroy_v2(first));
        ok(cuEventDestroy_v2(last));
        ok(cuStreamDestroy_v2(stream));
        assert_eq!(cuStreamSynchronize(stream), INVALID_HANDLE);
    })
    .join()
    .unwrap();
    assert_eq!(read(at, 4), [10, 11, 12, 13]);
}

#[test]
fn a_stream_waits_for_the_event_of_another() {
    let _turn = ready();
    let scale = function(module(), c"scale");
    let (mut a, mut b) = (0, 0);
    ok(cuStreamCreate(Out::from(&mut a), 1));
    ok(cuStreamCreateWithPriority(Out::from(&mut b), 1, -1));
    let at = buffer(&[1; 4]);
    let done = event(2);
    ok(launch(scale, 1, 4, a, &Arguments::new(&[at, 4, 10])));
    ok(cuEventRecord(done, a));
    ok(cuStreamWaitEvent(b, done, 0));
    ok(launch(scale, 1, 4, b, &Arguments::new(&[at, 4, 2])));
    ok(cuStreamSynchronize(b));
    assert_eq!(read(at, 4), [20, 23, 26, 29]);
    let (mut priority, mut flags, mut device, mut first, mut second) = (0, 0, 9, 0, 0);
    ok(cuStreamGetPriority(b, Out::from(&mut priority)));
    ok(cuStreamGetFlags(b, Out::from(&mut flags)));
    ok(cuStreamGetDevice(b, Out::from(&mut device)));
    assert_eq!((priority, flags, device), (-1, 1, 0));
    ok(cuStreamGetId(a, Out::from(&mut first)));
    ok(cuStreamGetId(b, Out::from(&mut second)));
    assert_ne!(first, second);
    ok(cuStreamQuery(b));
    ok(cuStreamDestroy_v2(a));
    assert_eq!(cuStreamSynchronize(a), INVALID_HANDLE);
    assert_eq!(cuStreamDestroy_v2(a), INVALID_HANDLE);
    assert_eq!(cuStreamDestroy_v2(0), INVALID_HANDLE, "the default stream stays");
    assert_eq!(cuStreamCreate(Out::from(&mut a), 8), INVALID_VALUE);
    assert_eq!(cuStreamWaitEvent(b, 5, 0), INVALID_HANDLE);
    assert_eq!(cuStreamWaitEvent(b, done, 8), INVALID_VALUE);
}

static CALLED: AtomicU32 = AtomicU32::new(0);
static REFUSED: AtomicU32 = AtomicU32::new(0);

extern "C" fn call(argument: u64) {
    CALLED.fetch_add(argument as u32, Ordering::SeqCst);
    let code = cuMemGetInfo_v2(Out::NULL, Out::NULL);
    REFUSED.store(code as u32, Ordering::SeqCst);
}

extern "C" fn callback(_stream: u64, status: i32, argument: u64) {
    assert_eq!(status, 0);
    CALLED.fetch_add(argument as u32, Ordering::SeqCst);
}

#[test]
fn host_functions_are_called_in_stream_order_and_may_not_call_back() {
    let _turn = ready();
    ok(cuLaunchHostFunc(0, call as *const () as u64, 5));
    ok(cuStreamAddCallback(0, callback as *const () as u64, 7, 0));
    ok(cuCtxSynchronize());
    assert_eq!(CALLED.load(Ordering::SeqCst), 12);
    assert_ne!(REFUSED.load(Ordering::SeqCst), 0);
    assert_eq!(cuLaunchHostFunc(0, 0, 5), INVALID_VALUE);
    assert_eq!(cuLaunchHostFunc(4444, call as *const () as u64, 5), INVALID_HANDLE);
    assert_eq!(cuStreamAddCallback(0, 0, 0, 0), INVALID_VALUE);
}

#[test]
fn two_threads_launch_at_once() {
    let _turn = ready();
    let scale = function(module(), c"scale");
    let mut context = 0;
    ok(cuCtxGetCurrent(Out::from(&mut context)));
    let threads: Vec<_> = (0..2)
        .map(|k: u32| {
            std::thread::spawn(move || {
                ok(cuCtxSetCurrent(context));
                let at = buffer(&[k; 64]);
                for _ in 0..50 {
                    let arguments = Arguments::new(&[at, 64, 1]);
                    ok(cuLaunchKernel_ptsz(scale, 1, 1, 1, 64, 1, 1, 0, 0, arguments.list(), In::NULL));
                }
                ok(cuStreamSynchronize_ptsz(0));
                assert_eq!(read(at, 64), (0..64).map(|i| k + 50 * i).collect::<Vec<u32>>());
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
