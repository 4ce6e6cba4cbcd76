// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels with as many registers as fit: compiled with the limit of the module, and recompiled with fewer if a block would not fit an SM.
//!
//! `ptxas` does the first for the architecture it compiles for, by the kernel's launch bounds. A GPU with a smaller register file than the
//! module's target has would refuse blocks that its programmer never saw refused.

use std::sync::Arc;

use warpwatt_exec::{Image, SmLimits};
use warpwatt_isa::Program;

use crate::device::Device;
use crate::error::Error;
use crate::launch::shared_bytes;
use crate::types::{LaunchConfig, ModuleId};

/// Fewer registers than this are not worth trying; budgets are multiples of the unit.
const FEWEST: u32 = 16;
const UNIT: u32 = 8;
const MAX_THREADS: u32 = 1024;

impl Device {
    /// The kernel, compiled and decoded; at the first call this is where it is refused. On a timed device, and where instructions
    /// are counted for one, it has no more registers than its own launch bounds leave on an SM.
    pub(crate) fn image(&mut self, m: ModuleId, kernel: &str) -> Result<Arc<Image>, Error> {
        self.module(m)?;
        let module = &mut self.modules[m.0 as usize];
        let image = module.image(kernel, &self.options, None)?;
        let (most, spilt) = (self.options.sm.thread_registers, image.program().spill_bytes);
        if spilt != 0 && most < module.wanted_registers(&self.options) && module.first_note(kernel) {
            self.observer.note(&format!(
                "`{}` spills {spilt} bytes a thread, since the GPU has at most {most} registers a thread (`sm.thread_registers`)",
                module.demangled(kernel)
            ));
        }
        let as_timed = self.timed_gpu.is_some() || self.counts.is_some();
        match as_timed.then(|| bounded(image.program(), &self.options.sm)).flatten() {
            Some(most) => module.image(kernel, &self.options, Some(most)).or(Ok(image)),
            None => Ok(image),
        }
    }

    /// The kernel for blocks of this size: recompiled if they do not fit an SM because of their registers.
    pub(crate) fn fitted(
        &mut self,
        m: ModuleId,
        kernel: &str,
        config: &LaunchConfig,
    ) -> Result<Arc<Image>, Error> {
        let image = self.image(m, kernel)?;
        let program = image.program();
        let (threads, shared) = (config.block.count(), shared_bytes(program, config));
        let (Ok(threads), Ok(shared)) = (u32::try_from(threads), u32::try_from(shared)) else {
            return Ok(image);
        };
        let sm = &self.options.sm;
        if threads == 0 || threads > MAX_THREADS || sm.fits(threads, program.registers, shared).is_some() {
            return Ok(image);
        }
        let Some(most) = largest(program.registers, |most| sm.fits(threads, most, shared).is_some()) else {
            return Ok(image);
        };
        let module = &mut self.modules[m.0 as usize];
        let Ok(smaller) = module.image(kernel, &self.options, Some(most)) else { return Ok(image) };
        if module.first_note(kernel) {
            self.observer.note(&format!(
                "`{}` was recompiled with {} registers a thread instead of {}, so that a block of {threads} threads fits into an SM",
                module.demangled(kernel),
                smaller.program().registers,
                program.registers
            ));
        }
        Ok(smaller)
    }
}

/// Registers that the launch bounds of a kernel leave, if it has more: for the largest block, and as many of them as it wants on an SM
/// and an SM could hold.
fn bounded(program: &Program, sm: &SmLimits) -> Option<u32> {
    let block = program.req_ntid.or(program.max_ntid)?;
    let threads = block.iter().fold(1u32, |product, &extent| product.saturating_mul(extent));
    let threads = threads.clamp(1, MAX_THREADS);
    let most = sm.fits(threads, 1, program.shared_bytes)?;
    let blocks = program.min_ctas.unwrap_or(1).clamp(1, most);
    let enough = |registers| sm.fits(threads, registers, program.shared_bytes) >= Some(blocks);
    if enough(program.registers) { None } else { largest(program.registers, enough) }
}

/// The largest budget below so many registers that is good enough.
fn largest(below: u32, enough: impl Fn(u32) -> bool) -> Option<u32> {
    (FEWEST / UNIT..below.div_ceil(UNIT)).rev().map(|units| units * UNIT).find(|&budget| enough(budget))
}
