// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of kernels and of host functions.

use std::ffi::c_void;

use warpwatt_runtime::Args;

use crate::abi::driver::{LaunchAttribute, LaunchConfig};
use crate::core::graph::host_call;
use crate::core::launch::{Arguments, Command, Launch};
use crate::core::{Code, Core, Result};
use crate::driver::{In, api, with};

/// Where a launch's arguments are.
#[derive(Clone, Copy)]
pub(crate) struct Parameters {
    pub pointers: In<u64>,
    pub extra: In<u64>,
}

/// Ends the list of `extra`.
const END: u64 = 0;
const BUFFER: u64 = 1;
const BUFFER_SIZE: u64 = 2;

impl Parameters {
    pub fn read(self, core: &Core, function: u64) -> Result<Args> {
        match (self.pointers.is_null(), self.extra.is_null()) {
            (false, false) => Err(Code::INVALID_VALUE),
            (_, true) => {
                let list = self.pointers.address() as *const *const c_void;
                // SAFETY: the caller of the API vouches for a pointer to a value per parameter.
                unsafe { core.arguments(function, Arguments::Pointers(list)) }
            }
            (true, false) => {
                let block = self.block()?;
                // SAFETY: a block of bytes needs nothing.
                unsafe { core.arguments(function, Arguments::Packed(&block)) }
            }
        }
    }

    /// The parameter block that `extra` speaks of.
    fn block(self) -> Result<Vec<u8>> {
        let (mut buffer, mut size) = (0, 0usize);
        let mut at = self.extra.address();
        loop {
            let key = In::<u64>::at(at).get()?;
            if key == END {
                break;
            }
            let value = In::<u64>::at(at + 8).get()?;
            match key {
                BUFFER => buffer = value,
                BUFFER_SIZE => size = In::<usize>::at(value).get()?,
                _ => return Err(Code::INVALID_VALUE),
            }
            at += 16;
        }
        In::<u8>::at(buffer).list(size)
    }
}

/// The driver's code for a grid or block that cannot be.
pub(crate) fn driver_code(code: Code) -> Code {
    if code == Code::INVALID_CONFIGURATION { Code::INVALID_VALUE } else { code }
}

/// The attributes of a launch.
#[derive(Default)]
struct Asked {
    cooperative: bool,
    /// Recorded after the launch.
    events: Vec<u64>,
}

fn attributes(config: &LaunchConfig) -> Result<Asked> {
    let mut asked = Asked::default();
    let list = In::<LaunchAttribute>::at(config.attributes).list(config.attribute_count as usize)?;
    for attribute in list {
        let [first, second, ..] = attribute.value;
        match attribute.id {
            2 => asked.cooperative = first as u32 != 0,
            // Clusters of one block.
            4 | 11 if [first as u32, (first >> 32) as u32, second as u32].iter().all(|&n| n <= 1) => (),
            4 | 11 => return Err(Code::NOT_SUPPORTED),
            7 | 12 => asked.events.push(first),
            // A node that kernels may change.
            13 if first as u32 != 0 => return Err(Code::NOT_SUPPORTED),
            // Hints: windows of the L2 cache, overlap of launches, priorities, domains, preferences.
            0..=18 => (),
            _ => return Err(Code::INVALID_VALUE),
        }
    }
    Ok(asked)
}

/// A launch as the driver API describes it, with its arguments read.
pub(crate) fn describe(
    core: &Core,
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    parameters: Parameters,
) -> Result<Launch> {
    let args = parameters.read(core, function)?;
    Ok(Launch { function, grid, block, shared, cooperative: false, args })
}

pub(crate) fn launch(core: &mut Core, stream: u64, launch: Launch) -> Result<()> {
    let stream = core.stream(stream, false)?;
    core.launch(stream, launch).map_err(driver_code)
}

