// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is worked out from counters: rates, shares, bandwidths. Each once, by name, from the counters of a kernel, of a sample or of
//! a whole run alike. One that lacks an input, or divides by nothing, is absent.

use warpwatt_base::counters::CounterInfo;
use warpwatt_config::Config;

use crate::counters::{Reading, Values};

/// What a derived figure is worked out from.
pub struct Facts<'a> {
    pub config: &'a Config,
    pub cycles: u64,
    /// The sum of a counter by name.
    pub counter: &'a dyn Fn(&str) -> Option<f64>,
}

pub struct Derived {
    pub info: CounterInfo,
    pub of: fn(&Facts) -> Option<f64>,
}

macro_rules! derived {
    ($($name:literal, $doc:literal = $of:expr;)*) => {
        /// Everything that is derived, by name.
        pub const DERIVED: &[Derived] =
            &[$(Derived { info: CounterInfo { name: $name, doc: $doc, charge: None }, of: $of },)*];
    };
}

derived! {
    "constant.hit.ratio", "Share of constant operands and of places of indexed loads that hit in the constant caches." =
        |facts| facts.share(
            &["constant.hits.count"],
            &["constant.hits.count", "constant.merges.count", "constant.misses.count"],
        );
    "dram.bandwidth.gbs", "Data that the memory moved, in 10^9 bytes per second." =
        |facts| over(facts.dram_bytes()? * 1e-9, facts.seconds());
    "dram.row_hit.ratio", "Share of DRAM accesses to an open row." =
        |facts| facts.share(&["dram.row_hits.count"], &["dram.row_hits.count", "dram.row_misses.count"]);
    "dram.utilisation.ratio", "Bandwidth of the memory as a share of its peak." =
        |facts| over(facts.dram_bytes()?, facts.seconds() * facts.config.dram_peak_bytes_per_second() as f64);
    "icache.hit.ratio", "Share of accesses to the instruction caches that hit." =
        |facts| facts.share(&["icache.hits.count"], &["icache.accesses.count"]);
    "l1d.hit.ratio", "Share of the lines accessed by loads that hit in the L1 data caches." =
        |facts| facts.share(&["l1d.read_hits.count"], &["l1d.reads.count"]);
    "l2.hit.ratio", "Share of reads, writes and atomics that hit in L2." =
        |facts| facts.share(
            &["l2.read_hits.count", "l2.write_hits.count", "l2.atomic_hits.count"],
            &["l2.reads.count", "l2.writes.count", "l2.atomics.count"],
        );
    "noc.reply.utilisation.ratio", "Share of network clocks in which the partitions' ports moved a flit." =
        |facts| over(facts.sum(&["noc.reply.flits.count"])?, facts.noc_clocks() * f64::from(facts.config.gpu.partitions));
    "noc.request.utilisation.ratio", "Share of network clocks in which the SMs' ports moved a flit." =
        |facts| over(facts.sum(&["noc.request.flits.count"])?, facts.noc_clocks() * f64::from(facts.config.gpu.sms));
    "rf.read_conflict.ratio", "Cycles that operands waited for their bank, per operand." =
        |facts| facts.share(&["rf.read_conflicts.cycles"], &["rf.reads.count"]);
    "shared.conflict.ratio", "Cycles lost to bank conflicts, per access to shared memory." =
        |facts| facts.share(
            &["shared.conflict_cycles.cycles"],
            &["shared.reads.count", "shared.writes.count", "shared.atomics.count"],
        );
    "sm.active.ratio", "Share of SM cycles with a resident warp." =
        |facts| facts.share(&["sm.active.cycles"], &["sm.cycles.cycles"]);
    "sm.issue_utilisation.ratio", "Share of issue slots in which an instruction was issued." =
        |facts| facts.share(&["sm.issued.count"], &["sm.issue_slots.count"]);
    "sm.occupancy.ratio", "Resident warps as a share of the warp slots of SMs that have at least one warp." =
        |facts| over(
            facts.sum(&["sm.resident_warps.cycles"])?,
            facts.sum(&["sm.active.cycles"])? * f64::from(facts.config.sm.warps),
        );
    "texture.hit.ratio", "Share of accesses to the texture caches that hit or were merged with an outstanding miss." =
        |facts| facts.share(&["texture.hits.count"], &["texture.reads.count"]);
}

impl Facts<'_> {
    fn sum(&self, names: &[&str]) -> Option<f64> {
        names.iter().map(|name| (self.counter)(name)).sum()
    }

    fn share(&self, part: &[&str], whole: &[&str]) -> Option<f64> {
        over(self.sum(part)?, self.sum(whole)?)
    }

    fn seconds(&self) -> f64 {
        self.cycles as f64 / (f64::from(self.config.clock.core_mhz) * 1e6)
    }

    fn noc_clocks(&self) -> f64 {
        self.cycles as f64 * f64::from(self.config.clock.noc_mhz) / f64::from(self.config.clock.core_mhz)
    }

    fn dram_bytes(&self) -> Option<f64> {
        let accesses = self.sum(&["dram.reads.count", "dram.writes.count"])?;
        Some(accesses * f64::from(self.config.dram_access_bytes()))
    }
}

fn over(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Puts everything that can be derived beside the counters it comes from.
pub fn derive(values: &mut Values, cycles: u64, config: &Config) {
    let counter = |name: &str| match values.get(name)? {
        Reading::Count(count) => Some(*count as f64),
        Reading::Ratio(ratio) => Some(*ratio),
        Reading::Histogram(buckets) => Some(buckets.iter().sum::<u64>() as f64),
    };
    let facts = Facts { config, cycles, counter: &counter };
    let found: Vec<_> = DERIVED
        .iter()
        .filter_map(|derived| Some((derived.info.name.to_owned(), Reading::Ratio((derived.of)(&facts)?))))
        .collect();
    values.extend(found);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(counts: &[(&str, u64)]) -> Values {
        counts.iter().map(|(name, count)| ((*name).to_owned(), Reading::Count(*count))).collect()
    }

    #[test]
    fn a_figure_without_its_inputs_is_absent() {
        let mut values = values(&[("dram.row_hits.count", 0), ("dram.row_misses.count", 0)]);
        derive(&mut values, 100, &Config::default());
        assert_eq!(values.len(), 2, "{values:?}");
    }

    #[test]
    fn bandwidth_follows_from_accesses_and_time() {
        let config = Config::default();
        let mut values = values(&[("dram.reads.count", 1900), ("dram.writes.count", 100)]);
        // 2000 accesses of 32 bytes in a microsecond.
        derive(&mut values, u64::from(config.clock.core_mhz), &config);
        let Reading::Ratio(rate) = values["dram.bandwidth.gbs"] else { panic!("a ratio") };
        assert!((rate - 64.0).abs() < 1e-9, "{rate}");
        let Reading::Ratio(share) = values["dram.utilisation.ratio"] else { panic!("a ratio") };
        assert!((share - 64.0 / 177.408).abs() < 1e-9, "{share}");
    }
}
