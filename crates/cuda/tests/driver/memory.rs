// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of all kinds, what pointers tell, and pools.

use warpwatt_cuda::abi::driver::{MemLocation, PoolProps};
use warpwatt_cuda::driver::fill::*;
use warpwatt_cuda::driver::memory::*;
use warpwatt_cuda::driver::pointer::*;
use warpwatt_cuda::driver::pool::*;
use warpwatt_cuda::driver::stream::*;
use warpwatt_cuda::driver::{In, Out};

use crate::setup::*;

const OUT_OF_MEMORY: i32 = 2;
const HOST_MEMORY_ALREADY_REGISTERED: i32 = 712;
const HOST_MEMORY_NOT_REGISTERED: i32 = 713;

#[test]
fn memory_is_taken_and_given_back_once() {
    let _turn = ready();
    let (mut at, mut before, mut during, mut total) = (0, 0, 0, 0);
    ok(cuMemGetInfo_v2(Out::from(&mut before), Out::from(&mut total)));
    ok(cuMemAlloc_v2(Out::from(&mut at), 1 << 20));
    ok(cuMemGetInfo_v2(Out::from(&mut during), Out::NULL));
    assert!(before <= total && during + (1 << 20) <= before, "{before} {during}");
    let (mut base, mut bytes) = (0, 0);
    ok(cuMemGetAddressRange_v2(Out::from(&mut base), Out::from(&mut bytes), at + 4096));
    assert_eq!((base, bytes), (at, 1 << 20));
    assert_eq!(cuMemFree_v2(at + 256), INVALID_VALUE, "not its start");
    assert_eq!(cuMemFreeHost(at), INVALID_VALUE, "not the host's");
    ok(cuMemFree_v2(at));
    assert_eq!(cuMemFree_v2(at), INVALID_VALUE);
    ok(cuMemFree_v2(0));
    assert_eq!(cuMemGetAddressRange_v2(Out::from(&mut base), Out::NULL, at), NOT_FOUND);
    assert_eq!(cuMemAlloc_v2(Out::from(&mut at), 0), INVALID_VALUE);
    assert_eq!(cuMemAlloc_v2(Out::NULL, 4), INVALID_VALUE);
    assert_eq!(cuMemAlloc_v2(Out::from(&mut at), 1 << 50), OUT_OF_MEMORY);
}

#[test]
fn rows_of_pitched_memory_are_aligned() {
    let _turn = ready();
    let (mut at, mut pitch) = (0, 0);
    ok(cuMemAllocPitch_v2(Out::from(&mut at), Out::from(&mut pitch), 100, 10, 4));
    assert!(pitch >= 100 && pitch.is_multiple_of(32));
    ok(cuMemsetD2D32_v2(at, pitch, 0xabcd, 25, 10));
    assert_eq!(read(at + 9 * pitch as u64, 25), [0xabcd; 25]);
    assert_eq!(read(at + 100, 1), [0], "not between the rows");
    assert_eq!(cuMemsetD2D32_v2(at, 50, 1, 25, 10), INVALID_VALUE, "rows overlap");
    assert_eq!(cuMemAllocPitch_v2(Out::from(&mut at), Out::from(&mut pitch), 100, 10, 3), INVALID_VALUE);
}

#[test]
fn the_host_reads_what_kernels_wrote_in_pinned_and_managed_memory() {
    let _turn = ready();
    let scale = function(module(), c"scale");
    let (mut pinned, mut managed) = (0, 0);
    ok(cuMemHostAlloc(Out::from(&mut pinned), 64, 2));
    ok(cuMemAllocManaged(Out::from(&mut managed), 64, 1));
    for at in [pinned, managed] {
        ok(cuMemsetD32_v2(at, 2, 16));
        ok(launch(scale, 1, 16, 0, &Arguments::new(&[at, 16, 50])));
        ok(cuStreamSynchronize(0));
        assert_eq!(In::<u32>::at(at).list(16).unwrap(), (100..116).collect::<Vec<u32>>());
    }
    let (mut device, mut flags) = (0, 0);
    ok(cuMemHostGetDevicePointer_v2(Out::from(&mut device), pinned, 0));
    assert_eq!(device, pinned);
    ok(cuMemHostGetFlags(Out::from(&mut flags), pinned));
    assert_eq!(flags, 2);
    assert_eq!(cuMemHostGetDevicePointer_v2(Out::from(&mut device), managed, 0), INVALID_VALUE);
    ok(cuMemPrefetchAsync(managed, 64, 0, 0));
    ok(cuMemPrefetchAsync_v2(managed, 64, MemLocation { kind: 2, id: 0 }, 0, 0));
    ok(cuMemAdvise(managed, 64, 1, 0));
    assert_eq!(cuMemAdvise(managed, 64, 9, 0), INVALID_VALUE);
    assert_eq!(cuMemAdvise(managed, 64, 3, 5), INVALID_DEVICE);
    assert_eq!(cuMemPrefetchAsync(pinned, 64, 0, 0), INVALID_VALUE, "not managed");
    assert_eq!(cuMemPrefetchAsync(managed, 6400, 0, 0), INVALID_VALUE, "beyond its end");
    ok(cuMemFreeHost(pinned));
    ok(cuMemFree_v2(managed));
    assert_eq!(cuMemAllocManaged(Out::from(&mut managed), 64, 0), INVALID_VALUE);
    assert_eq!(cuMemHostAlloc(Out::from(&mut pinned), 64, 0x100), INVALID_VALUE);
}

