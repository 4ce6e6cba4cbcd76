// SPDX-License-Identifier: MIT OR Apache-2.0
//! Codecs that need to know nothing of the data beforehand: base-delta-immediate and frequent-pattern compression with the latencies that E2MC compares
//! itself with (its Table VI), and C-Pack, whose two words a clock (Chen and others, section V) make 16 clocks of a line, and two more of the
//! compressor's stages. No limit of throughput and no energy of their units is known.

use warpwatt_codecs::block::BlockCodec;
use warpwatt_codecs::block::bdi::Bdi;
use warpwatt_codecs::block::cpack::CPack;
use warpwatt_codecs::block::fpc::Fpc;
use warpwatt_config::technique_parameters;

use super::engine::{Costs, Engine};
use super::{Counters, LAWS, balance, check};
use crate::partition::TransferSite;
use crate::techniques::{Build, Fault, Sites, Technique};

macro_rules! technique {
    ($static:ident, $module:ident, $name:literal, $codec:expr, $compress:literal, $decompress:literal, $excludes:expr, $doc:literal, $paper:literal) => {
        mod $module {
            use super::*;

            technique_parameters! {
                /// Parameters of compression at the memory controllers.
                Parameters = $name {
                    compress_clocks: u32 = $compress, 0..=1000, "clocks", "Latency of the compressor, in DRAM clocks.";
                    decompress_clocks: u32 = $decompress, 0..=1000, "clocks", "Latency of the decompressor, in DRAM clocks.";
                    metadata_bytes: u32 = 8192, 0..=1048576, "bytes", "Size of a controller's metadata cache, of 4 ways; 0: it never misses.";
                }
            }

            pub fn build(build: &Build) -> Box<dyn TransferSite> {
                let parameters: &Parameters = build.settings.of();
                let codec: Box<dyn BlockCodec> = Box::new($codec);
                let costs = Costs {
                    compress_clocks: parameters.compress_clocks,
                    decompress_clocks: parameters.decompress_clocks,
                    compress_rate: 0,
                    decompress_rate: 0,
                    metadata_bytes: parameters.metadata_bytes,
                };
                Box::new(Engine::new(build, Some(codec), &costs, None))
            }
        }

        pub static $static: Technique = Technique {
            name: $name,
            doc: $doc,
            paper: $paper,
            parameters: $module::Parameters::parameters,
            settings: || Box::<$module::Parameters>::default(),
            counters: Counters::INFO,
            zero: || Box::<Counters>::default(),
            excludes: $excludes,
            needs: &[],
            check: |settings, config, found| {
                check($name, settings.of::<$module::Parameters>().metadata_bytes, config, found);
            },
            stores: &[Fault::Dram],
            sites: Sites { transfer: Some($module::build), ..Sites::NONE },
            balance,
            laws: LAWS,
        };
    };
}

technique!(
    BDI,
    bdi,
    "bdi",
    Bdi,
    1,
    1,
    &["e2mc", "fpc", "cpack"],
    "Lines move between L2 and DRAM as a base and differences.",
    "Pekhimenko and others: Base-Delta-Immediate Compression (PACT 2012)"
);
technique!(
    FPC,
    fpc,
    "fpc",
    Fpc,
    6,
    10,
    &["e2mc", "bdi", "cpack"],
    "Lines move between L2 and DRAM with short codes for frequent patterns of words.",
    "Alameldeen, Wood: Frequent Pattern Compression (2004)"
);
technique!(
    CPACK,
    cpack,
    "cpack",
    CPack,
    18,
    16,
    &["e2mc", "bdi", "fpc"],
    "Lines move between L2 and DRAM with short codes for words that are like earlier ones.",
    "Chen and others: C-Pack (IEEE Transactions on VLSI 18, 2010)"
);
