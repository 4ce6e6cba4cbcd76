// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of all kinds, and what pointers are.

use std::ptr::null_mut;

use warpwatt_cuda::abi::runtime::{
    Extent, MemLocation, MemPoolProps, PitchedPtr, PointerAttributes, PointerAttributes13,
};
use warpwatt_cuda::rt::managed::*;
use warpwatt_cuda::rt::memory::*;
use warpwatt_cuda::rt::pool::*;

use crate::*;

fn kind(at: u64) -> (i32, u64, u64) {
    let mut of = PointerAttributes { kind: 9, device: 9, device_pointer: 9, host_pointer: 9 };
    assert_eq!(unsafe { cudaPointerGetAttributes_11(&mut of, at) }, OK);
    (of.kind, of.device_pointer, of.host_pointer)
}

#[test]
fn blocks_are_given_once_and_taken_back_once() {
    let _turn = device();
    let (mut a, mut b) = (0, 0);
    unsafe {
        assert_eq!(cudaMalloc(&mut a, 1000), OK);
        assert_eq!(cudaMalloc(&mut b, 1000), OK);
        assert!(a != 0 && b != 0 && a.abs_diff(b) >= 1000);
        assert_eq!(cudaFree(a + 4), INVALID_VALUE);
        assert_eq!(cudaFreeHost(a), INVALID_VALUE);
        assert_eq!(cudaFree(a), OK);
        assert_eq!(cudaFree(a), INVALID_VALUE);
        assert_eq!(cudaFree(b), OK);
        assert_eq!(cudaFree(0), OK);
        assert_eq!(cudaMalloc(null_mut(), 8), INVALID_VALUE);
        assert_eq!(cudaMalloc(&mut a, 0), OK);
        assert_eq!(a, 0);
        assert_eq!(cudaMalloc(&mut a, 1 << 60), 2);
        let (mut free, mut total) = (0, 0);
        assert_eq!(cudaMemGetInfo(&mut free, &mut total), OK);
        assert!(free > 0 && free <= total);
    }
}

#[test]
fn rows_are_far_enough_apart() {
    let _turn = device();
    let (mut at, mut pitch) = (0, 0);
    let mut place = PitchedPtr { ptr: 0, pitch: 0, xsize: 0, ysize: 0 };
    unsafe {
        assert_eq!(cudaMallocPitch(&mut at, &mut pitch, 100, 7), OK);
        assert!(pitch >= 100 && pitch.is_multiple_of(32));
        assert_eq!(cudaFree(at), OK);
        assert_eq!(cudaMalloc3D(&mut place, Extent { width: 33, height: 5, depth: 3 }), OK);
        assert!(place.pitch >= 33 && (place.xsize, place.ysize) == (33, 5));
        assert_eq!(cudaFree(place.ptr), OK);
        assert_eq!(cudaMallocPitch(&mut at, null_mut(), 100, 7), INVALID_VALUE);
        assert_eq!(cudaMalloc3D(&mut place, Extent { width: usize::MAX / 2, height: 5, depth: 3 }), 2);
    }
}

#[test]
fn pointers_tell_what_they_are() {
    let _turn = device();
    let own = Box::new([0u8; 64]);
    let own_at = own.as_ptr() as u64;
    let (mut device_at, mut pinned, mut managed, mut mapped) = (0, 0, 0, 0);
    unsafe {
        assert_eq!(cudaMalloc(&mut device_at, 64), OK);
        assert_eq!(cudaHostAlloc(&mut pinned, 64, 2), OK);
        assert_eq!(cudaMallocManaged(&mut managed, 64, 1), OK);
        assert_eq!(kind(device_at + 8), (2, device_at + 8, 0));
        assert_eq!(kind(pinned), (1, pinned, pinned));
        assert_eq!(kind(managed), (3, managed, managed));
        assert_eq!(kind(own_at), (0, 0, own_at));
        let mut wide: PointerAttributes13 = std::mem::zeroed();
        assert_eq!(cudaPointerGetAttributes_13(&mut wide, managed), OK);
        assert_eq!(wide.head.kind, 3);
        assert_eq!(cudaPointerGetAttributes_13(null_mut(), managed), INVALID_VALUE);

        // Both sides see the same bytes.
        (pinned as *mut u32).write(77);
        assert_eq!((pinned as *const u32).read(), 77);
        assert_eq!(cudaHostGetDevicePointer(&mut mapped, pinned, 0), OK);
        assert_eq!(mapped, pinned);
        assert_eq!(cudaHostGetDevicePointer(&mut mapped, device_at, 0), INVALID_VALUE);
        assert_eq!(cudaHostRegister(own_at, 64, 0), OK);
        assert_eq!(cudaHostRegister(own_at, 64, 0), 712);
        assert_eq!(kind(own_at), (1, own_at, own_at));
        assert_eq!(cudaHostUnregister(own_at), OK);
        assert_eq!(cudaHostUnregister(own_at), 713);
        assert_eq!(cudaHostAlloc(&mut mapped, 64, 99), INVALID_VALUE);
        assert_eq!(cudaMallocManaged(&mut mapped, 0, 1), INVALID_VALUE);
        assert_eq!(cudaMallocManaged(&mut mapped, 8, 3), INVALID_VALUE);
        let mut flags = 0;
        assert_eq!(cudaHostGetFlags(&mut flags, pinned), OK);
        assert_eq!(flags & 2, 2);
        assert_eq!(cudaFree(device_at), OK);
        assert_eq!(cudaFree(managed), OK);
        assert_eq!(cudaFreeHost(pinned), OK);
    }
}

