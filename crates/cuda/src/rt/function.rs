// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of a kernel, and how many of its blocks are alive at a time.

use std::ffi::c_char;

use crate::abi::runtime::{FuncAttributes, FuncAttributes12, LaunchConfig};
use crate::core::{Code, Core, Result};
use crate::driver::function::{attribute, lasting_name, parameter, set_attribute, set_cache};
use crate::driver::occupancy::{
    cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
};
use crate::driver::{Out, occupancy};
use crate::rt::api::{get, put, runtime};
use crate::rt::{pass, registry, with};

/// Does something with the function of a host address.
fn of<R>(host: u64, call: impl FnOnce(&mut Core, u64) -> Result<R>) -> Result<R> {
    with(|core| {
        let function = registry::function(core, host)?;
        call(core, function)
    })
}

fn attributes(host: u64) -> Result<FuncAttributes> {
    of(host, |core, function| {
        let mut value = |number| attribute(core, function, number);
        Ok(FuncAttributes {
            shared: value(1)? as usize,
            constant: value(2)? as usize,
            local: value(3)? as usize,
            max_threads: value(0)?,
            registers: value(4)?,
            ptx_version: value(5)?,
            binary_version: value(6)?,
            cache_mode_ca: value(7)?,
            max_dynamic_shared: value(8)?,
            carveout: value(9)?,
        })
    })
}

runtime! {
    in11 fn cudaFuncGetAttributes_11 as cudaFuncGetAttributes(place: *mut FuncAttributes, host: u64) unsafe {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        put(place, attributes(host)?)
    }

    since12 fn cudaFuncGetAttributes_12 as cudaFuncGetAttributes(place: *mut FuncAttributes12, host: u64) unsafe {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let FuncAttributes {
            shared, constant, local, max_threads, registers, ptx_version, binary_version, cache_mode_ca,
            max_dynamic_shared, carveout,
        } = attributes(host)?;
        put(place, FuncAttributes12 {
            shared, constant, local, max_threads, registers, ptx_version, binary_version, cache_mode_ca,
            max_dynamic_shared, carveout,
            cluster_must_be_set: 0, cluster: [0; 3], cluster_policy: 0, non_portable_cluster: 0, reserved: [0; 16],
        })
    }

    all fn cudaFuncSetAttribute(host: u64, number: u32, value: i32) {
        // The first eight are for reading.
        if number < 8 {
            return Err(Code::INVALID_VALUE);
        }
        of(host, |core, function| set_attribute(core, function, number, value))
    }

    since12 fn cudaKernelSetAttributeForDevice(kernel: u64, number: u32, value: i32, device: i32) {
        crate::rt::check_device(device)?;
        if number < 8 {
            return Err(Code::INVALID_VALUE);
        }
        of(kernel, |core, function| set_attribute(core, function, number, value))
    }

    all fn cudaFuncSetCacheConfig(host: u64, config: u32) {
        of(host, |core, function| set_cache(core, function, config))
    }

    all fn cudaFuncSetSharedMemConfig(host: u64, config: u32) {
        of(host, |_, _| if config > 2 { Err(Code::INVALID_VALUE) } else { Ok(()) })
    }

    since12 fn cudaFuncGetName(place: *mut *const c_char, host: u64) unsafe {
        let name = of(host, |core, function| lasting_name(core, function))?;
        put(place, name as *const c_char)
    }

    only13 fn cudaFuncGetParamCount(host: u64, place: *mut usize) unsafe {
        let count = of(host, |core, function| Ok(core.functions.get(function)?.params.len()))?;
        put(place, count)
    }

    since12 fn cudaFuncGetParamInfo(host: u64, index: usize, offset: *mut usize, size: *mut usize) {
        of(host, |core, function| parameter(core, function, index, Out::at(offset as u64), Out::at(size as u64)))
    }

    // Functions and kernels of the driver API have the handles that `core` gives.
    all fn cudaGetFuncBySymbol(place: *mut u64, host: u64) unsafe {
        let function = of(host, |_, function| Ok(function))?;
        put(place, function)
    }

    since12 fn cudaGetKernel(place: *mut u64, host: u64) unsafe {
        let function = of(host, |_, function| Ok(function))?;
        put(place, function)
    }

    all fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(place: *mut i32, host: u64, threads: i32, shared: usize) {
        let function = of(host, |_, function| Ok(function))?;
        pass(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(Out::at(place as u64), function, threads, shared, 0))
    }

    all fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        place: *mut i32, host: u64, threads: i32, shared: usize, flags: u32,
    ) {
        let function = of(host, |_, function| Ok(function))?;
        let place = Out::at(place as u64);
        pass(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(place, function, threads, shared, flags))
    }

    all fn cudaOccupancyAvailableDynamicSMemPerBlock(place: *mut usize, host: u64, blocks: i32, threads: i32) {
        let function = of(host, |_, function| Ok(function))?;
        pass(cuOccupancyAvailableDynamicSMemPerBlock(Out::at(place as u64), function, blocks, threads))
    }

    all fn cudaOccupancyMaxPotentialClusterSize(place: *mut i32, host: u64, config: *const LaunchConfig) unsafe {
        get(config)?;
        of(host, |_, _| Ok(()))?;
        // A cluster of one block is any launch.
        put(place, 1)
    }

    all fn cudaOccupancyMaxActiveClusters(place: *mut i32, host: u64, config: *const LaunchConfig) unsafe {
        let LaunchConfig { block, shared, .. } = get(config)?;
        let threads = [block.x, block.y, block.z].iter().fold(1u32, |product, &n| product.saturating_mul(n));
        let count = of(host, |core, function| {
            Ok(occupancy::blocks(core, function, threads, shared as u64)? * core.limits().sms)
        })?;
        put(place, count as i32)
    }
}
