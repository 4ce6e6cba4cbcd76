// SPDX-License-Identifier: MIT OR Apache-2.0
//! Special registers (PTX ISA, "Special Registers"). Sizes of blocks and grids are constants in bank 0.

use warpwatt_base::Sym;
use warpwatt_isa::{Op, SReg, Ty, bank0};
use warpwatt_ptx::ast::Scalar;

use super::build::{Lowerer, imm};
use crate::ir::Opnd;

impl Lowerer<'_, '_> {
    /// The value of a special register and its type. `want` distinguishes 32- and 64-bit reads of clocks.
    pub fn special_register(
        &mut self,
        name: Sym,
        member: Option<u8>,
        want: Scalar,
    ) -> Option<(Opnd, Scalar)> {
        let text = self.text_of(name);
        let axis = usize::from(member.unwrap_or(0));
        let word = |value| Some((value, Scalar::U32));
        if let Some(member) = member {
            if member > 3 {
                return None;
            }
            // The fourth component reads as zero, of sizes as one.
            return word(match (text, member) {
                ("%tid", 0..=2) => self.special([SReg::TidX, SReg::TidY, SReg::TidZ][axis]),
                ("%ctaid", 0..=2) => self.special([SReg::CtaidX, SReg::CtaidY, SReg::CtaidZ][axis]),
                ("%ntid", 0..=2) => self.bank0(bank0::BLOCK_DIM + 4 * member as u16),
                ("%nctaid", 0..=2) => self.bank0(bank0::GRID_DIM + 4 * member as u16),
                // Clusters of one block: the cluster's coordinates are the block's.
                ("%clusterid", 0..=2) => self.special([SReg::CtaidX, SReg::CtaidY, SReg::CtaidZ][axis]),
                ("%nclusterid", 0..=2) => self.bank0(bank0::GRID_DIM + 4 * member as u16),
                ("%tid" | "%ctaid" | "%clusterid" | "%cluster_ctaid", _) => imm(0),
                ("%ntid" | "%nctaid" | "%nclusterid" | "%cluster_nctaid", _) => imm(1),
                _ => return None,
            });
        }
        if let Some(number) = text.strip_prefix("%envreg")
            && let Ok(number @ 0..32) = number.parse::<u32>()
        {
            return word(match number {
                1 => self.bank0(bank0::WORKSPACE_HI),
                2 => self.bank0(bank0::WORKSPACE_LO),
                _ => imm(0),
            });
        }
        if let Some(number) = text.strip_prefix("%pm") {
            let (number, wide) = number.strip_suffix("_64").map_or((number, false), |n| (n, true));
            if number.parse::<u32>().is_ok_and(|n| n < 8) {
                return Some((imm(0), if wide { Scalar::U64 } else { Scalar::U32 }));
            }
        }
        let sreg = match text {
            "%laneid" => SReg::LaneId,
            "%warpid" => SReg::WarpId,
            "%nwarpid" => SReg::NWarpId,
            "%smid" => SReg::SmId,
            "%nsmid" => SReg::NSmId,
            "%lanemask_eq" => SReg::LaneMaskEq,
            "%lanemask_lt" => SReg::LaneMaskLt,
            "%lanemask_le" => SReg::LaneMaskLe,
            "%lanemask_gt" => SReg::LaneMaskGt,
            "%lanemask_ge" => SReg::LaneMaskGe,
            "%clock" => SReg::ClockLo,
            "%clock_hi" => SReg::ClockHi,
            "%globaltimer_lo" => SReg::GlobalTimerLo,
            "%globaltimer_hi" => SReg::GlobalTimerHi,
            "%dynamic_smem_size" => SReg::DynamicSmemSize,
            "%total_smem_size" | "%aggr_smem_size" => SReg::TotalSmemSize,
            "%clock64" => return Some((self.special_pair(SReg::ClockLo, SReg::ClockHi), Scalar::U64)),
            "%globaltimer" => {
                return Some((self.special_pair(SReg::GlobalTimerLo, SReg::GlobalTimerHi), Scalar::U64));
            }
            "%gridid" if crate::front::types::bits(want) == 64 => {
                return Some((self.special_pair(SReg::GridIdLo, SReg::GridIdHi), Scalar::U64));
            }
            "%gridid" => SReg::GridIdLo,
            "%cluster_ctarank"
            | "%reserved_smem_offset_begin"
            | "%reserved_smem_offset_end"
            | "%is_explicit_cluster"
            | "%current_graph_exec" => {
                let scalar = if text == "%current_graph_exec" { Scalar::U64 } else { Scalar::U32 };
                return Some((imm(0), scalar));
            }
            "%cluster_nctarank" => return word(imm(1)),
            _ => return None,
        };
        word(self.special(sreg))
    }

    fn bank0(&mut self, offset: u16) -> Opnd {
        self.op(Op::Mov, Ty::U32, &[Opnd::Const { bank: 0, offset }])
    }

    fn special_pair(&mut self, lo: SReg, hi: SReg) -> Opnd {
        let (lo, hi) = (self.special(lo), self.special(hi));
        self.pack(&[lo, hi])
    }
}