#[test]
fn advice_is_checked() {
    let _turn = device();
    let mut at = 0;
    let (gpu, other) = (MemLocation { kind: 1, id: 0 }, MemLocation { kind: 1, id: 7 });
    unsafe {
        assert_eq!(cudaMallocManaged(&mut at, 4096, 1), OK);
        assert_eq!(cudaMemAdvise_11(at, 4096, 3, -1), OK);
        assert_eq!(cudaMemAdvise_13(at, 4096, 3, gpu), OK);
        assert_eq!(cudaMemAdvise_13(at, 4096, 3, other), 101);
        assert_eq!(cudaMemAdvise_13(at, 4096, 77, gpu), INVALID_VALUE);
        assert_eq!(cudaMemAdvise_13(at, 8192, 1, gpu), INVALID_VALUE);
        assert_eq!(cudaMemPrefetchAsync_11(at, 4096, 0, 0), OK);
        assert_eq!(cudaMemPrefetchAsync_13(at, 4096, gpu, 0, 0), OK);
        assert_eq!(cudaMemPrefetchAsync_13(at, 4096, gpu, 1, 0), INVALID_VALUE);
        let mut value = 5;
        assert_eq!(cudaMemRangeGetAttribute((&raw mut value).cast(), 4, 1, at, 4096), OK);
        assert_eq!(value, 0);
        assert_eq!(cudaMemRangeGetAttribute((&raw mut value).cast(), 3, 1, at, 4096), INVALID_VALUE);
        assert_eq!(cudaFree(at), OK);
    }
}

#[test]
fn pools_count_what_they_gave() {
    let _turn = device();
    let (mut pool, mut used, mut at) = (0, 0u64, 0);
    let security = null_mut();
    let location = MemLocation { kind: 1, id: 0 };
    let props =
        MemPoolProps { alloc_type: 1, handle_types: 0, location, security, max_size: 0, rest: [0; 56] };
    unsafe {
        assert_eq!(cudaMemPoolCreate(&mut pool, &props), OK);
        assert_eq!(cudaMallocFromPoolAsync(&mut at, 4096, pool, 0), OK);
        assert_eq!(cudaMemPoolGetAttribute(pool, 7, (&raw mut used).cast()), OK);
        assert_eq!(used, 4096);
        assert_eq!(cudaFreeAsync(at, 0), OK);
        assert_eq!(cudaFreeAsync(at, 0), INVALID_VALUE);
        assert_eq!(cudaMemPoolGetAttribute(pool, 7, (&raw mut used).cast()), OK);
        assert_eq!(used, 0);
        assert_eq!(cudaMemPoolGetAttribute(pool, 8, (&raw mut used).cast()), OK);
        assert_eq!(used, 4096);
        assert_eq!(cudaMemPoolGetAttribute(pool, 99, (&raw mut used).cast()), INVALID_VALUE);
        assert_eq!(cudaMemPoolDestroy(pool), OK);
        assert_eq!(cudaMemPoolDestroy(pool), INVALID_HANDLE);
        assert_eq!(cudaMallocFromPoolAsync(&mut at, 4096, pool, 0), INVALID_HANDLE);
        assert_eq!(cudaDeviceGetDefaultMemPool(&mut pool, 0), OK);
        assert_eq!(cudaMemPoolDestroy(pool), INVALID_VALUE);
        assert_eq!(cudaDeviceGetDefaultMemPool(&mut pool, 1), 101);
        assert_eq!(cudaMallocAsync(&mut at, 64, 0), OK);
        assert_eq!(cudaFree(at), OK);
    }
}
