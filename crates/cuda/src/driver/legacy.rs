// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches as before CUDA 4: a function keeps its block, its shared memory and its arguments, which are set one by one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::core::launch::{Arguments, Launch};
use crate::core::{Code, Result};
use crate::driver::{In, api, with};

/// The largest parameter block of a kernel.
const MOST: usize = 4096;

#[derive(Clone)]
struct Prepared {
    block: [u32; 3],
    shared: u32,
    params: Vec<u8>,
}

static PREPARED: Mutex<Option<FxHashMap<u64, Prepared>>> = Mutex::new(None);

fn prepared() -> MutexGuard<'static, Option<FxHashMap<u64, Prepared>>> {
    PREPARED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn change(function: u64, call: impl FnOnce(&mut Prepared) -> Result<()>) -> Result<()> {
    with(|core| core.functions.get(function).map(|_| ()))?;
    let mut all = prepared();
    let fresh = || Prepared { block: [1; 3], shared: 0, params: Vec::new() };
    call(all.get_or_insert_default().entry(function).or_insert_with(fresh))
}

fn set(function: u64, offset: i32, bytes: &[u8]) -> Result<()> {
    let start = usize::try_from(offset).map_err(|_| Code::INVALID_VALUE)?;
    let end = start.checked_add(bytes.len()).filter(|&end| end <= MOST).ok_or(Code::INVALID_VALUE)?;
    change(function, |of| {
        if of.params.len() < end {
            of.params.resize(end, 0);
        }
        of.params[start..end].copy_from_slice(bytes);
        Ok(())
    })
}

fn launch(function: u64, width: i32, height: i32, stream: u64) -> Result<()> {
    let side = |n: i32| u32::try_from(n).map_err(|_| Code::INVALID_VALUE);
    let grid = [side(width)?, side(height)?, 1];
    change(function, |_| Ok(()))?;
    let of = prepared().as_ref().and_then(|all| all.get(&function).cloned()).ok_or(Code::INVALID_HANDLE)?;
    with(|core| {
        // SAFETY: a block of bytes needs nothing.
        let args = unsafe { core.arguments(function, Arguments::Packed(&of.params)) }?;
        let launch = Launch { function, grid, block: of.block, shared: of.shared, cooperative: false, args };
        crate::driver::launch::launch(core, stream, launch)
    })
}

api! {
    fn cuFuncSetBlockShape(function: u64, x: i32, y: i32, z: i32) {
        let mut block = [0; 3];
        for (side, n) in block.iter_mut().zip([x, y, z]) {
            *side = u32::try_from(n).ok().filter(|&n| n > 0).ok_or(Code::INVALID_VALUE)?;
        }
        change(function, |of| {
            of.block = block;
            Ok(())
        })
    }

    fn cuFuncSetSharedSize(function: u64, bytes: u32) {
        change(function, |of| {
            of.shared = bytes;
            Ok(())
        })
    }

    fn cuParamSetSize(function: u64, bytes: u32) {
        let bytes = Some(bytes as usize).filter(|&bytes| bytes <= MOST).ok_or(Code::INVALID_VALUE)?;
        change(function, |of| {
            of.params.resize(bytes, 0);
            Ok(())
        })
    }

    fn cuParamSeti(function: u64, offset: i32, value: u32) {
        set(function, offset, &value.to_le_bytes())
    }

    fn cuParamSetf(function: u64, offset: i32, value: f32) {
        set(function, offset, &value.to_le_bytes())
    }

    fn cuParamSetv(function: u64, offset: i32, value: In<u8>, bytes: u32) {
        set(function, offset, &value.list((bytes as usize).min(MOST + 1))?)
    }

    fn cuParamSetTexRef(function: u64, _unit: i32, _reference: u64) {
        // Kernels find their texture references by themselves.
        change(function, |_| Ok(()))
    }

    fn cuLaunch(function: u64) {
        launch(function, 1, 1, 0)
    }

    fn cuLaunchGrid(function: u64, width: i32, height: i32) {
        launch(function, width, height, 0)
    }

    fn cuLaunchGridAsync(function: u64, width: i32, height: i32, stream: u64) {
        launch(function, width, height, stream)
    }
}