api! {
    fn cuLaunchKernel [cuLaunchKernel_ptsz: stream] (
        function: u64,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: u64,
        pointers: In<u64>,
        extra: In<u64>,
    ) {
        with(|core| {
            let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
            let described = describe(core, function, grid, block, shared, Parameters { pointers, extra })?;
            launch(core, stream, described)
        })
    }

    fn cuLaunchCooperativeKernel [cuLaunchCooperativeKernel_ptsz: stream] (
        function: u64,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: u64,
        pointers: In<u64>,
    ) {
        with(|core| {
            let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
            let parameters = Parameters { pointers, extra: In::NULL };
            let described = describe(core, function, grid, block, shared, parameters)?;
            launch(core, stream, Launch { cooperative: true, ..described })
        })
    }

    fn cuLaunchKernelEx(config: In<LaunchConfig>, function: u64, pointers: In<u64>, extra: In<u64>) {
        launch_with(config.get()?, function, Parameters { pointers, extra })
    }

    fn cuLaunchKernelEx_ptsz(config: In<LaunchConfig>, function: u64, pointers: In<u64>, extra: In<u64>) {
        let config = config.get()?;
        let stream = crate::driver::per_thread(config.stream);
        launch_with(LaunchConfig { stream, ..config }, function, Parameters { pointers, extra })
    }

    fn cuLaunchHostFunc [cuLaunchHostFunc_ptsz: stream] (stream: u64, function: u64, argument: u64) {
        host_function(stream, function, argument)
    }

    fn cuLaunchHostFunc_v2 [cuLaunchHostFunc_v2_ptsz: stream] (
        stream: u64,
        function: u64,
        argument: u64,
        mode: u32,
    ) {
        if mode > 1 {
            return Err(Code::INVALID_VALUE);
        }
        host_function(stream, function, argument)
    }

    fn cuStreamAddCallback [cuStreamAddCallback_ptsz: stream] (
        stream: u64,
        callback: u64,
        argument: u64,
        flags: u32,
    ) {
        if callback == 0 || flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| {
            let on = core.stream(stream, false)?;
            let call = move || {
                // SAFETY: the program passed the function to be called so, and vouches for it.
                unsafe {
                    let call: extern "C" fn(u64, i32, u64) = std::mem::transmute(callback as usize);
                    call(stream, 0, argument);
                }
            };
            core.submit(on, Command::Call(std::sync::Arc::new(call)))
        })
    }

    fn cuLaunchCooperativeKernelMultiDevice(list: In<u64>, count: u32, _flags: u32) {
        // One device: a launch on one is an ordinary cooperative launch.
        if count != 1 {
            return Err(Code::INVALID_VALUE);
        }
        let [function, grid_xy, grid_z_block_x, block_yz, shared, stream, pointers] =
            In::<[u64; 7]>::at(list.address()).get()?;
        let (low, high) = (|word: u64| word as u32, |word: u64| (word >> 32) as u32);
        with(|core| {
            let grid = [low(grid_xy), high(grid_xy), low(grid_z_block_x)];
            let block = [high(grid_z_block_x), low(block_yz), high(block_yz)];
            let parameters = Parameters { pointers: In::at(pointers), extra: In::NULL };
            let described = describe(core, function, grid, block, low(shared), parameters)?;
            launch(core, stream, Launch { cooperative: true, ..described })
        })
    }
}

fn launch_with(config: LaunchConfig, function: u64, parameters: Parameters) -> Result<()> {
    let asked = attributes(&config)?;
    with(|core| {
        let described = describe(core, function, config.grid, config.block, config.shared_bytes, parameters)?;
        launch(core, config.stream, Launch { cooperative: asked.cooperative, ..described })?;
        let stream = core.stream(config.stream, false)?;
        asked.events.iter().try_for_each(|&event| core.record(event, stream))
    })
}

fn host_function(stream: u64, function: u64, argument: u64) -> Result<()> {
    if function == 0 {
        return Err(Code::INVALID_VALUE);
    }
    with(|core| {
        let stream = core.stream(stream, false)?;
        core.submit(stream, Command::Call(host_call(function, argument)))
    })
}
