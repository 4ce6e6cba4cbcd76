// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface objects, and texture references.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use warpwatt_cuda::abi::runtime::{
    ChannelDesc, Dim3, ResourceDesc, ResourceDesc13, TextureDesc, TextureDesc12,
};
use warpwatt_cuda::rt::array::*;
use warpwatt_cuda::rt::copy_array::cudaMemcpyToArray;
use warpwatt_cuda::rt::event::cudaDeviceSynchronize;
use warpwatt_cuda::rt::launch::cudaLaunchKernel;
use warpwatt_cuda::rt::memory::{cudaFree, cudaMalloc};
use warpwatt_cuda::rt::texture::*;
use warpwatt_cuda::rt::texture_reference::*;

use crate::launches::{download, upload};
use crate::*;

const WORDS: ChannelDesc = ChannelDesc { x: 32, y: 0, z: 0, w: 0, f: 1 };
const ONE: Dim3 = Dim3 { x: 1, y: 1, z: 1 };
const FOUR: Dim3 = Dim3 { x: 4, y: 1, z: 1 };

fn linear(at: u64) -> ResourceDesc {
    ResourceDesc { kind: 2, handle: at, desc: WORDS, bytes_or_width: 16, height: 0, pitch: 0 }
}

fn of_array(array: u64) -> ResourceDesc {
    ResourceDesc { kind: 0, handle: array, ..linear(0) }
}

fn plain() -> TextureDesc12 {
    let head = TextureDesc {
        address: [1; 3],
        filter: 0,
        read: 0,
        srgb: 0,
        border: [0.0; 4],
        normalized: 0,
        anisotropy: 0,
        mip_filter: 0,
        mip_bias: 0.0,
        mip_min: 0.0,
        mip_max: 0.0,
        disable_trilinear: 0,
    };
    TextureDesc12 { head, seamless_cubemap: 0 }
}

fn fetch(texture: u64) -> [u32; 4] {
    let at = upload([0; 4]);
    let args = [(&raw const at).cast::<c_void>(), (&raw const texture).cast()];
    unsafe {
        assert_eq!(cudaLaunchKernel(host!(fetch), ONE, FOUR, args.as_ptr(), 0, 0), OK);
        let values = download(at);
        assert_eq!(cudaFree(at), OK);
        values
    }
}

#[test]
fn objects_read_linear_memory_and_arrays() {
    let _turn = device();
    let at = upload([10, 20, 30, 40]);
    let (mut texture, mut array) = (0, 0);
    unsafe {
        assert_eq!(cudaCreateTextureObject_12(&mut texture, &linear(at), &plain(), null()), OK);
        assert_eq!(fetch(texture), [10, 20, 30, 40]);
        let mut told: ResourceDesc13 = std::mem::zeroed();
        let mut how: TextureDesc12 = std::mem::zeroed();
        assert_eq!(cudaGetTextureObjectResourceDesc_13(&mut told, texture), OK);
        assert_eq!((told.head.kind, told.head.handle, told.head.bytes_or_width), (2, at, 16));
        assert_eq!(cudaGetTextureObjectTextureDesc_12(&mut how, texture), OK);
        assert_eq!(how.head.address, [1; 3]);
        assert_eq!(cudaDestroyTextureObject(texture), OK);
        assert_eq!(cudaDestroyTextureObject(texture), INVALID_VALUE);

        assert_eq!(cudaMallocArray(&mut array, &WORDS, 4, 0, 0), OK);
        let texels = [7u32, 8, 9, 10];
        assert_eq!(cudaMemcpyToArray(array, 0, 0, texels.as_ptr() as u64, 16, TO_DEVICE), OK);
        assert_eq!(cudaCreateTextureObject_11(&mut texture, &of_array(array), &plain().head, null()), OK);
        assert_eq!(fetch(texture), texels);
        assert_eq!(cudaDestroyTextureObject(texture), OK);
        assert_eq!(cudaFreeArray(array), OK);
        assert_eq!(cudaFree(at), OK);
    }
}

