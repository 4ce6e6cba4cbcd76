// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be chosen about Warped-Compression: Table 2 of the paper, and the alternatives that it weighs.

use warpwatt_codecs::bdi::Choices;
use warpwatt_config::{Config, choice, technique_parameters};

use crate::techniques::TechniqueError;

choice! {
    /// Which encodings a compressor has (section 6.6).
    Encodings {
        All = "4-0+4-1+4-2",
        ZeroOne = "4-0+4-1",
        ZeroTwo = "4-0+4-2",
        OneTwo = "4-1+4-2",
        Zero = "4-0",
        One = "4-1",
        Two = "4-2",
    }
}

impl Encodings {
    pub fn choices(self) -> Choices {
        let [zero, one, two] = match self {
            Encodings::All => [true, true, true],
            Encodings::ZeroOne => [true, true, false],
            Encodings::ZeroTwo => [true, false, true],
            Encodings::OneTwo => [false, true, true],
            Encodings::Zero => [true, false, false],
            Encodings::One => [false, true, false],
            Encodings::Two => [false, false, true],
        };
        Choices::new(zero, one, two)
    }
}

choice! {
    /// What is done with a write that leaves lanes out (section 5.2).
    Divergent {
        /// It is stored uncompressed; a compressed register is uncompressed first.
        Uncompressed = "uncompressed",
        /// The register is read, the lanes are put in, and the whole is compressed again.
        Merge = "merge",
    }
}

choice! {
    /// What is compressed together (section 5.2).
    Window {
        /// A register of a whole warp.
        Warp = "warp",
        /// Each thread's register by itself.
        Thread = "thread",
    }
}

choice! {
    /// Since when an entry of a bank counts as valid (section 5.3).
    Valid {
        FirstWrite = "first-write",
        Launch = "launch",
    }
}

technique_parameters! {
    /// Warped-Compression's parameters.
    Parameters = "warped-compression" {
        compression: bool = true, 0..=0, "", "Registers are compressed; off: only bank gating.";
        gating: bool = true, 0..=0, "", "Banks without a valid entry are power-gated.";
        encodings: Encodings = Encodings::All, 0..=0, "", "Encodings of the compressor, as base and delta bytes; of several, the smallest that holds the register is taken.";
        compressors: u32 = 2, 1..=16, "", "Compression units of an SM; each accepts one register per cycle.";
        decompressors: u32 = 4, 1..=16, "", "Decompression units of an SM; each accepts one register per cycle.";
        compress_cycles: u32 = 2, 0..=32, "cycles", "Latency of compression; 0: no delay, for any number of registers.";
        decompress_cycles: u32 = 1, 0..=32, "cycles", "Latency of decompression; 0: no delay, for any number of registers.";
        wake_cycles: u32 = 10, 0..=1000, "cycles", "Wake-up latency of a gated bank, from the first write to it.";
        divergent: Divergent = Divergent::Uncompressed, 0..=0, "", "How a partial write (one that does not write all lanes) is handled.";
        mov: bool = true, 0..=0, "", "A register is decompressed before a partial write by an injected MOV; off: at no cost.";
        window: Window = Window::Warp, 0..=0, "", "What is compressed together.";
        valid_on: Valid = Valid::FirstWrite, 0..=0, "", "From when on an entry is valid, until its warp exits.";
        gated_leakage: u32 = 0, 0..=100, "%", "Leakage of a gated bank, in percent of its full leakage.";
        wake_pj: u32 = 0, 0..=1000000, "pJ", "Energy of waking a bank up.";
        observe: bool = false, 0..=0, "", "Measure the similarity of all values written (Figures 2, 5 and 8); slower.";
    }
}

/// Finds settings that are not possible together, or on this GPU.
pub fn check(parameters: &Parameters, config: &Config, found: &mut Vec<TechniqueError>) {
    let mut tell = |message: String, help: &str| found.push(TechniqueError::new(message, help));
    let usual = Parameters::default();
    if config.rf.sub_banks != 8 {
        tell(
            format!(
                "`warped-compression` stores a register in 8 arrays of 16 bytes, and `sm.rf.sub_banks` is {}",
                config.rf.sub_banks
            ),
            "choose a GPU such as gtx480-wc, or `--set sm.rf.sub_banks=8`",
        );
    }
    if !parameters.compression && !parameters.gating {
        tell(
            "`warped-compression` with neither compression nor gating does nothing".to_owned(),
            "switch one of them on, or leave the technique out",
        );
    }
    if !parameters.compression
        && (parameters.encodings, parameters.divergent, parameters.window)
            != (usual.encodings, usual.divergent, usual.window)
    {
        tell(
            "`warped-compression` has settings of the compressor, and compression is off".to_owned(),
            "leave `encodings`, `divergent` and `window` out",
        );
    }
    if parameters.window == Window::Thread && parameters.encodings != Encodings::All {
        tell(
            "`encodings` are for registers of whole warps, and `window` is thread".to_owned(),
            "leave one of them out",
        );
    }
    if parameters.window == Window::Thread && parameters.divergent == Divergent::Merge {
        tell(
            "with `window=thread` every thread is written by itself, and there is nothing to merge"
                .to_owned(),
            "leave `divergent` out",
        );
    }
}
