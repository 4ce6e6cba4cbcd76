// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many blocks of a kernel are alive at a time, and which block keeps an SM busiest.

use crate::abi::driver::LaunchConfig;
use crate::core::{Code, Core, Result};
use crate::driver::{In, Out, api, with};

const WARP: u32 = 32;

/// Blocks per SM, or 0 if the block is too large for the kernel.
pub(crate) fn blocks(core: &mut Core, function: u64, threads: u32, shared: u64) -> Result<u32> {
    let limits = core.limits();
    let of = core.attributes(function)?;
    let Ok(shared) = u32::try_from(shared) else { return Ok(0) };
    let room = limits.shared_per_block.saturating_sub(of.shared_bytes);
    if threads > of.max_threads.min(limits.threads_per_block) || shared > room {
        return Ok(0);
    }
    core.occupancy(function, threads, shared)
}

fn active(count: Out<i32>, function: u64, threads: i32, shared: usize) -> Result<()> {
    count.check()?;
    let threads = u32::try_from(threads).ok().filter(|&n| n > 0).ok_or(Code::INVALID_VALUE)?;
    count.put(with(|core| blocks(core, function, threads, shared as u64))? as i32)
}

/// The largest of those block sizes that keep the most threads alive, and how many blocks fill the device.
fn best(function: u64, shared: impl Fn(u32) -> u64, limit: i32) -> Result<(i32, i32)> {
    let (limits, of) = with(|core| Ok((core.limits(), core.attributes(function)?)))?;
    let most = of.max_threads.min(limits.threads_per_block);
    let most = if limit > 0 { most.min(limit as u32) } else { most };
    let (mut threads, mut best, mut answer) = (most.next_multiple_of(WARP), 0, (0, 0));
    while threads > 0 && best < limits.threads_per_sm {
        let block = threads.min(most);
        // The program's function is called while the device is not locked.
        let dynamic = shared(block);
        let count = with(|core| blocks(core, function, block, dynamic))?;
        if count * block > best {
            best = count * block;
            answer = ((count * limits.sms) as i32, block as i32);
        }
        threads -= WARP;
    }
    Ok(answer)
}

fn potential(
    grid: Out<i32>,
    block: Out<i32>,
    function: u64,
    callback: u64,
    shared: usize,
    limit: i32,
) -> Result<()> {
    grid.check()?;
    block.check()?;
    let dynamic = |threads: u32| match callback {
        0 => shared as u64,
        callback => {
            // SAFETY: the program passed the function to be called so, and vouches for it.
            let call: extern "C" fn(i32) -> usize = unsafe { std::mem::transmute(callback as usize) };
            call(threads as i32) as u64
        }
    };
    let (blocks, threads) = best(function, dynamic, limit)?;
    grid.put(blocks)?;
    block.put(threads)
}

api! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(count: Out<i32>, function: u64, threads: i32, shared: usize) {
        active(count, function, threads, shared)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        count: Out<i32>,
        function: u64,
        threads: i32,
        shared: usize,
        flags: u32,
    ) {
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        active(count, function, threads, shared)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<i32>,
        block: Out<i32>,
        function: u64,
        callback: u64,
        shared: usize,
        limit: i32,
    ) {
        potential(grid, block, function, callback, shared, limit)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<i32>,
        block: Out<i32>,
        function: u64,
        callback: u64,
        shared: usize,
        limit: i32,
        flags: u32,
    ) {
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        potential(grid, block, function, callback, shared, limit)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, function: u64, count: i32, threads: i32) {
        bytes.check()?;
        let (count, threads) = match (u32::try_from(count), u32::try_from(threads)) {
            (Ok(count), Ok(threads)) if count > 0 && threads > 0 => (count, threads),
            _ => return Err(Code::INVALID_VALUE),
        };
        let room = with(|core| {
            if blocks(core, function, threads, 0)? < count {
                return Err(Code::INVALID_VALUE);
            }
            // Shared memory is handed out in units, so the answer is found, not computed.
            let (mut fits, mut beyond) = (0, core.limits().shared_per_block + 1);
            while beyond - fits > 1 {
                let middle = fits + (beyond - fits) / 2;
                match blocks(core, function, threads, u64::from(middle))? >= count {
                    true => fits = middle,
                    false => beyond = middle,
                }
            }
            Ok(fits)
        })?;
        bytes.put(room as usize)
    }

    fn cuOccupancyMaxPotentialClusterSize(size: Out<i32>, function: u64, _config: In<LaunchConfig>) {
        size.check()?;
        with(|core| core.functions.get(function).map(|_| ()))?;
        size.put(1)
    }

    fn cuOccupancyMaxActiveClusters(count: Out<i32>, function: u64, config: In<LaunchConfig>) {
        count.check()?;
        let config = config.get()?;
        let threads = config.block.iter().fold(1u32, |product, &n| product.saturating_mul(n));
        let clusters = with(|core| {
            let per_sm = blocks(core, function, threads, config.shared_bytes.into())?;
            Ok(per_sm * core.limits().sms)
        })?;
        count.put(clusters as i32)
    }
}
