// SPDX-License-Identifier: MIT OR Apache-2.0
//! E2MC: entropy coding at the memory controllers (Lal, Lucas, Juurlink, IPDPS 2017).
//!
//! Codes come from a profile that was collected beforehand (`probability=offline`), or from what moves at the controllers until so many thread
//! instructions have been executed (`online`), in which time nothing is compressed. Offline codes without a profile have
//! no values, and compress nothing.

use warpwatt_codecs::block::BlockCodec;
use warpwatt_codecs::huffman::{Frequencies, SymbolBits};
use warpwatt_codecs::profile::Collected;
use warpwatt_config::{Config, FileName, choice, technique_parameters};

use super::engine::{Costs, Engine, Sampling};
use super::{Counters, LAWS, balance, check};
use crate::partition::TransferSite;
use crate::techniques::{Build, Fault, Sites, Technique, TechniqueError, Techniques};

choice! {
    /// Length of a symbol, in bits.
    Length { Four = "4", Eight = "8", Sixteen = "16", ThirtyTwo = "32", }
}

choice! {
    /// Where the probabilities of symbols come from.
    Probability {
        /// A profile.
        Offline = "offline",
        /// Traffic at the controllers, at the start of the program.
        Online = "online",
    }
}

choice! {
    /// What a profile counts.
    ProfileFrom { LoadsStores = "loads-stores", Dram = "dram", }
}

choice! {
    /// Inputs of the run that makes a profile.
    ProfileSeed {
        /// Those of the run itself.
        Same = "same",
        /// Those of another seed.
        Other = "other",
    }
}

choice! {
    /// How lines count that are in memory when codes become available.
    Accounting {
        /// As if they had been encoded all the time.
        Trace = "trace",
        /// As they are stored, until they are written again.
        Strict = "strict",
    }
}

choice! {
    /// Where latencies come from.
    Latency {
        /// The paper's Table VI, by length of symbols.
        Table = "table",
        /// `compress_clocks` and `decompress_clocks`.
        Set = "set",
    }
}

technique_parameters! {
    /// E2MC's parameters.
    Parameters = "e2mc" {
        symbol_bits: Length = Length::Sixteen, 0..=0, "bits", "Length of a symbol.";
        ways: u32 = 4, 1..=8, "", "Parallel decoding ways: decoders that work on a line at the same time.";
        probability: Probability = Probability::Offline, 0..=0, "", "Where the probabilities of symbols come from.";
        profile: FileName = FileName::NONE, 0..=0, "", "Profile for offline probabilities; without a file, a functional run of the workload collects it.";
        profile_from: ProfileFrom = ProfileFrom::LoadsStores, 0..=0, "", "What the run for an offline profile counts: the data of loads and stores, or the lines that move between L2 and DRAM.";
        profile_seed: ProfileSeed = ProfileSeed::Same, 0..=0, "", "Inputs of the run for an offline profile: those of the timed run, or those of another seed.";
        values: u32 = 1024, 8..=16384, "", "Most frequent values that have codewords if symbols are longer than 8 bits.";
        sampling: u32 = 20000000, 1..=4000000000, "instructions", "Thread instructions until online codes are made.";
        recode: u32 = 0, 0..=4000000000, "instructions", "Thread instructions after which online codes are made again, repeatedly; 0: never. Not in the paper.";
        generation_cycles: u32 = 0, 0..=100000000, "cycles", "Core cycles that making online codes takes.";
        accounting: Accounting = Accounting::Trace, 0..=0, "", "How lines are counted that are in memory when online codes become available.";
        latency: Latency = Latency::Table, 0..=0, "", "Where latencies come from.";
        compress_clocks: u32 = 46, 0..=1000, "clocks", "Latency of the compressor with `latency=set`, in DRAM clocks.";
        decompress_clocks: u32 = 82, 0..=1000, "clocks", "Latency of the decompressor with `latency=set` and one way, in DRAM clocks; ways divide it.";
        compress_rate: u32 = 64800, 0..=4000000, "MB/s", "Throughput of the compressors of a controller, in uncompressed bytes; 0: unlimited.";
        decompress_rate: u32 = 64000, 0..=4000000, "MB/s", "Throughput of the decompressors of a controller, in uncompressed bytes; 0: unlimited.";
        metadata_bytes: u32 = 8192, 0..=1048576, "bytes", "Size of a controller's metadata cache, of 4 ways; 0: it never misses.";
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: "e2mc",
    doc: "Lines between L2 and DRAM are compressed with Huffman codes for the most frequent values.",
    paper: "Lal, Lucas, Juurlink: E2MC (IPDPS 2017)",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &["bdi", "fpc", "cpack"],
    needs: &[],
    check: |settings, config, found| check_e2mc(settings.of(), config, found),
    stores: &[Fault::Dram],
    sites: Sites { transfer: Some(build), ..Sites::NONE },
    balance,
    laws: LAWS,
};

impl Length {
    fn width(self) -> SymbolBits {
        match self {
            Length::Four => SymbolBits::Four,
            Length::Eight => SymbolBits::Eight,
            Length::Sixteen => SymbolBits::Sixteen,
            Length::ThirtyTwo => SymbolBits::ThirtyTwo,
        }
    }
}

impl Parameters {
    /// Latencies of the compressor and of the decompressor, in DRAM clocks (Table VI; ways divide the decompressor's, section IV-A).
    pub fn latencies(&self) -> (u32, u32) {
        let (compress, decompress) = match (self.latency, self.symbol_bits) {
            (Latency::Set, _) => (self.compress_clocks, self.decompress_clocks),
            (Latency::Table, Length::Four) => (154, 233),
            (Latency::Table, Length::Eight) => (84, 143),
            (Latency::Table, Length::Sixteen) => (46, 82),
            (Latency::Table, Length::ThirtyTwo) => (24, 42),
        };
        (compress, decompress.div_ceil(self.ways))
    }
}

/// A profile that techniques need before the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WantedProfile {
    /// The file that holds it; without one, it is to be collected.
    pub file: Option<&'static str>,
    pub collected: Collected,
    /// It is to be collected with inputs of another seed.
    pub other_seed: bool,
    /// Length of the symbols that codes are made for.
    pub width: SymbolBits,
}

