// SPDX-License-Identifier: MIT OR Apache-2.0
//! Read-only state that all warps of a launch share: geometry, constant banks and the rows made from them.

use warpwatt_isa::{SReg, bank0};

use crate::GridLaunch;
use crate::fault::{Fault, FaultKind};
use crate::image::{Image, TRASH_ROWS};
use crate::lanes::Row;
use crate::options::SmLimits;
use crate::rows::RowBuf;

/// Most threads and shared bytes of a block, and largest grid, of any GPU.
const MAX_BLOCK_THREADS: u64 = 1024;
const MAX_SHARED: u64 = 228 << 10;
const MAX_GRID: [u32; 3] = [0x7fff_ffff, 65535, 65535];
/// Local memory of all resident threads together.
const MAX_LOCAL: u64 = 8 << 30;

/// Repeated states after which the newest entry of a reconvergence stack counts as spinning, and another runs.
const STACK_SPINS: u32 = 4;

pub(crate) struct Grid<'a> {
    pub image: &'a Image,
    pub grid: [u32; 3],
    pub grid_id: u64,
    pub cooperative: bool,
    pub ctas: u64,
    pub threads: u32,
    pub warps: u32,
    pub shared_bytes: u32,
    pub dynamic_shared: u32,
    pub local_bytes: u32,
    /// Rows of one warp: registers and trash.
    pub rows: usize,
    /// Barriers and collective operations are for threads, not for warps: what PTX says for sm_70 and later, and what a machine with independent
    /// threads does for all programs.
    pub per_thread: bool,
    /// Times that a split returns to the same state before it counts as spinning.
    pub spins: u32,
    pub sm: SmLimits,
    /// Blocks alive at once.
    pub resident: u64,
    pool: RowBuf,
    /// Thread ids of each warp of a block: x, y, z.
    tids: RowBuf,
    banks: [Bank; 5],
}

/// The bytes of a constant bank, aligned for any access.
struct Bank {
    rows: RowBuf,
    len: usize,
}

impl Bank {
    fn new(bytes: &[u8]) -> Bank {
        let rows = RowBuf::zeroed(bytes.len().div_ceil(size_of::<Row>()));
        // SAFETY: the rows hold at least as many bytes, and were just made.
        unsafe { bytes.as_ptr().copy_to_nonoverlapping(rows.pointer().cast(), bytes.len()) };
        Bank { rows, len: bytes.len() }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: `len` bytes of the rows are the bank's.
        unsafe { std::slice::from_raw_parts(self.rows.pointer().cast(), self.len) }
    }
}

fn invalid(text: String) -> Box<Fault> {
    Box::new(Fault::bare(FaultKind::InvalidLaunch, 0, text))
}

/// Resources of a block.
struct Shape {
    threads: u32,
    shared_bytes: u32,
}

impl Shape {
    /// Fails if no GPU can launch it.
    fn of(launch: &GridLaunch) -> Result<Shape, Box<Fault>> {
        let program = launch.image.program();
        let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
        if threads == 0 || threads > MAX_BLOCK_THREADS || launch.block.iter().any(|&n| n > 1024) {
            return Err(invalid(format!(
                "a block has 1 to {MAX_BLOCK_THREADS} threads, not {:?}",
                launch.block
            )));
        }
        if launch.grid.iter().zip(MAX_GRID).any(|(&n, max)| n == 0 || n > max) {
            return Err(invalid(format!("a grid has 1 to {MAX_GRID:?} blocks, not {:?}", launch.grid)));
        }
        if launch.params.len() < program.param_bytes as usize {
            return Err(invalid(format!(
                "the kernel takes {} bytes of parameters, {} were given",
                program.param_bytes,
                launch.params.len()
            )));
        }
        let shared = match launch.dynamic_shared {
            0 => u64::from(program.shared_bytes),
            dynamic => {
                let start = program.shared_bytes.next_multiple_of(16).max(program.dynamic_shared);
                u64::from(start) + u64::from(dynamic)
            }
        };
        if shared > MAX_SHARED {
            return Err(invalid(format!("{shared} bytes of shared memory; a block can have {MAX_SHARED}")));
        }
        Ok(Shape { threads: threads as u32, shared_bytes: shared as u32 })
    }
}