#[test]
fn objects_that_cannot_be_are_refused() {
    let _turn = device();
    let at = upload([0; 4]);
    let mut texture = 0;
    let mut filtered = plain();
    filtered.head.filter = 1;
    let mut as_float = plain();
    as_float.head.read = 1;
    unsafe {
        let create = |place: *mut u64, resource: &ResourceDesc, how: &TextureDesc12| {
            cudaCreateTextureObject_12(place, resource, how, null())
        };
        assert_eq!(create(null_mut(), &linear(at), &plain()), INVALID_VALUE);
        assert_eq!(create(&mut texture, &linear(0), &plain()), INVALID_VALUE);
        assert_eq!(create(&mut texture, &linear(at), &filtered), 26);
        assert_eq!(create(&mut texture, &linear(at), &as_float), 27);
        assert_eq!(create(&mut texture, &of_array(99), &plain()), INVALID_HANDLE);
        let odd = ResourceDesc { desc: ChannelDesc { x: 24, ..WORDS }, ..linear(at) };
        assert_eq!(create(&mut texture, &odd, &plain()), 20);
        let long = ResourceDesc { bytes_or_width: 4096, ..linear(at) };
        assert_eq!(create(&mut texture, &long, &plain()), OK, "as with the driver");
        assert_eq!(cudaDestroyTextureObject(texture), OK);
        assert_eq!(create(&mut texture, &ResourceDesc { kind: 9, ..linear(at) }, &plain()), INVALID_VALUE);
        assert_eq!(cudaCreateTextureObject_12(&mut texture, &linear(at), null(), null()), INVALID_VALUE);
        assert_eq!(cudaCreateSurfaceObject(&mut texture, &linear(at)), INVALID_VALUE);
        assert_eq!(cudaDestroySurfaceObject(12345), INVALID_VALUE);
        assert_eq!(cudaFree(at), OK);
    }
}

#[test]
fn surfaces_are_of_arrays() {
    let _turn = device();
    let (mut array, mut surface) = (0, 0);
    unsafe {
        assert_eq!(cudaMallocArray(&mut array, &WORDS, 4, 4, 2), OK);
        assert_eq!(cudaCreateSurfaceObject(&mut surface, &of_array(array)), OK);
        let mut told: ResourceDesc = std::mem::zeroed();
        assert_eq!(cudaGetSurfaceObjectResourceDesc_11(&mut told, surface), OK);
        assert_eq!(told.handle, array);
        assert_eq!(cudaDestroyTextureObject(surface), INVALID_VALUE, "it is a surface");
        assert_eq!(cudaDestroySurfaceObject(surface), OK);
        assert_eq!(cudaFreeArray(array), OK);
    }
}

#[test]
fn references_are_bound_again_and_again() {
    let _turn = device();
    let (first, second, out) = (upload([1, 2, 3, 4]), upload([5, 6, 7, 8]), upload([0; 4]));
    let args = [(&raw const out).cast::<c_void>()];
    let mut offset = 9;
    let mut texture = host!(picture);
    unsafe {
        let run = || cudaLaunchKernel(host!(fetch_reference), ONE, FOUR, args.as_ptr(), 0, 0);
        assert_eq!(cudaGetTextureReference(&mut texture, host!(picture)), OK);
        assert_eq!(cudaBindTexture(&mut offset, texture, first, &WORDS, 16), OK);
        assert_eq!(offset, 0);
        assert_eq!(run(), OK);
        // Not run yet: the kernel sees what was bound when it was launched.
        assert_eq!(cudaBindTexture(null_mut(), texture, second, &WORDS, u32::MAX as usize), OK);
        assert_eq!(download(out), [1, 2, 3, 4]);
        assert_eq!(run(), OK);
        assert_eq!(download(out), [5, 6, 7, 8]);
        assert_eq!(cudaUnbindTexture(texture), OK);

        assert_eq!(cudaBindTexture(&mut offset, host!(stranger), first, &WORDS, 16), 18);
        // As with the driver, a size may be larger than the memory: what is not there reads as nothing.
        assert_eq!(cudaBindTexture(&mut offset, texture, first + 8, &WORDS, 4096), OK);
        assert_eq!(run(), OK);
        assert_eq!(download(out), [3, 4, 0, 0]);
        assert_eq!(cudaBindTexture(&mut offset, texture, 0, &WORDS, 16), INVALID_VALUE);
        assert_eq!(cudaBindTextureToArray(texture, 4242, null()), INVALID_HANDLE);
        assert_eq!(cudaGetSurfaceReference(&mut texture, host!(picture)), 37);
        assert_eq!(cudaDeviceSynchronize(), OK);
        let mut place = 0;
        assert_eq!(cudaMalloc(&mut place, 4), OK);
        for at in [first, second, out, place] {
            assert_eq!(cudaFree(at), OK);
        }
    }
}