#[test]
fn registered_memory_is_seen_by_kernels() {
    let _turn = ready();
    let mut own = vec![1u32; 4096];
    let at = own.as_mut_ptr() as u64;
    ok(cuMemHostRegister_v2(at, 4096 * 4, 0));
    assert_eq!(cuMemHostRegister_v2(at, 4096 * 4, 0), HOST_MEMORY_ALREADY_REGISTERED);
    ok(launch(function(module(), c"scale"), 1, 8, 0, &Arguments::new(&[at, 8, 3])));
    ok(cuStreamSynchronize(0));
    ok(cuMemHostUnregister(at));
    assert_eq!(own[..9], [3, 4, 5, 6, 7, 8, 9, 10, 1]);
    assert_eq!(cuMemHostUnregister(at), HOST_MEMORY_NOT_REGISTERED);
    assert_eq!(cuMemHostRegister_v2(0, 16, 0), INVALID_VALUE);
}

#[test]
fn pointers_tell_what_they_point_to() {
    let _turn = ready();
    let at = buffer(&[0; 32]);
    let (mut kind, mut start, mut size, mut managed) = (0u32, 0u64, 0usize, 9u8);
    ok(cuPointerGetAttribute(&raw mut kind as u64, 2, at + 8));
    ok(cuPointerGetAttribute(&raw mut start as u64, 11, at + 8));
    ok(cuPointerGetAttribute(&raw mut size as u64, 12, at + 8));
    ok(cuPointerGetAttribute(&raw mut managed as u64, 8, at + 8));
    assert_eq!((kind, start, size, managed), (2, at, 128, 0));
    let host = 5u32;
    assert_eq!(cuPointerGetAttribute(&raw mut kind as u64, 2, &raw const host as u64), INVALID_VALUE);
    assert_eq!(cuPointerGetAttribute(0, 2, at), INVALID_VALUE);
    assert_eq!(cuPointerGetAttribute(&raw mut kind as u64, 99, at), INVALID_VALUE);
    let numbers = [2, 11];
    let data = [&raw mut kind as u64, &raw mut start as u64];
    let (numbers, data) = (In::first(&numbers), In::first(&data));
    ok(cuPointerGetAttributes(2, numbers, data, &raw const host as u64));
    assert_eq!((kind, start), (0, 0), "nothing is known of the host's own memory");
}

#[test]
fn fills_have_elements_of_three_sizes() {
    let _turn = ready();
    let at = buffer(&[0; 4]);
    ok(cuMemsetD8_v2(at, 0x11, 4));
    ok(cuMemsetD16_v2(at + 4, 0x2222, 2));
    ok(cuMemsetD32_v2(at + 8, 0x3333_3333, 1));
    ok(cuMemsetD8Async(at + 12, 0x44, 2, 0));
    assert_eq!(read(at, 4), [0x1111_1111, 0x2222_2222, 0x3333_3333, 0x4444]);
    ok(cuStreamWriteValue64_v2(0, at + 8, 0x7_0000_0009, 0));
    assert_eq!(read(at + 8, 2), [9, 7]);
    assert_eq!(cuMemsetD32_v2(at + 2, 1, 1), INVALID_VALUE, "not aligned");
    assert_eq!(cuMemsetD8_v2(0, 1, 1), INVALID_VALUE);
    assert_ne!(cuMemsetD8_v2(at, 1, 1 << 40), 0, "beyond its end");
    ok(cuMemsetD8_v2(at, 1, 0));
}

#[test]
fn pools_give_and_take_in_stream_order() {
    let _turn = ready();
    let (mut pool, mut same, mut at, mut used) = (0, 0, 0, 0u64);
    ok(cuDeviceGetDefaultMemPool(Out::from(&mut pool), 0));
    ok(cuDeviceGetMemPool(Out::from(&mut same), 0));
    assert_eq!(pool, same);
    ok(cuMemAllocAsync(Out::from(&mut at), 4096, 0));
    ok(cuMemPoolGetAttribute(pool, 7, &raw mut used as u64));
    assert_eq!(used, 4096);
    ok(cuMemsetD32Async(at, 5, 1024, 0));
    assert_eq!(read(at, 1024), [5; 1024]);
    ok(cuMemFreeAsync(at, 0));
    ok(cuMemPoolGetAttribute(pool, 7, &raw mut used as u64));
    assert_eq!(used, 0);
    assert_eq!(cuMemFreeAsync(at, 0), INVALID_VALUE);

    let location = MemLocation { kind: 1, id: 0 };
    let props = PoolProps {
        alloc_type: 1,
        handle_types: 0,
        location,
        security: 0,
        max_size: 0,
        usage: 0,
        reserved: [0; 54],
    };
    let mut own = 0;
    ok(cuMemPoolCreate(Out::from(&mut own), In::from(&props)));
    let threshold = 1u64 << 20;
    ok(cuMemPoolSetAttribute(own, 4, &raw const threshold as u64));
    ok(cuMemPoolGetAttribute(own, 4, &raw mut used as u64));
    assert_eq!(used, threshold);
    ok(cuMemAllocFromPoolAsync(Out::from(&mut at), 64, own, 0));
    ok(cuMemFreeAsync(at, 0));
    ok(cuMemPoolDestroy(own));
    assert_eq!(cuMemPoolDestroy(own), INVALID_HANDLE);
    assert_eq!(cuMemPoolDestroy(pool), INVALID_VALUE, "the device's own");
    assert_eq!(cuMemAllocFromPoolAsync(Out::from(&mut at), 64, own, 0), INVALID_HANDLE);
    assert_eq!(cuMemPoolGetAttribute(pool, 99, &raw mut used as u64), INVALID_VALUE);
    let shared = PoolProps { handle_types: 1, ..props };
    assert_eq!(cuMemPoolCreate(Out::from(&mut own), In::from(&shared)), NOT_SUPPORTED);
}