/// How many blocks are resident at once: all of a cooperative launch, otherwise what the SMs and the host's memory for local variables allow.
fn resident(
    launch: &GridLaunch,
    sm: SmLimits,
    ctas: u64,
    threads: u32,
    shared_bytes: u32,
) -> Result<u64, Box<Fault>> {
    let program = launch.image.program();
    let per_sm = sm.ctas_per_sm(threads, program.registers, shared_bytes);
    let mut resident = (u64::from(per_sm) * u64::from(sm.sms.max(1))).min(ctas);
    if launch.cooperative {
        if resident < ctas && ctas > 1 << 16 {
            return Err(invalid(format!("{ctas} blocks of a cooperative launch cannot all be resident")));
        }
        resident = ctas;
    }
    let warps = u64::from(threads.div_ceil(32));
    let local = u64::from(program.local_bytes.next_multiple_of(16)) * 32 * warps;
    if local > MAX_LOCAL {
        return Err(invalid(format!(
            "{} bytes of local memory per thread are too much",
            program.local_bytes
        )));
    }
    resident = resident.min(MAX_LOCAL.checked_div(local).unwrap_or(u64::MAX).max(1));
    if launch.cooperative && resident < ctas {
        return Err(invalid("the blocks of a cooperative launch take too much local memory".to_string()));
    }
    Ok(resident)
}

/// Constant bank 0: the launch's geometry, addresses of stack and workspace, and the parameters.
fn parameter_bank(launch: &GridLaunch) -> Vec<u8> {
    let mut bank = vec![0; usize::from(bank0::PARAMS)];
    let mut put = |at: u16, axis: usize, value: u32| {
        let at = usize::from(at) + 4 * axis;
        bank[at..at + 4].copy_from_slice(&value.to_le_bytes());
    };
    for axis in 0..3 {
        put(bank0::BLOCK_DIM, axis, launch.block[axis]);
        put(bank0::GRID_DIM, axis, launch.grid[axis]);
    }
    put(bank0::STACK, 0, launch.image.program().local_bytes.next_multiple_of(16));
    put(bank0::WORKSPACE_HI, 0, (launch.workspace >> 32) as u32);
    put(bank0::WORKSPACE_LO, 0, launch.workspace as u32);
    bank.extend_from_slice(launch.params);
    bank
}

/// Rows of immediates, and of the launch's constants.
fn operand_pool(launch: &GridLaunch, banks: &[Bank; 5]) -> Result<RowBuf, Box<Fault>> {
    let mut pool = RowBuf::of(&launch.image.pool);
    for operand in &launch.image.consts {
        for word in 0..operand.words {
            let at = usize::from(operand.offset) + 4 * word as usize;
            let bank = banks.get(usize::from(operand.bank));
            let value = bank.and_then(|bank| read_word(bank.bytes(), at)).ok_or_else(|| {
                invalid(format!(
                    "the program reads c[{}][0x{at:x}], which the launch does not have",
                    operand.bank
                ))
            })?;
            pool[(operand.row + word) as usize] = Row([value; 32]);
        }
    }
    Ok(pool)
}

/// Coordinates of a block's threads, three rows a warp.
fn thread_ids([x, y, _]: [u32; 3], threads: u32) -> RowBuf {
    let mut rows = RowBuf::zeroed(3 * threads.div_ceil(32) as usize);
    let mut at = [0; 3];
    for (warp, rows) in rows.chunks_exact_mut(3).enumerate() {
        for lane in 0..(threads as usize - 32 * warp).min(32) {
            rows.iter_mut().zip(at).for_each(|(row, id)| row.0[lane] = id);
            at[0] += 1;
            if at[0] == x {
                at = [0, at[1] + 1, at[2]];
            }
            if at[1] == y {
                at = [at[0], 0, at[2] + 1];
            }
        }
    }
    rows
}

