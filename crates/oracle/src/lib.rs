// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plain interpreter of PTX for tests: one thread at a time, straight from the syntax tree, nothing optimised.
//!
//! It says what a kernel means, independently of the compiler and of the machine. Threads run one after the other until they meet at a
//! barrier or an exchange between lanes; blocks run in order. So kernels must not wait for other blocks, and what their atomics return must not
//! matter where its order would. The semantics is that of the PTX ISA; every choice that PTX leaves open is made in the module that needs it.

mod access;
mod alu;
mod bind;
mod contract;
mod convert;
pub mod float;
mod flow;
mod form;
pub mod integer;
mod meet;
mod memory;
pub mod random;
mod thread;

pub use form::{ScalarKind, Ty};
pub use memory::Memory;
use thread::{State, Thread, World};
use warpwatt_ptx::ast;

/// How a kernel is started. `params` are the bytes of its parameters, laid out as PTX does.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    pub kernel: &'a str,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub params: &'a [u8],
}

/// More instructions than any sensible test runs: what goes on longer hangs.
const FUEL: u64 = 2_000_000_000;

/// Runs a kernel to its end, or says what went wrong.
pub fn run(module: &ast::Module, launch: &Launch, memory: &mut Memory) -> Result<(), String> {
    let bound = bind::bind(module, memory)?;
    let found = bound.by_name.get(launch.kernel).copied().filter(|&index| bound.functions[index].is_kernel);
    let kernel = found.ok_or_else(|| format!("no kernel `{}`", launch.kernel))?;
    let wanted = bound.functions[kernel].param_bytes;
    if wanted != launch.params.len() as u64 {
        return Err(format!("`{}` takes {wanted} bytes of parameters", launch.kernel));
    }
    let shared = bound.dynamic_shared.max(bound.shared_bytes) as usize + launch.dynamic_shared as usize;
    let mut world = World {
        bound: &bound,
        memory,
        constants: bound.const_bytes.clone(),
        params: launch.params.to_vec(),
        shared: Vec::new(),
        grid: launch.grid,
        block: launch.block,
        cta: [0; 3],
        fuel: FUEL,
    };
    for z in 0..launch.grid[2] {
        for y in 0..launch.grid[1] {
            for x in 0..launch.grid[0] {
                world.cta = [x, y, z];
                world.shared = vec![0; shared];
                run_cta(&mut world, kernel)?;
            }
        }
    }
    Ok(())
}

fn run_cta(world: &mut World, kernel: usize) -> Result<(), String> {
    let count = world.block.iter().product();
    let mut threads: Vec<Thread> = (0..count).map(|index| Thread::new(world, kernel, index)).collect();
    let mut passed = [0; 16];
    loop {
        for thread in &mut threads {
            thread
                .run(world)
                .map_err(|error| format!("block {:?}, thread {:?}: {error}", world.cta, thread.tid))?;
        }
        if threads.iter().all(|thread| matches!(thread.state, State::Done)) {
            return Ok(());
        }
        let mut moved = false;
        for warp in threads.chunks_mut(32) {
            moved |= meet::exchange(world, warp)?;
        }
        moved |= meet::open_barriers(world, &mut threads, &mut passed)?;
        if !moved {
            return Err(format!("block {:?}: threads wait for each other forever", world.cta));
        }
    }
}
