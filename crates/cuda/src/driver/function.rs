// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions and their attributes (`CUfunction_attribute`).

use crate::core::{Code, Core, Result};
use crate::driver::{Out, api, lasting, with};

/// Largest amount of dynamic shared memory that a launch may ask for: `MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const DYNAMIC_SHARED: u32 = 8;
const CARVEOUT: u32 = 9;

pub(crate) fn attribute(core: &mut Core, function: u64, number: u32) -> Result<i32> {
    let of = core.attributes(function)?;
    let (dynamic_shared, carveout) = {
        let function = core.functions.get(function)?;
        (function.dynamic_shared, function.carveout)
    };
    let limits = core.limits();
    let value = match number {
        0 => of.max_threads.min(limits.threads_per_block),
        1 => of.shared_bytes,
        2 => of.const_bytes,
        3 => of.local_bytes,
        4 => of.registers,
        5 | 6 => core.architecture(function)?,
        7 => 0,
        DYNAMIC_SHARED if dynamic_shared > 0 => dynamic_shared,
        DYNAMIC_SHARED => limits.shared_per_block.saturating_sub(of.shared_bytes),
        CARVEOUT => return Ok(carveout),
        // Clusters, which we do not have.
        10..=15 => 0,
        _ => return Err(Code::INVALID_VALUE),
    };
    Ok(value as i32)
}

pub(crate) fn set_attribute(core: &mut Core, function: u64, number: u32, value: i32) -> Result<()> {
    core.functions.get(function)?;
    match number {
        DYNAMIC_SHARED => {
            let fixed = core.attributes(function)?.shared_bytes;
            let most = core.limits().shared_per_block.saturating_sub(fixed);
            let value =
                u32::try_from(value).ok().filter(|&value| value <= most).ok_or(Code::INVALID_VALUE)?;
            core.functions.get_mut(function)?.dynamic_shared = value;
        }
        CARVEOUT => {
            if !(-1..=100).contains(&value) {
                return Err(Code::INVALID_VALUE);
            }
            core.functions.get_mut(function)?.carveout = value;
        }
        // A cluster of one block is any launch.
        11..=13 if value <= 1 => (),
        10 | 14 | 15 if value == 0 => (),
        10..=15 => return Err(Code::NOT_SUPPORTED),
        _ => return Err(Code::INVALID_VALUE),
    }
    Ok(())
}

pub(crate) fn set_cache(core: &mut Core, function: u64, config: u32) -> Result<()> {
    if config > 3 {
        return Err(Code::INVALID_VALUE);
    }
    core.functions.get_mut(function)?.cache = config as i32;
    Ok(())
}

pub(crate) fn lasting_name(core: &Core, function: u64) -> Result<u64> {
    Ok(lasting(&core.functions.get(function)?.name))
}

pub(crate) fn parameter(
    core: &Core,
    function: u64,
    index: usize,
    offset: Out<usize>,
    size: Out<usize>,
) -> Result<()> {
    let params = &core.functions.get(function)?.params;
    let &(at, bytes) = params.get(index).ok_or(Code::INVALID_VALUE)?;
    offset.put(at as usize)?;
    size.put_if(bytes as usize);
    Ok(())
}

api! {
    fn cuFuncGetAttribute(value: Out<i32>, number: u32, function: u64) {
        value.check()?;
        value.put(with(|core| attribute(core, function, number))?)
    }

    fn cuFuncSetAttribute(function: u64, number: u32, value: i32) {
        with(|core| set_attribute(core, function, number, value))
    }

    fn cuFuncSetCacheConfig(function: u64, config: u32) {
        with(|core| set_cache(core, function, config))
    }

    fn cuFuncSetSharedMemConfig(function: u64, config: u32) {
        if config > 2 {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| core.functions.get(function).map(|_| ()))
    }

    fn cuFuncGetModule(module: Out<u64>, function: u64) {
        module.check()?;
        module.put(with(|core| Ok(core.functions.get(function)?.module))?)
    }

    fn cuFuncGetName(name: Out<u64>, function: u64) {
        name.check()?;
        name.put(with(|core| lasting_name(core, function))?)
    }

    fn cuFuncGetParamInfo(function: u64, index: usize, offset: Out<usize>, size: Out<usize>) {
        with(|core| parameter(core, function, index, offset, size))
    }

    fn cuFuncGetParamCount(function: u64, count: Out<usize>) {
        count.check()?;
        count.put(with(|core| Ok(core.functions.get(function)?.params.len()))?)
    }

    fn cuFuncIsLoaded(state: Out<u32>, function: u64) {
        state.check()?;
        with(|core| core.functions.get(function).map(|_| ()))?;
        state.put(1)
    }

    fn cuFuncLoad(function: u64) {
        with(|core| core.attributes(function).map(|_| ()))
    }
}