impl<'a> Grid<'a> {
    pub(crate) fn new(launch: &GridLaunch<'a>, sm: SmLimits) -> Result<Grid<'a>, Box<Fault>> {
        let program = launch.image.program();
        let Shape { threads, shared_bytes } = Shape::of(launch)?;
        let warps = threads.div_ceil(32);
        let ctas = launch.grid.iter().map(|&n| u64::from(n)).product();
        let resident = resident(launch, sm, ctas, threads, shared_bytes)?;
        let banks = [&parameter_bank(launch), &[][..], &[], launch.bank3, launch.bank4].map(Bank::new);
        let pool = operand_pool(launch, &banks)?;
        let tids = thread_ids(launch.block, threads);
        Ok(Grid {
            image: launch.image,
            grid: launch.grid,
            grid_id: launch.grid_id,
            cooperative: launch.cooperative,
            ctas,
            threads,
            warps,
            shared_bytes,
            dynamic_shared: launch.dynamic_shared,
            local_bytes: program.local_bytes.next_multiple_of(16),
            rows: program.registers as usize + TRASH_ROWS + launch.image.specials.len(),
            per_thread: program.sm >= 70 || sm.independent_threads,
            spins: if sm.independent_threads { 1 } else { STACK_SPINS },
            sm,
            resident,
            pool,
            tids,
            banks,
        })
    }

    pub(crate) fn pool(&self) -> *mut Row {
        self.pool.pointer()
    }

    /// The value of a special register that has a row, for a warp of a block.
    #[inline(always)]
    pub(crate) fn special(&self, sreg: SReg, warp: u32, block: [u32; 3]) -> Row {
        match sreg {
            SReg::TidX => *self.tid(warp, 0),
            SReg::TidY => *self.tid(warp, 1),
            SReg::TidZ => *self.tid(warp, 2),
            SReg::CtaidX => Row([block[0]; 32]),
            SReg::CtaidY => Row([block[1]; 32]),
            SReg::CtaidZ => Row([block[2]; 32]),
            _ => Row(std::array::from_fn(|lane| lane as u32)),
        }
    }

    pub(crate) fn tid(&self, warp: u32, axis: usize) -> &Row {
        &self.tids[3 * warp as usize + axis]
    }

    pub(crate) fn thread(&self, warp: u32, lane: usize) -> [u32; 3] {
        [0, 1, 2].map(|axis| self.tid(warp, axis).0[lane])
    }

    pub(crate) fn bank(&self, bank: u8) -> &[u8] {
        self.banks.get(usize::from(bank)).map_or(&[], Bank::bytes)
    }

    /// Number of a block.
    pub(crate) fn cta_number(&self, [x, y, z]: [u32; 3]) -> u32 {
        x.wrapping_add(self.grid[0].wrapping_mul(y.wrapping_add(self.grid[1].wrapping_mul(z))))
    }

    /// Coordinates of a block; x varies fastest.
    pub(crate) fn cta_id(&self, linear: u64) -> [u32; 3] {
        let [gx, gy, _] = self.grid.map(u64::from);
        [(linear % gx) as u32, (linear / gx % gy) as u32, (linear / gx / gy) as u32]
    }
}

/// A word of a bank. The last, incomplete word of a bank is filled up with zeros.
fn read_word(bytes: &[u8], at: usize) -> Option<u32> {
    let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
    let mut word = [0; 4];
    let len = rest.len().min(4);
    word[..len].copy_from_slice(&rest[..len]);
    Some(u32::from_le_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_numbered_along_x_then_y_then_z() {
        for block in [[1, 1, 1], [32, 1, 1], [5, 3, 7], [1, 33, 2], [7, 1, 5], [16, 16, 4], [1, 1, 40]] {
            let [x, y, z] = block;
            let rows = thread_ids(block, x * y * z);
            for place in 0..rows.len() as u32 / 3 * 32 {
                let plain = match place < x * y * z {
                    true => [place % x, place / x % y, place / x / y],
                    false => [0; 3],
                };
                let (warp, lane) = (place as usize / 32, place as usize % 32);
                assert_eq!([0, 1, 2].map(|axis| rows[3 * warp + axis].0[lane]), plain, "{block:?}");
            }
        }
    }

    #[test]
    fn copies_of_rows_are_equal() {
        for len in [0, 1, 3, 40] {
            let rows: Vec<_> =
                (0..len).map(|row| Row(std::array::from_fn(|lane| 100 * row + lane as u32))).collect();
            let copy = RowBuf::of(&rows);
            assert!(copy.iter().zip(&rows).all(|(copy, row)| copy.0 == row.0) && copy.len() == rows.len());
        }
    }
}
