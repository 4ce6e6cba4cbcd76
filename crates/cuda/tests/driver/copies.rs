// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies in one, two and three dimensions.

use warpwatt_cuda::abi::driver::{Memcpy2d, Memcpy3d};
use warpwatt_cuda::driver::batch::*;
use warpwatt_cuda::driver::copy::*;
use warpwatt_cuda::driver::memory::*;
use warpwatt_cuda::driver::stream::*;
use warpwatt_cuda::driver::{In, Out};

use crate::setup::*;

const HOST: u32 = 1;
const DEVICE: u32 = 2;

#[test]
fn copies_go_everywhere() {
    let _turn = ready();
    let (a, b) = (buffer(&[1, 2, 3, 4]), buffer(&[0; 4]));
    ok(cuMemcpyDtoD_v2(b, a, 16));
    assert_eq!(read(b, 4), [1, 2, 3, 4]);
    ok(cuMemcpyDtoDAsync_v2(b + 4, a, 8, 0));
    ok(cuMemcpy_ptds(a, b, 16));
    assert_eq!(read(a, 4), [1, 1, 2, 4]);
    let mut here = [0u32; 4];
    ok(cuMemcpyAsync(here.as_mut_ptr() as u64, a, 16, 0));
    assert_eq!(here, [1, 1, 2, 4], "a copy to ordinary memory is done when it returns");
    ok(cuMemcpyPeer(b, 0, a, 0, 16));
    assert_eq!(
        cuMemcpyHtoD_v2(here.as_ptr() as u64, here.as_ptr() as u64, 16),
        INVALID_VALUE,
        "not the device's"
    );
    assert_eq!(cuMemcpyDtoH_v2(0, a, 16), INVALID_VALUE);
    assert_ne!(cuMemcpyDtoD_v2(b, a, 64), 0, "beyond their ends");
    ok(cuMemcpyDtoH_v2(here.as_mut_ptr() as u64, a, 0));
}

#[test]
fn asynchronous_copies_follow_the_order_of_their_stream() {
    let _turn = ready();
    let scale = function(module(), c"scale");
    let (mut stream, mut pinned) = (0, 0);
    ok(cuStreamCreate(Out::from(&mut stream), 1));
    ok(cuMemAllocHost_v2(Out::from(&mut pinned), 16));
    Out::<u32>::at(pinned).put_all([1, 2, 3, 4]).unwrap();
    let at = buffer(&[0; 4]);
    ok(cuMemcpyHtoDAsync_v2(at, pinned, 16, stream));
    ok(launch(scale, 1, 4, stream, &Arguments::new(&[at, 4, 10])));
    ok(cuMemcpyDtoHAsync_v2(pinned, at, 16, stream));
    ok(cuStreamSynchronize(stream));
    assert_eq!(In::<u32>::at(pinned).list(4).unwrap(), [10, 21, 32, 43]);
    ok(cuStreamDestroy_v2(stream));
    ok(cuMemFreeHost(pinned));
}

#[test]
fn boxes_are_cut_out_of_rows_and_slices() {
    let _turn = ready();
    let words: Vec<u32> = (0..24).collect();
    let at = buffer(&words);
    // Rows of 6 words: the 2 by 3 box at column 1, row 1.
    let mut cut = [0u32; 6];
    let copy = Memcpy2d {
        src_x: 4,
        src_y: 1,
        src_type: DEVICE,
        src_device: at,
        src_pitch: 24,
        dst_type: HOST,
        dst_host: cut.as_mut_ptr() as u64,
        dst_pitch: 8,
        width: 8,
        height: 3,
        ..Memcpy2d::default()
    };
    ok(cuMemcpy2D_v2(In::from(&copy)));
    assert_eq!(cut, [7, 8, 13, 14, 19, 20]);
    // Slices of 2 rows of 3 words: the last word of each row of the last two slices.
    let mut last = [0u32; 4];
    let copy = Memcpy3d {
        src_x: 8,
        src_z: 2,
        src_type: DEVICE,
        src_device: at,
        src_pitch: 12,
        src_height: 2,
        dst_type: HOST,
        dst_host: last.as_mut_ptr() as u64,
        dst_pitch: 4,
        dst_height: 2,
        width: 4,
        height: 2,
        depth: 2,
        ..Memcpy3d::default()
    };
    ok(cuMemcpy3D_v2(In::from(&copy)));
    assert_eq!(last, [14, 17, 20, 23]);
    assert_eq!(cuMemcpy3D_v2(In::from(&Memcpy3d { src_lod: 1, ..copy })), INVALID_VALUE);
    assert_eq!(cuMemcpy3D_v2(In::from(&Memcpy3d { src_type: 9, ..copy })), INVALID_VALUE);
    assert_eq!(cuMemcpy3D_v2(In::NULL), INVALID_VALUE);
    assert_ne!(cuMemcpy3D_v2(In::from(&Memcpy3d { src_pitch: 2, ..copy })), 0, "rows overlap");
    assert_ne!(cuMemcpy3D_v2(In::from(&Memcpy3d { depth: 9, ..copy })), 0, "beyond its end");
}

#[test]
fn a_batch_says_which_copy_failed() {
    let _turn = ready();
    let (a, b) = (buffer(&[1, 2]), buffer(&[0, 0]));
    let (to, from, sizes) = ([b, b + 4], [a + 4, a], [4, 4]);
    let mut failed = 0;
    let none = In::NULL;
    let batch = |to: &[u64; 2], failed: Out<usize>| {
        let (to, from, sizes) = (In::first(to), In::first(&from), In::first(&sizes));
        cuMemcpyBatchAsync(to, from, sizes, 2, none, In::NULL, 0, failed, 0)
    };
    ok(batch(&to, Out::from(&mut failed)));
    assert_eq!((failed, read(b, 2)), (usize::MAX, vec![2, 1]));
    assert_ne!(batch(&[b, 0], Out::from(&mut failed)), 0);
    assert_eq!(failed, 1);
}
