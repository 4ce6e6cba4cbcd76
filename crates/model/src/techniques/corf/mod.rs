// SPDX-License-Identifier: MIT OR Apache-2.0
//! CORF: Asghari Esfeden, Khorasani, Jeon, Wong, Abu-Ghazaleh, “CORF: Coalescing Operand Register File for GPUs”, ASPLOS 2019, section 4.
//!
//! The compiler finds pairs of registers that are often read by the same instruction (`weigh`, `affinity`), and sends them to the hardware at the start of
//! the kernel. Registers of a pair are placed in one entry if they are narrow enough, and both come with one access. `renaming` has the table and
//! the places; here are the compiler's half, parameters and counters.

pub mod affinity;
mod metadata;
pub mod weigh;

use warpwatt_base::counters::Charge;
use warpwatt_config::{FileName, choice, technique_parameters};
use warpwatt_isa::{Hints, Program};

use super::{Law, Pass, Profile, Sites, Technique, TechniqueError};
use affinity::{Graph, exclusive_pairs};
pub use metadata::insert_metadata;

choice! {
    /// Where pairs come from (section 4.2).
    Pairs {
        /// From the program, weighted by its loops.
        Static = "static",
        /// From the counts of another run: those of a file, or of a functional run with another seed that is made first.
        Profile = "profile",
        /// From the counts of the very same run, which is made functionally first: a bound.
        Perfect = "perfect",
        /// There are none.
        None = "none",
    }
}

technique_parameters! {
    /// Parameters of CORF.
    Parameters = "corf" {
        pairs: Pairs = Pairs::Static, 0..=0, "", "How register pairs are chosen.";
        profile: FileName = FileName::NONE, 0..=0, "", "Counts of instructions for `pairs=profile`, as written by `run --functional --write-profile`; without a file, a functional run with another seed collects them.";
        loop_weight: u32 = 10, 1..=1000, "", "Assumed iterations of a loop with an unknown trip count.";
        metadata: bool = true, 0..=0, "", "Pairs are sent to the hardware by metadata instructions, four pairs each; off: at no cost.";
        first_fit: bool = true, 0..=0, "", "Operands that first-fit packing put into one entry also coalesce; off: only pairs.";
        packing: bool = true, 0..=0, "", "Narrow registers share entries; off: nothing can be coalesced.";
        virtualization: bool = true, 0..=0, "", "The entries of dead registers are released.";
    }
}

warpwatt_base::counters! {
    /// Counters of CORF.
    pub struct Counters {
        metadata: u64 = "corf.metadata.count", "Metadata instructions of the started warps.", Charge::Issues;
        code: u64 = "corf.code.count", "Instructions of the kernels of the started warps, without metadata; each instruction counts once for each warp.", Charge::Issues;
        pairs: u64 = "corf.pairs.count", "Register pairs of the started warps.", Charge::Issues;
        partners: u64 = "corf.partners.count", "Registers of a pair that were placed while their partner had an entry.", Charge::Writes;
        together: u64 = "corf.together.count", "Registers of a pair that were placed in the entry of their partner.", Charge::Writes;
    }
}

pub const NAME: &str = "corf";

pub static TECHNIQUE: Technique = Technique {
    name: NAME,
    doc: "Registers that are read together are packed into one entry and read with one access.",
    paper: "Asghari Esfeden et al., CORF, ASPLOS 2019, section 4",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &["corf++"],
    needs: &["renaming", "packing", "virtualization"],
    check: |settings, _, found| {
        let parameters: &Parameters = settings.of();
        check_profile(NAME, "pairs", parameters.pairs == Pairs::Profile, parameters.profile, found);
    },
    stores: &[],
    sites: Sites { program: Some(pass), ..Sites::NONE },
    balance: |_, _| (),
    laws: &[
        Law {
            text: "metadata is issued",
            holds: |run| {
                let issued = run.machine.sm.issue.issued;
                run.own.of::<Counters>().is_some_and(|own| own.metadata <= issued)
            },
        },
        Law {
            text: "partners come together at most when both have a place",
            holds: |run| run.own.of::<Counters>().is_some_and(|own| own.together <= own.partners),
        },
    ],
};

/// A file of counts is of use only where hints come from a profile.
pub(super) fn check_profile(
    name: &str,
    parameter: &str,
    takes: bool,
    file: FileName,
    found: &mut Vec<TechniqueError>,
) {
    if file != FileName::NONE && !takes {
        found.push(TechniqueError::new(
            format!("`{name}` is given a profile, and `{parameter}` is not `profile`"),
            format!("add `{parameter}=profile`, or leave `profile` out"),
        ));
    }
}

/// Pairs that a metadata instruction carries: 54 bits after its opcode, two registers of six bits each (section 4.2).
const PAIRS_OF_AN_INSTRUCTION: usize = 4;

/// The compiler's half. Hints are the metadata instructions, the instructions of the program without them, and the pairs.
fn pass(pass: &Pass) -> Program {
    let parameters: &Parameters = pass.settings.of();
    let pairs = match parameters.pairs {
        Pairs::None => Vec::new(),
        from => {
            let profile = pass.profile.filter(|_| from != Pairs::Static);
            exclusive_pairs(&affinity_of(pass.program, parameters.loop_weight, profile))
        }
    };
    let carriers = if parameters.metadata { pairs.len().div_ceil(PAIRS_OF_AN_INSTRUCTION) } else { 0 };
    let mut program = insert_metadata(pass.program, carriers);
    let mut words = vec![carriers as u64, pass.program.uops.len() as u64];
    words.extend(pairs.iter().map(|&(one, other)| u64::from(one) | u64::from(other) << 8));
    program.hints.push(Hints { technique: NAME, words });
    program
}

/// The register affinity graph of a program: every pair of sources of an instruction gets an edge, as heavy as the instruction is frequent. Kernels that
/// a profile does not have are weighted by their loops.
pub fn affinity_of(program: &Program, loop_weight: u32, profile: Option<&Profile>) -> Graph {
    let counts = profile.and_then(|profile| profile.of(program)).map(<[u64]>::to_vec);
    let weights = counts.unwrap_or_else(|| weigh::weights(program, loop_weight));
    let mut graph = Graph::default();
    for (uop, weight) in program.uops.iter().zip(weights) {
        let sources = weigh::sources(uop);
        for (place, &(one, operand)) in sources.iter().enumerate() {
            for &(other, of_other) in &sources[place + 1..] {
                if operand != of_other {
                    graph.add(one, other, weight);
                }
            }
        }
    }
    graph
}

/// The pairs of a warp's program.
pub(super) fn pairs(program: &Program, counters: &mut Counters) -> Vec<[u8; 2]> {
    let [carriers, code, pairs @ ..] = program.hints(NAME).unwrap_or_default() else { return Vec::new() };
    counters.metadata += carriers;
    counters.code += code;
    counters.pairs += pairs.len() as u64;
    pairs.iter().map(|word| [*word as u8, (word >> 8) as u8]).collect()
}