impl Techniques {
    /// The profile that a technique that is on makes its codes from, if one does.
    pub fn wanted_profile(&self) -> Option<WantedProfile> {
        let mut settings =
            self.settings().filter_map(|(.., settings)| settings.as_any().downcast_ref::<Parameters>());
        let parameters = settings.find(|parameters| parameters.probability == Probability::Offline)?;
        let file = (parameters.profile != FileName::NONE).then_some(parameters.profile.0);
        let collected = match parameters.profile_from {
            ProfileFrom::LoadsStores => Collected::LoadsStores,
            ProfileFrom::Dram => Collected::Dram,
        };
        let other_seed = parameters.profile_seed == ProfileSeed::Other;
        let width = parameters.symbol_bits.width();
        Some(WantedProfile { file, collected, other_seed, width })
    }
}

fn build(build: &Build) -> Box<dyn TransferSite> {
    let parameters: &Parameters = build.settings.of();
    let (compress_clocks, decompress_clocks) = parameters.latencies();
    let costs = Costs {
        compress_clocks,
        decompress_clocks,
        compress_rate: parameters.compress_rate,
        decompress_rate: parameters.decompress_rate,
        metadata_bytes: parameters.metadata_bytes,
    };
    let (width, values) = (parameters.symbol_bits.width(), parameters.values as usize);
    let ways = parameters.ways as usize;
    if parameters.probability == Probability::Offline {
        let Techniques { symbols, codes, .. } = build.techniques;
        let codec: Box<dyn BlockCodec> = Box::new(codes.of(symbols.as_ref(), width, values, ways));
        return Box::new(Engine::new(build, Some(codec), &costs, None));
    }
    let sampling = Sampling {
        width,
        values,
        ways,
        until: u64::from(parameters.sampling),
        again: u64::from(parameters.recode),
        cycles: u64::from(parameters.generation_cycles),
        trace: parameters.accounting == Accounting::Trace,
        frequencies: Frequencies::new(width),
    };
    Box::new(Engine::new(build, None, &costs, Some(sampling)))
}

/// Finds settings that are not possible together.
fn check_e2mc(parameters: &Parameters, config: &Config, found: &mut Vec<TechniqueError>) {
    check("e2mc", parameters.metadata_bytes, config, found);
    if !parameters.values.is_power_of_two() {
        found.push(TechniqueError::new(
            format!("`values` of `e2mc` cannot be {}", parameters.values),
            "the compressor's look-up table has a power of two of sets: choose 1024, 2048 or the like",
        ));
    }
    let online = parameters.probability == Probability::Online;
    if online && parameters.profile != FileName::NONE {
        found.push(TechniqueError::new(
            "`e2mc` is given a profile, and `probability` is online",
            "leave `profile` out, or choose `probability=offline`",
        ));
    }
    if parameters.profile_seed == ProfileSeed::Other && parameters.profile != FileName::NONE {
        found.push(TechniqueError::new(
            "`e2mc` is given a profile, and `profile_seed` says which run is to make one",
            "leave one of the two out",
        ));
    }
}
