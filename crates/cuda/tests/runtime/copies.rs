// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies and fills in one, two and three dimensions, with arrays at either end.

use std::ptr::{null, null_mut};

use warpwatt_cuda::abi::runtime::{ChannelDesc, Extent, Memcpy3d, PitchedPtr, Pos};
use warpwatt_cuda::rt::array::*;
use warpwatt_cuda::rt::copy::*;
use warpwatt_cuda::rt::copy_array::*;
use warpwatt_cuda::rt::copy_batch::cudaMemcpyBatchAsync_13;
use warpwatt_cuda::rt::fill::*;
use warpwatt_cuda::rt::memory::*;
use warpwatt_cuda::rt::stream::{cudaStreamCreate, cudaStreamDestroy, cudaStreamSynchronize};

use crate::*;

const BYTES: ChannelDesc = ChannelDesc { x: 8, y: 0, z: 0, w: 0, f: 1 };

#[test]
fn bytes_go_there_and_back() {
    let _turn = device();
    let from: Vec<u8> = (0..=255).collect();
    let mut to = vec![0u8; 256];
    let (mut a, mut b) = (0, 0);
    unsafe {
        assert_eq!(cudaMalloc(&mut a, 256), OK);
        assert_eq!(cudaMalloc(&mut b, 256), OK);
        assert_eq!(cudaMemcpy(a, from.as_ptr() as u64, 256, ANY), OK);
        assert_eq!(cudaMemcpyAsync(b, a, 256, ON_DEVICE, 0), OK);
        assert_eq!(cudaMemset(b + 10, 0xab, 3), OK);
        assert_eq!(cudaMemcpyPeer(a, 0, b, 0, 256), OK);
        assert_eq!(cudaMemcpy(to.as_mut_ptr() as u64, a, 256, TO_HOST), OK);
        assert_eq!(&to[..10], &from[..10]);
        assert_eq!(&to[10..13], &[0xab; 3]);
        assert_eq!(&to[13..], &from[13..]);

        assert_eq!(cudaMemcpy(a, from.as_ptr() as u64, 256, 9), 21);
        assert_eq!(cudaMemcpy(0, from.as_ptr() as u64, 256, TO_DEVICE), INVALID_VALUE);
        assert_eq!(cudaMemcpy(a, 0, 256, TO_DEVICE), INVALID_VALUE);
        assert_eq!(cudaMemcpy(a, from.as_ptr() as u64, 4096, TO_DEVICE), INVALID_VALUE, "beyond the block");
        assert_eq!(cudaMemcpy(to.as_mut_ptr() as u64, from.as_ptr() as u64, 256, TO_DEVICE), INVALID_VALUE);
        assert_eq!(cudaMemcpyPeer(a, 0, b, 1, 256), 101);
        assert_eq!(cudaMemset(0, 0, 4), INVALID_VALUE);
        assert_eq!(cudaFree(a), OK);
        assert_eq!(cudaMemcpy(to.as_mut_ptr() as u64, a, 256, TO_HOST), INVALID_VALUE, "the block is gone");
        assert_eq!(cudaFree(b), OK);
    }
}

#[test]
fn rows_and_slices_are_copied_and_filled() {
    let _turn = device();
    let from: Vec<u8> = (0..60).collect();
    let mut to = vec![0u8; 60];
    let (mut at, mut pitch) = (0, 0);
    unsafe {
        assert_eq!(cudaMallocPitch(&mut at, &mut pitch, 10, 6), OK);
        assert_eq!(cudaMemcpy2D(at, pitch, from.as_ptr() as u64, 10, 10, 6, TO_DEVICE), OK);
        assert_eq!(cudaMemset2D(at + 2, pitch, 0xff, 3, 2), OK);
        assert_eq!(cudaMemcpy2D(to.as_mut_ptr() as u64, 10, at, pitch, 10, 6, TO_HOST), OK);
        let expected = |k: usize| if k / 10 < 2 && (2..5).contains(&(k % 10)) { 0xff } else { k as u8 };
        assert!(to.iter().enumerate().all(|(k, &byte)| byte == expected(k)));
        assert_eq!(cudaMemcpy2D(at, 5, from.as_ptr() as u64, 10, 10, 6, TO_DEVICE), 12);
        assert_eq!(cudaMemset2D(at, 5, 0, 10, 2), 12);
        assert_eq!(cudaFree(at), OK);

        let mut place = PitchedPtr { ptr: 0, pitch: 0, xsize: 0, ysize: 0 };
        let extent = Extent { width: 5, height: 4, depth: 3 };
        assert_eq!(cudaMalloc3D(&mut place, extent), OK);
        let zero = Pos { x: 0, y: 0, z: 0 };
        let host = PitchedPtr { ptr: from.as_ptr() as u64, pitch: 5, xsize: 5, ysize: 4 };
        let mut params = Memcpy3d {
            src_array: 0,
            src_pos: zero,
            src_ptr: host,
            dst_array: 0,
            dst_pos: zero,
            dst_ptr: place,
            extent,
            kind: TO_DEVICE,
        };
        assert_eq!(cudaMemcpy3D(&params), OK);
        assert_eq!(cudaMemset3D(place, 1, Extent { width: 1, height: 2, depth: 3 }), OK);
        (params.src_ptr, params.dst_ptr) = (place, PitchedPtr { ptr: to.as_mut_ptr() as u64, ..host });
        params.kind = TO_HOST;
        assert_eq!(cudaMemcpy3D(&params), OK);
        let expected = |k: usize| if k.is_multiple_of(5) && k / 5 % 4 < 2 { 1 } else { k as u8 };
        assert!(to.iter().enumerate().all(|(k, &byte)| byte == expected(k)), "{to:?}");
        assert_eq!(cudaMemcpy3D(null()), INVALID_VALUE);
        params.src_array = 77;
        assert_eq!(cudaMemcpy3D(&params), INVALID_HANDLE);
        assert_eq!(cudaFree(place.ptr), OK);
    }
}

