// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions that take many operations at once: copies, prefetches, writes in stream order.

use crate::abi::driver::{Batch3d, MemLocation, MemOp, Operand3d};
use crate::core::copy::{Copy, Direction, Plane};
use crate::core::{Code, Result};
use crate::driver::copy::copy;
use crate::driver::memory::{check_location, check_managed};
use crate::driver::{In, Out, api, fill, with};

/// Where `failIdx` gets the number of the operation that failed.
fn each<T>(items: &[T], failed: Out<usize>, mut call: impl FnMut(&T) -> Result<()>) -> Result<()> {
    for (k, item) in items.iter().enumerate() {
        call(item).inspect_err(|_| failed.put_if(k))?;
    }
    Ok(())
}

fn copies(
    to: In<u64>,
    from: In<u64>,
    sizes: In<usize>,
    count: usize,
    failed: Out<usize>,
    stream: u64,
) -> Result<()> {
    if count == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let (to, from, sizes) = (to.list(count)?, from.list(count)?, sizes.list(count)?);
    let items: Vec<_> = to.into_iter().zip(from).zip(sizes).collect();
    each(&items, failed, |&((to, from), bytes)| {
        copy(stream, Copy::flat(to, from, bytes as u64), Direction::Any, false)
    })
}

/// One end of a batched copy. Lengths of rows and heights of layers count elements, which for plain memory are bytes.
fn plane(operand: &Operand3d) -> Result<Plane> {
    match operand.kind {
        1 => {
            let mut plane = Plane::pitched(operand.at, operand.a);
            plane.rows = operand.b;
            Ok(plane)
        }
        2 => Ok(Plane::array(operand.at, operand.a, operand.b, operand.c)),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn boxes(list: &[Batch3d], failed: Out<usize>, stream: u64) -> Result<()> {
    each(list, failed, |operation| {
        let (to, from) = (plane(&operation.dst)?, plane(&operation.src)?);
        let extent = [operation.width, operation.height, operation.depth];
        copy(stream, Copy { to, from, extent }, Direction::Any, false)
    })
}

fn ranges(at: In<u64>, sizes: In<usize>, count: usize, flags: u64, stream: u64) -> Result<()> {
    if count == 0 || flags != 0 {
        return Err(Code::INVALID_VALUE);
    }
    let (at, sizes) = (at.list(count)?, sizes.list(count)?);
    with(|core| {
        core.stream(stream, false)?;
        at.iter().zip(sizes).try_for_each(|(&at, bytes)| check_managed(core, at, bytes))
    })
}

fn locations(list: In<MemLocation>, count: usize) -> Result<()> {
    list.list(count)?.into_iter().try_for_each(check_location)
}

const WRITE_32: u32 = 2;
const FLUSH: u32 = 3;
const WRITE_64: u32 = 5;
const BARRIER: u32 = 6;

fn operations(stream: u64, count: u32, list: In<MemOp>) -> Result<()> {
    let list = list.list(count as usize)?;
    let known = |operation: &MemOp| matches!(operation.operation, WRITE_32 | WRITE_64 | FLUSH | BARRIER);
    if !list.iter().all(known) {
        // Waiting for a value in memory has no place in an order that is fixed before anything runs.
        return Err(Code::NOT_SUPPORTED);
    }
    for operation in list {
        let (at, value) = (operation.address, operation.value);
        match operation.operation {
            WRITE_32 => fill::write(stream, at, &[value as u32])?,
            WRITE_64 => fill::write(stream, at, &[value as u32, (value >> 32) as u32])?,
            // Later work in a stream sees all earlier work.
            _ => (),
        }
    }
    Ok(())
}

api! {
    fn cuMemcpyBatchAsync [cuMemcpyBatchAsync_ptsz: stream] (
        to: In<u64>,
        from: In<u64>,
        sizes: In<usize>,
        count: usize,
        _attributes: In<u64>,
        _attribute_starts: In<usize>,
        _attribute_count: usize,
        failed: Out<usize>,
        stream: u64,
    ) {
        failed.put_if(usize::MAX);
        copies(to, from, sizes, count, failed, stream)
    }

    fn cuMemcpyBatchAsync_v2 [cuMemcpyBatchAsync_v2_ptsz: stream] (
        to: In<u64>,
        from: In<u64>,
        sizes: In<usize>,
        count: usize,
        _attributes: In<u64>,
        _attribute_starts: In<usize>,
        _attribute_count: usize,
        stream: u64,
    ) {
        copies(to, from, sizes, count, Out::NULL, stream)
    }

    fn cuMemcpy3DBatchAsync [cuMemcpy3DBatchAsync_ptsz: stream] (
        count: usize,
        list: In<Batch3d>,
        failed: Out<usize>,
        flags: u64,
        stream: u64,
    ) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        failed.put_if(usize::MAX);
        boxes(&list.list(count)?, failed, stream)
    }

    fn cuMemcpy3DBatchAsync_v2 [cuMemcpy3DBatchAsync_v2_ptsz: stream] (
        count: usize,
        list: In<Batch3d>,
        flags: u64,
        stream: u64,
    ) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        boxes(&list.list(count)?, Out::NULL, stream)
    }

    fn cuMemcpyWithAttributesAsync [cuMemcpyWithAttributesAsync_ptsz: stream] (
        to: u64,
        from: u64,
        bytes: usize,
        _attributes: In<u64>,
        stream: u64,
    ) {
        copy(stream, Copy::flat(to, from, bytes as u64), Direction::Any, false)
    }

    fn cuMemcpy3DWithAttributesAsync [cuMemcpy3DWithAttributesAsync_ptsz: stream] (
        operation: In<Batch3d>,
        flags: u64,
        stream: u64,
    ) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        boxes(&[operation.get()?], Out::NULL, stream)
    }

    fn cuMemPrefetchBatchAsync [cuMemPrefetchBatchAsync_ptsz: stream] (
        at: In<u64>,
        sizes: In<usize>,
        count: usize,
        places: In<MemLocation>,
        _place_starts: In<usize>,
        place_count: usize,
        flags: u64,
        stream: u64,
    ) {
        locations(places, place_count)?;
        ranges(at, sizes, count, flags, stream)
    }

    fn cuMemDiscardBatchAsync [cuMemDiscardBatchAsync_ptsz: stream] (
        at: In<u64>,
        sizes: In<usize>,
        count: usize,
        flags: u64,
        stream: u64,
    ) {
        ranges(at, sizes, count, flags, stream)
    }

    fn cuMemDiscardAndPrefetchBatchAsync [cuMemDiscardAndPrefetchBatchAsync_ptsz: stream] (
        at: In<u64>,
        sizes: In<usize>,
        count: usize,
        places: In<MemLocation>,
        _place_starts: In<usize>,
        place_count: usize,
        flags: u64,
        stream: u64,
    ) {
        locations(places, place_count)?;
        ranges(at, sizes, count, flags, stream)
    }

    fn cuStreamBatchMemOp [cuStreamBatchMemOp_ptsz: stream] (stream: u64, count: u32, list: In<MemOp>, _flags: u32) {
        operations(stream, count, list)
    }

    fn cuStreamBatchMemOp_v2 [cuStreamBatchMemOp_v2_ptsz: stream] (
        stream: u64,
        count: u32,
        list: In<MemOp>,
        _flags: u32,
    ) {
        operations(stream, count, list)
    }
}
