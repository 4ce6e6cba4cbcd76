// SPDX-License-Identifier: MIT OR Apache-2.0
//! Power over time, of kernels and of whole runs, from the samples that `--interval` takes. Power times time adds up to the energy.

use warpwatt_results::{Kernel, PowerSeries, Reading, Series};
use warpwatt_runtime::TimedRecord;

use crate::energy::Energies;

impl Energies {
    /// Power over time, in watts, by component and all together.
    pub(crate) fn power(&self, timed: &TimedRecord, series: &mut Series) {
        let mut before = timed.start_cycle;
        let mut counts = vec![0.0; self.column_of.len()];
        for sample in &timed.series {
            sample.counters.visit(&mut self.of_gpu.noting(&mut counts));
            let time = self.seconds(sample.cycle.saturating_sub(before));
            before = sample.cycle;
            let part = self.model.evaluate_counts(&counts, time);
            let mut put = |name: &str, watts: f64| {
                series.entry(watts_name(name)).or_default().push(Reading::Ratio(watts));
            };
            for component in part.components() {
                put(&component.name, component.total().watts_over(time));
            }
            put("total", part.total().watts_over(time));
        }
    }

    /// Power over the time of a whole run, from the samples of its kernels. Kernels that run at the same time sample the same GPU: an interval is
    /// taken from the one that began first. Where their intervals do not begin and end together, the power of a part of one is taken as that
    /// of all of it, and all power is scaled so that it adds up.
    pub(crate) fn power_of_run(&self, kernels: &[Kernel], total_j: f64) -> Option<PowerSeries> {
        let mut timed: Vec<_> = kernels.iter().filter(|kernel| kernel.start_cycle.is_some()).collect();
        timed.sort_by_key(|kernel| kernel.start_cycle);
        let mut power = PowerSeries::default();
        let mut joules = 0.0;
        let mut covered = 0;
        for kernel in timed {
            let series = kernel.series.as_ref()?;
            let mut before = kernel.start_cycle?;
            for (place, end) in series.get("cycle")?.iter().enumerate() {
                let Reading::Count(end) = *end else { return None };
                let start = before.max(covered);
                before = end;
                if end <= start {
                    continue;
                }
                covered = end;
                power.start_cycle.push(start);
                power.end_cycle.push(end);
                for name in self.series_names() {
                    let watts = match series.get(&watts_name(&name))?.get(place)? {
                        Reading::Ratio(watts) => *watts,
                        _ => return None,
                    };
                    if name == "total" {
                        joules += watts * self.seconds(end - start).0;
                        power.total_w.push(watts);
                    } else {
                        power.components_w.entry(name).or_default().push(watts);
                    }
                }
            }
        }
        if joules <= 0.0 {
            return None;
        }
        let factor = total_j / joules;
        let columns = power.components_w.values_mut().chain([&mut power.total_w]);
        columns.flatten().for_each(|watts| *watts *= factor);
        Some(power)
    }

    /// Components, and all together.
    fn series_names(&self) -> Vec<String> {
        let mut names = Vec::<String>::new();
        for structure in &self.model.structures {
            if !names.iter().any(|name| **name == *structure.component) {
                names.push(structure.component.to_string());
            }
        }
        names.push("total".to_owned());
        names
    }
}

/// The name of a component's power over time in a series.
fn watts_name(component: &str) -> String {
    format!("power.{}.watts", component.to_lowercase().replace(' ', "_"))
}