#[test]
fn arrays_hold_what_is_copied_to_them() {
    let _turn = device();
    let from: Vec<u8> = (0..64).collect();
    let mut to = vec![0u8; 64];
    let mut array = 0;
    unsafe {
        assert_eq!(cudaMallocArray(&mut array, &BYTES, 8, 8, 0), OK);
        assert_eq!(cudaMemcpy2DToArray(array, 0, 0, from.as_ptr() as u64, 8, 8, 8, TO_DEVICE), OK);
        assert_eq!(cudaMemcpy2DFromArray(to.as_mut_ptr() as u64, 8, array, 0, 0, 8, 8, TO_HOST), OK);
        assert_eq!(to, from);
        // A run that starts and ends in the middle of rows.
        let run = [200u8; 20];
        assert_eq!(cudaMemcpyToArray(array, 5, 1, run.as_ptr() as u64, 20, TO_DEVICE), OK);
        assert_eq!(cudaMemcpyFromArray(to.as_mut_ptr() as u64, array, 0, 0, 64, TO_HOST), OK);
        assert!(
            to.iter().enumerate().all(|(k, &byte)| byte == if (13..33).contains(&k) { 200 } else { k as u8 })
        );
        let (mut desc, mut extent, mut flags) =
            (ChannelDesc { x: 1, y: 1, z: 1, w: 1, f: 1 }, Extent { width: 0, height: 0, depth: 9 }, 9);
        assert_eq!(cudaArrayGetInfo(&mut desc, &mut extent, &mut flags, array), OK);
        assert_eq!((desc.x, desc.y, desc.f, extent.width, extent.depth, flags), (8, 0, 1, 8, 0, 0));
        assert_eq!(cudaArrayGetInfo(null_mut(), null_mut(), null_mut(), array), OK);

        assert_eq!(cudaMemcpy2DToArray(array, 0, 4, from.as_ptr() as u64, 8, 8, 8, TO_DEVICE), INVALID_VALUE);
        assert_eq!(cudaMemcpyToArray(array, 9, 0, from.as_ptr() as u64, 4, TO_DEVICE), INVALID_VALUE);
        assert_eq!(cudaFreeArray(array), OK);
        assert_eq!(cudaFreeArray(array), INVALID_HANDLE);
        assert_eq!(
            cudaMemcpy2DToArray(array, 0, 0, from.as_ptr() as u64, 8, 8, 8, TO_DEVICE),
            INVALID_HANDLE
        );
        assert_eq!(cudaMallocArray(&mut array, null(), 8, 8, 0), INVALID_VALUE);
        assert_eq!(cudaMallocArray(&mut array, &ChannelDesc { y: 16, ..BYTES }, 8, 8, 0), 20);
        assert_eq!(cudaMallocArray(&mut array, &BYTES, 0, 8, 0), INVALID_VALUE);
    }
}

#[test]
fn mipmaps_have_levels() {
    let _turn = device();
    let (mut mipmap, mut level, mut again) = (0, 0, 0);
    let mut extent = Extent { width: 0, height: 0, depth: 0 };
    unsafe {
        let size = Extent { width: 16, height: 8, depth: 0 };
        assert_eq!(cudaMallocMipmappedArray(&mut mipmap, &BYTES, size, 3, 0), OK);
        assert_eq!(cudaGetMipmappedArrayLevel(&mut level, mipmap, 1), OK);
        assert_eq!(cudaGetMipmappedArrayLevel(&mut again, mipmap, 1), OK);
        assert_eq!(level, again);
        assert_eq!(cudaArrayGetInfo(null_mut(), &mut extent, null_mut(), level), OK);
        assert_eq!((extent.width, extent.height, extent.depth), (8, 4, 0));
        assert_eq!(cudaGetMipmappedArrayLevel(&mut level, mipmap, 3), INVALID_VALUE);
        assert_eq!(cudaFreeMipmappedArray(mipmap), OK);
        assert_eq!(cudaGetMipmappedArrayLevel(&mut level, mipmap, 0), INVALID_HANDLE);
    }
}

#[test]
fn batches_are_copies_one_after_the_other() {
    let _turn = device();
    let (mut at, mut stream) = (0, 0);
    let from: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
    let mut to = [0u8; 8];
    unsafe {
        assert_eq!(cudaMalloc(&mut at, 8), OK);
        assert_eq!(cudaStreamCreate(&mut stream), OK);
        let source = from.as_ptr() as u64;
        let (targets, sources, sizes) = ([at, at + 4], [source + 4, source], [4, 4]);
        let batch = |stream| {
            cudaMemcpyBatchAsync_13(
                targets.as_ptr(),
                sources.as_ptr(),
                sizes.as_ptr(),
                2,
                null(),
                null(),
                0,
                stream,
            )
        };
        assert_eq!(batch(stream), OK);
        assert_eq!(batch(0), INVALID_VALUE, "not on a default stream");
        assert_eq!(cudaStreamSynchronize(stream), OK);
        assert_eq!(cudaMemcpy(to.as_mut_ptr() as u64, at, 8, TO_HOST), OK);
        assert_eq!(to, [5, 6, 7, 8, 1, 2, 3, 4]);
        assert_eq!(cudaStreamDestroy(stream), OK);
        assert_eq!(cudaFree(at), OK);
    }
}
