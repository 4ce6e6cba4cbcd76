// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures that follow from a GPU's parameters and that technology files may use beside the parameters themselves.

use warpwatt_config::{Config, LINE_BYTES};

/// A figure with a name.
pub struct Figure {
    pub name: &'static str,
    pub doc: &'static str,
    pub of: fn(&Config) -> f64,
}

macro_rules! figures {
    ($($name:literal, $doc:literal = $of:expr;)*) => {
        /// All of them, by name.
        pub const FIGURES: &[Figure] = &[$(Figure { name: $name, doc: $doc, of: $of },)*];
    };
}

figures! {
    "constant.bytes", "Size of a constant cache." =
        |config| f64::from(config.constant.sets * config.constant.ways * config.constant.line_bytes);
    "constant.lines", "Lines of a constant cache." =
        |config| f64::from(config.constant.sets * config.constant.ways);
    "dram.access_bytes", "Bytes moved by one memory access." = |config| f64::from(config.dram_access_bytes());
    "dram.channel_chips", "Chips of 32 bits that make up a channel." =
        |config| f64::from(config.dram.bus_bytes) / 4.0;
    "dram.chips", "Chips of 32 bits, all partitions together." =
        |config| f64::from(config.gpu.partitions * config.dram.channels * config.dram.bus_bytes) / 4.0;
    "icache.bytes", "Size of an instruction cache." =
        |config| f64::from(config.icache.sets * config.icache.ways * config.icache.line_bytes);
    "icache.lines", "Lines of an instruction cache." =
        |config| f64::from(config.icache.sets * config.icache.ways);
    "l1d.bytes", "Size of an L1 data cache: on-chip memory less shared memory." =
        |config| f64::from(config.l1d_bytes());
    "l1d.lines", "Lines of an L1 data cache." = |config| f64::from(config.l1d_bytes() / LINE_BYTES);
    "l2.port_bits", "Bits that an L2 slice reads or writes at once." = |config| f64::from(config.l2.port_bytes * 8);
    "l2.slice_bytes", "Size of an L2 slice." = |config| f64::from(config.l2.sets * config.l2.ways * LINE_BYTES);
    "l2.slice_lines", "Lines of an L2 slice." = |config| f64::from(config.l2.sets * config.l2.ways);
    "rf.sub_bank_bytes", "Size of one SRAM array of a register file." =
        |config| f64::from(config.sm.registers) * 4.0 / f64::from(config.rf.banks * config.rf.sub_banks);
    "second.bytes", "Size of a second-level cache of instructions and constants; 0 if there is none." = |config| {
        let way_bytes = LINE_BYTES * config.second.ways;
        f64::from(config.second.bytes / way_bytes * way_bytes)
    };
    "shared.bank_bytes", "Size of a bank of shared memory." =
        |config| f64::from(config.shared.bytes) / f64::from(config.shared.banks);
    "shared.rows", "Rows of 128 bytes of a shared memory." =
        |config| f64::from(config.shared.bytes / LINE_BYTES);
    "texture.bytes", "Size of a texture cache." =
        |config| f64::from(config.texture.sets * config.texture.ways * config.texture.line_bytes);
    "texture.lines", "Lines of a texture cache." =
        |config| f64::from(config.texture.sets * config.texture.ways);
}

/// A parameter that is a number, or a figure.
pub fn value(name: &str, config: &Config) -> Option<f64> {
    match FIGURES.iter().find(|figure| figure.name == name) {
        Some(figure) => Some((figure.of)(config)),
        None => config.get(name)?.parse().ok(),
    }
}

/// All names that `value` accepts.
pub fn names(config: &Config) -> Vec<&'static str> {
    let numbers = warpwatt_config::Config::parameters()
        .iter()
        .map(|parameter| parameter.key)
        .filter(|key| value(key, config).is_some());
    FIGURES.iter().map(|figure| figure.name).chain(numbers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_gtx480() {
        let config = Config::default();
        let of = |name| value(name, &config);
        assert_eq!(of("l1d.bytes"), Some(16384.0));
        assert_eq!(of("l2.slice_bytes"), Some(131072.0));
        assert_eq!(of("dram.chips"), Some(12.0));
        assert_eq!(of("rf.sub_bank_bytes"), Some(1024.0));
        assert_eq!(of("gpu.sms"), Some(15.0));
        assert_eq!(of("sm.scheduler"), None);
    }

    #[test]
    fn names_are_sorted_and_no_parameters() {
        for pair in FIGURES.windows(2) {
            assert!(pair[0].name < pair[1].name);
        }
        for figure in FIGURES {
            assert!(Config::default().get(figure.name).is_none(), "{}", figure.name);
        }
    }
}
