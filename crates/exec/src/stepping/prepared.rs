// SPDX-License-Identifier: MIT OR Apache-2.0
//! A launch that is ready to be executed: data that all SMs share and only read.

use crate::GridLaunch;
use crate::fault::{Fault, FaultKind};
use crate::grid::Grid;
use crate::image::Image;
use crate::options::SmLimits;

/// A launch with its constants in place. All SMs read it at the same time.
pub struct Prepared<'a> {
    pub(crate) grid: Grid<'a>,
    ctas_per_sm: u32,
}

impl<'a> Prepared<'a> {
    /// Fails where functional mode does, and also for blocks that no SM can hold and cooperative grids that the SMs cannot hold at once.
    pub fn new(launch: &GridLaunch<'a>, sm: SmLimits) -> Result<Prepared<'a>, Box<Fault>> {
        let refuse = |text: String| Err(Box::new(Fault::bare(FaultKind::InvalidLaunch, 0, text)));
        let grid = Grid::new(launch, sm)?;
        let registers = grid.image.program().registers;
        let Some(ctas_per_sm) = sm.fits(grid.threads, registers, grid.shared_bytes) else {
            let shortage = sm.shortage(grid.threads, registers, grid.shared_bytes);
            return refuse(shortage.unwrap_or_else(|| "no SM can hold a block".to_string()));
        };
        let room = u64::from(ctas_per_sm) * u64::from(sm.sms.max(1));
        if grid.cooperative && grid.ctas > room {
            return refuse(format!(
                "{} blocks of a cooperative launch cannot all be resident: {} SMs with {ctas_per_sm} each hold {room}",
                grid.ctas,
                sm.sms.max(1)
            ));
        }
        Ok(Prepared { grid, ctas_per_sm })
    }

    pub fn image(&self) -> &'a Image {
        self.grid.image
    }

    /// Identity of the launch's image.
    #[inline(always)]
    pub(super) fn identity(&self) -> usize {
        std::ptr::from_ref(self.grid.image).addr()
    }

    /// Blocks of the grid.
    pub fn ctas(&self) -> u64 {
        self.grid.ctas
    }

    /// Coordinates of a block; x varies fastest.
    pub fn cta_id(&self, linear: u64) -> [u32; 3] {
        self.grid.cta_id(linear)
    }

    /// Blocks that fit on one SM when it holds nothing else.
    pub fn ctas_per_sm(&self) -> u32 {
        self.ctas_per_sm
    }

    pub fn threads_per_cta(&self) -> u32 {
        self.grid.threads
    }

    pub fn warps_per_cta(&self) -> u32 {
        self.grid.warps
    }

    /// Bytes of shared memory of a block, dynamic ones included.
    pub fn shared_bytes(&self) -> u32 {
        self.grid.shared_bytes
    }

    /// Registers of a thread.
    pub fn registers(&self) -> u32 {
        self.grid.image.program().registers
    }

    /// Registers that an SM sets aside for one block.
    pub fn registers_per_cta(&self) -> u32 {
        self.grid.sm.registers_per_warp(self.registers()) * self.grid.warps
    }

    /// Bytes of local memory of a thread.
    pub fn local_bytes(&self) -> u32 {
        self.grid.local_bytes
    }

    /// The bytes of a constant bank; empty if there is no such bank.
    pub fn bank(&self, bank: u8) -> &[u8] {
        self.grid.bank(bank)
    }

    pub fn cooperative(&self) -> bool {
        self.grid.cooperative
    }

    pub fn grid_id(&self) -> u64 {
        self.grid.grid_id
    }

    /// Lanes that a warp of a block is started with: fewer than 32 if it is the last one, and threads are no multiple of that.
    pub(super) fn lanes_of(&self, warp: usize) -> u32 {
        let threads = self.grid.threads.saturating_sub(32 * warp as u32).clamp(1, 32);
        u32::MAX >> (32 - threads)
    }

    /// Coordinates of a thread in its block.
    pub fn thread(&self, warp: usize, lane: usize) -> [u32; 3] {
        self.grid.thread(warp as u32, lane)
    }
}
