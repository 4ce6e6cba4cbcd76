// SPDX-License-Identifier: MIT OR Apache-2.0
//! CORF++ (ASPLOS 2019, section 5): all registers of a warp lie in one bank, whose slices have addresses of their own. Any two operands in different slices
//! come with one access, wherever they lie. The compiler says which registers are to lie on the left of an entry and which on the right, so that those
//! that are read together lie on different sides.
//!
//! A bank has to have room for all registers of the warps that it serves: blocks are admitted by the fullest bank.

use warpwatt_base::counters::Charge;
use warpwatt_codecs::packing::Side;
use warpwatt_config::{Config, FileName, Settings, choice, technique_parameters};
use warpwatt_isa::{Hints, Program};

use super::corf::affinity::colour;
use super::corf::{affinity_of, check_profile, insert_metadata};
use super::{BlockShape, Law, Pass, Sites, Technique};
use crate::register_file::Started;

choice! {
    /// How sides are chosen (sections 5.1 and 8).
    Sides {
        /// By the program, weighted by its loops.
        Static = "static",
        /// By the counts of another run: those of a file, or of a functional run with another seed that is made first.
        Profile = "profile",
        /// By the counts of the very same run, which is made functionally first: a bound.
        Perfect = "perfect",
        /// Odd registers on the left, even ones on the right; that needs no metadata.
        Parity = "parity",
    }
}

technique_parameters! {
    /// Parameters of CORF++.
    Parameters = "corf++" {
        hints: Sides = Sides::Static, 0..=0, "", "How registers are assigned to sides.";
        profile: FileName = FileName::NONE, 0..=0, "", "Counts of instructions for `hints=profile`, as written by `run --functional --write-profile`; without a file, a functional run with another seed collects them.";
        loop_weight: u32 = 10, 1..=1000, "", "Assumed iterations of a loop with an unknown trip count.";
        metadata: bool = true, 0..=0, "", "Sides are sent to the hardware by metadata instructions, 27 registers each; off: at no cost.";
        packing: bool = true, 0..=0, "", "Narrow registers share entries; off: nothing can be coalesced.";
        virtualization: bool = true, 0..=0, "", "The entries of dead registers are released.";
    }
}

warpwatt_base::counters! {
    /// Counters of CORF++.
    pub struct Counters {
        metadata: u64 = "corfpp.metadata.count", "Metadata instructions of the started warps.", Charge::Issues;
        code: u64 = "corfpp.code.count", "Instructions of the kernels of the started warps, without metadata; each instruction counts once for each warp.", Charge::Issues;
        left: u64 = "corfpp.left.count", "Registers of the started warps that are assigned to the left slices.", Charge::Issues;
        right: u64 = "corfpp.right.count", "Registers of the started warps that are assigned to the right slices.", Charge::Issues;
        bounded: u64 = "corfpp.bounded.count", "Started warps whose kernel has more odd cycles in its graph than the search looks for at a time.", Charge::Issues;
        wrong_side: u64 = "corfpp.wrong_side.count", "Registers that found no free entry on their side.", Charge::Writes;
        warps: u64 = "corfpp.warps.count", "Warps started.", Charge::Issues;
        kept_out: u64 = "corfpp.kept_out.count", "Warps that would fit on the SM but for its fullest bank, summed over admissions.", Charge::Issues;
    }
}

pub const NAME: &str = "corf++";

pub static TECHNIQUE: Technique = Technique {
    name: NAME,
    doc: "Operands in different slices of a bank are read with one access; registers that are read together are placed on different sides.",
    paper: "Asghari Esfeden et al., CORF, ASPLOS 2019, section 5",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &["corf"],
    needs: &["renaming", "packing", "virtualization"],
    check: |settings, _, found| {
        let parameters: &Parameters = settings.of();
        check_profile(NAME, "hints", parameters.hints == Sides::Profile, parameters.profile, found);
    },
    stores: &[],
    sites: Sites { program: Some(pass), blocks: Some(blocks), ..Sites::NONE },
    balance: |_, _| (),
    laws: &[Law {
        text: "metadata is issued",
        holds: |run| {
            let issued = run.machine.sm.issue.issued;
            run.own.of::<Counters>().is_some_and(|own| own.metadata <= issued)
        },
    }],
};

/// Registers whose side a metadata instruction carries: 54 bits, two for each.
const SIDES_OF_AN_INSTRUCTION: u32 = 27;

/// The compiler's half. Hints are the metadata instructions, the instructions of the program without them, whether a bound was reached, and the sides.
fn pass(pass: &Pass) -> Program {
    let parameters: &Parameters = pass.settings.of();
    let registers = pass.program.registers;
    let (sides, bounded, carriers) = match parameters.hints {
        Sides::Static | Sides::Profile | Sides::Perfect => {
            let profile = pass.profile.filter(|_| parameters.hints != Sides::Static);
            let colouring = colour(&affinity_of(pass.program, parameters.loop_weight, profile));
            let carriers = if parameters.metadata { registers.div_ceil(SIDES_OF_AN_INSTRUCTION) } else { 0 };
            (colouring.left.into_iter().collect::<Vec<_>>(), colouring.bounded, carriers)
        }
        Sides::Parity => {
            ((0..registers.min(255) as u8).map(|register| (register, register % 2 == 1)).collect(), false, 0)
        }
    };
    let mut program = insert_metadata(pass.program, carriers as usize);
    let mut words = vec![u64::from(carriers), pass.program.uops.len() as u64, u64::from(bounded)];
    words.extend(sides.iter().map(|&(register, left)| u64::from(register) | u64::from(left) << 8));
    program.hints.push(Hints { technique: NAME, words });
    program
}

/// Blocks for whose warps every bank has entries. Warps take the lowest free slots, so that no bank serves more than its share of them.
fn blocks(_: &dyn Settings, config: &Config, shape: &BlockShape) -> u32 {
    let banks = config.rf.banks;
    let entries = config.sm.registers.div_ceil(32).div_ceil(banks);
    let warps_of_a_bank = entries / shape.registers.max(1);
    // The share of the fullest bank is rounded up.
    warps_of_a_bank * banks / shape.warps.max(1)
}

/// The sides of a warp's registers.
pub(super) fn sides(warp: &Started, counters: &mut Counters) -> Vec<(u8, Side)> {
    let hints = warp.program.hints(NAME).unwrap_or_default();
    let [carriers, code, bounded, sides @ ..] = hints else { return Vec::new() };
    counters.metadata += carriers;
    counters.code += code;
    counters.bounded += bounded;
    counters.warps += 1;
    counters.kept_out += u64::from(warp.kept_out);
    let side = |word: &u64| (*word as u8, if word >> 8 & 1 != 0 { Side::Left } else { Side::Right });
    let sides: Vec<_> = sides.iter().map(side).collect();
    let left = sides.iter().filter(|(_, side)| *side == Side::Left).count() as u64;
    counters.left += left;
    counters.right += sides.len() as u64 - left;
    sides
}
