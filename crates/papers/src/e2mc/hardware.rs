// SPDX-License-Identifier: MIT OR Apache-2.0
//! Area and power of the units, from Tables III and IV.

use crate::paper::Findings;

/// Bandwidth that all units together have to match: four times that of a GTX580, in GB/s, by equal numbers of bytes each way.
const BANDWIDTH: f64 = 4.0 * 192.4 / 2.0;
/// Of a unit for 16-bit symbols (Table III): bandwidth in GB/s, area in mm², power in mW.
const COMPRESSOR: [f64; 3] = [2.86, 0.11, 5.47];
const DECOMPRESSOR: [f64; 3] = [1.60, 0.07, 11.89];
/// Of a GTX580: die in mm², peak power in W.
const DIE: f64 = 520.0;
const POWER: f64 = 244.0;

/// Area in mm² and power in W of as many units as match the bandwidth.
fn units([bandwidth, area, power]: [f64; 3]) -> [f64; 2] {
    let units = (BANDWIDTH / bandwidth).ceil();
    [units * area, units * power * 1e-3]
}

pub fn evaluate(findings: &mut Findings) {
    let [compressors, decompressors] = [units(COMPRESSOR), units(DECOMPRESSOR)];
    let area = 100.0 * (compressors[0] + decompressors[0]) / DIE;
    let power = 100.0 * (compressors[1] + decompressors[1]) / POWER;
    findings.measures.computed("e2mc.hardware:area", area);
    findings.measures.computed("e2mc.hardware:power", power);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table IV has 136 and 240 units, 14.6 and 16.4 mm², 0.7 and 2.8 W.
    #[test]
    fn units_are_about_those_of_table_4() {
        let [area, power] = units(COMPRESSOR);
        assert!((area - 14.6).abs() < 0.5 && (power - 0.7).abs() < 0.1, "{area} {power}");
        let [area, power] = units(DECOMPRESSOR);
        assert!((area - 16.4).abs() < 0.6 && (power - 2.8).abs() < 0.1, "{area} {power}");
    }
}
