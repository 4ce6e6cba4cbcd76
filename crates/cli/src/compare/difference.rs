// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arithmetic of a comparison: numbers of two runs beside each other, and which of them moved most.

use serde::{Serialize, Serializer};
use serde_json::{Number, Value, json};
use warpwatt_results::{Energy, Mode, Reading, RunRecord, Tool, Values};

use super::inputs::{Differs, differences, warnings};

/// A figure of both runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pair {
    pub a: f64,
    pub b: f64,
}

impl Pair {
    pub fn new(a: f64, b: f64) -> Pair {
        Pair { a, b }
    }

    pub fn counts(a: u64, b: u64) -> Pair {
        Pair::new(a as f64, b as f64)
    }

    pub fn difference(self) -> f64 {
        self.b - self.a
    }

    /// B in units of A; none where A is nothing.
    pub fn ratio(self) -> Option<f64> {
        (self.a != 0.0).then(|| self.b / self.a)
    }

    pub fn plus(self, other: Pair) -> Pair {
        Pair::new(self.a + other.a, self.b + other.b)
    }

    /// How far it moved, on a scale where a factor counts the same up and down. What is small beside `weight` hardly moves.
    pub fn moved(self, weight: f64) -> f64 {
        ((self.b + weight) / (self.a + weight)).ln().abs()
    }
}

/// Counts stay whole numbers.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Value::from(value as i64)
    } else {
        Number::from_f64(value).map_or(Value::Null, Value::Number)
    }
}

impl Serialize for Pair {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields =
            json!({ "a": number(self.a), "b": number(self.b), "difference": number(self.difference()) });
        if let Some(ratio) = self.ratio() {
            fields["ratio"] = ratio.into();
        }
        fields.serialize(serializer)
    }
}

/// Two runs beside each other.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    pub schema: &'static str,
    pub tool: Tool,
    /// Why the comparison may not mean what it seems to.
    pub warnings: Vec<String>,
    /// Inputs that differ.
    pub inputs: Vec<Differs>,
    pub cycles: Pair,
    /// Of simulated time; the clocks may differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Pair>,
    pub warp_instructions: Pair,
    /// Thread instructions per cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipc: Option<Pair>,
    /// In the order in which they were first launched.
    pub kernels: Vec<KernelPair>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyPair>,
    /// Those that moved most.
    pub counters: Vec<CounterPair>,
    /// How many more moved.
    pub counters_left_out: usize,
    /// Counters that only one of the runs has.
    pub only_a: Vec<Single>,
    pub only_b: Vec<Single>,
}

/// The timed launches of one kernel.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KernelPair {
    pub name: String,
    pub launches: Pair,
    pub cycles: Pair,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<Pair>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EnergyPair {
    pub total_j: Pair,
    pub dynamic_j: Pair,
    pub static_j: Pair,
    pub average_w: Pair,
    pub edp_js: Pair,
    pub components: Vec<ComponentPair>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ComponentPair {
    pub name: String,
    pub dynamic_j: Pair,
    pub static_j: Pair,
    pub total_j: Pair,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CounterPair {
    pub name: String,
    #[serde(flatten)]
    pub count: Pair,
    /// What they are ordered by.
    pub moved: f64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Single {
    pub name: String,
    pub count: u64,
}

impl Comparison {
    pub fn new(a: &RunRecord, b: &RunRecord, top: usize) -> Comparison {
        let cycles = Pair::counts(a.totals.cycles.unwrap_or_default(), b.totals.cycles.unwrap_or_default());
        let hertz = |record: &RunRecord| {
            let text = record.inputs.gpu.as_ref()?.parameters.get("clock.core_mhz")?;
            text.parse::<f64>().ok().filter(|mhz| *mhz > 0.0).map(|mhz| mhz * 1e6)
        };
        let warps = (a.totals.warp_instructions, b.totals.warp_instructions);
        let weight = warps.0.min(warps.1) as f64 / 100.0;
        let (counters, left_out) = moved(&a.totals.counters, &b.totals.counters, weight.max(1.0), top);
        Comparison {
            schema: "warpwatt.compare/1",
            tool: warpwatt_record::tool(),
            warnings: warnings(a, b),
            inputs: differences(a, b),
            cycles,
            seconds: hertz(a).zip(hertz(b)).map(|(a, b)| Pair::new(cycles.a / a, cycles.b / b)),
            warp_instructions: Pair::counts(warps.0, warps.1),
            ipc: a.totals.ipc.zip(b.totals.ipc).map(|(a, b)| Pair::new(a, b)),
            kernels: kernels(a, b),
            energy: a.energy.as_ref().zip(b.energy.as_ref()).map(|(a, b)| energy(a, b)),
            counters,
            counters_left_out: left_out,
            only_a: only(&a.totals.counters, &b.totals.counters),
            only_b: only(&b.totals.counters, &a.totals.counters),
        }
    }
}

/// Timed kernels by name: those of A as they come, then those that only B has.
fn kernels(a: &RunRecord, b: &RunRecord) -> Vec<KernelPair> {
    let mut all = Vec::<(&str, KernelPair)>::new();
    let groups = a.by_kernel.iter().map(|group| (group, [1.0, 0.0]));
    for (kernel, [in_a, in_b]) in groups.chain(b.by_kernel.iter().map(|group| (group, [0.0, 1.0]))) {
        if kernel.mode != Mode::Timed {
            continue;
        }
        let place = all.iter().position(|(name, _)| *name == kernel.name).unwrap_or_else(|| {
            let nothing = Pair::new(0.0, 0.0);
            let (name, energy_j) = (kernel.demangled.clone(), Some(nothing));
            all.push((&kernel.name, KernelPair { name, launches: nothing, cycles: nothing, energy_j }));
            all.len() - 1
        });
        let sum = &mut all[place].1;
        let of = |value: f64| Pair::new(value * in_a, value * in_b);
        sum.launches = sum.launches.plus(of(kernel.launches as f64));
        sum.cycles = sum.cycles.plus(of(kernel.cycles.unwrap_or_default() as f64));
        let joules = kernel.energy.as_ref().map(|energy| energy.total_j);
        sum.energy_j = sum.energy_j.zip(joules).map(|(sum, joules)| sum.plus(of(joules)));
    }
    all.into_iter().map(|(_, kernel)| kernel).collect()
}

fn energy(a: &Energy, b: &Energy) -> EnergyPair {
    let mut components = Vec::<ComponentPair>::new();
    let all = a.components.iter().map(|part| (part, [1.0, 0.0]));
    for (part, [in_a, in_b]) in all.chain(b.components.iter().map(|part| (part, [0.0, 1.0]))) {
        let place = components.iter().position(|known| known.name == part.name).unwrap_or_else(|| {
            let nothing = Pair::new(0.0, 0.0);
            let name = part.name.clone();
            components.push(ComponentPair { name, dynamic_j: nothing, static_j: nothing, total_j: nothing });
            components.len() - 1
        });
        let sum = &mut components[place];
        sum.dynamic_j = sum.dynamic_j.plus(Pair::new(part.dynamic_j * in_a, part.dynamic_j * in_b));
        sum.static_j = sum.static_j.plus(Pair::new(part.static_j * in_a, part.static_j * in_b));
        sum.total_j = sum.dynamic_j.plus(sum.static_j);
    }
    EnergyPair {
        total_j: Pair::new(a.total_j, b.total_j),
        dynamic_j: Pair::new(a.dynamic_j, b.dynamic_j),
        static_j: Pair::new(a.static_j, b.static_j),
        average_w: Pair::new(a.average_w, b.average_w),
        edp_js: Pair::new(a.edp_js, b.edp_js),
        components,
    }
}

/// The counts that both have and that moved most, and how many more moved.
fn moved(a: &Values, b: &Values, weight: f64, top: usize) -> (Vec<CounterPair>, usize) {
    let mut all: Vec<_> = a
        .iter()
        .filter_map(|(name, reading)| {
            let (Reading::Count(a), Reading::Count(b)) = (reading, b.get(name)?) else { return None };
            let count = Pair::counts(*a, *b);
            (a != b).then(|| CounterPair { name: name.clone(), count, moved: count.moved(weight) })
        })
        .collect();
    // Equal ones keep the order of their names.
    all.sort_by(|one, other| other.moved.total_cmp(&one.moved));
    let left_out = all.len().saturating_sub(top);
    all.truncate(top);
    (all, left_out)
}

/// Counts above 0 that only the first has.
fn only(of: &Values, other: &Values) -> Vec<Single> {
    of.iter()
        .filter_map(|(name, reading)| match reading {
            Reading::Count(count) if *count > 0 && !other.contains_key(name) => {
                Some(Single { name: name.clone(), count: *count })
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use warpwatt_results::ComponentEnergy;

    use super::*;

    fn values(list: &[(&str, Reading)]) -> Values {
        list.iter().map(|(name, reading)| ((*name).to_owned(), reading.clone())).collect()
    }

    #[test]
    fn pairs_have_a_difference_and_a_ratio_of_something() {
        let pair = Pair::new(4.0, 5.0);
        assert_eq!((pair.difference(), pair.ratio()), (1.0, Some(1.25)));
        assert_eq!(Pair::new(0.0, 5.0).ratio(), None);
        assert_eq!(
            serde_json::to_value(Pair::counts(4, 2)).expect("JSON"),
            json!({ "a": 4, "b": 2, "difference": -2, "ratio": 0.5 })
        );
        assert_eq!(
            serde_json::to_value(Pair::new(0.0, 0.5)).expect("JSON"),
            json!({ "a": 0, "b": 0.5, "difference": 0.5 })
        );
    }

    #[test]
    fn factors_count_the_same_up_and_down_and_small_counts_do_not_lead() {
        let up = Pair::new(1000.0, 2000.0).moved(0.0);
        let down = Pair::new(2000.0, 1000.0).moved(0.0);
        assert!((up - down).abs() < 1e-12 && (up - 2.0_f64.ln()).abs() < 1e-12);
        assert!(Pair::new(0.0, 9.0).moved(1000.0) < 0.01);
        let a = values(&[
            ("doubled.count", Reading::Count(50_000)),
            ("halved.count", Reading::Count(80_000)),
            ("rare.count", Reading::Count(1)),
            ("same.count", Reading::Count(7)),
            ("some.ratio", Reading::Ratio(0.1)),
            ("some.histogram", Reading::Histogram(vec![1])),
        ]);
        let b = values(&[
            ("doubled.count", Reading::Count(100_000)),
            ("halved.count", Reading::Count(30_000)),
            ("rare.count", Reading::Count(100)),
            ("same.count", Reading::Count(7)),
            ("some.ratio", Reading::Ratio(0.9)),
            ("some.histogram", Reading::Histogram(vec![9])),
        ]);
        let (order, left_out) = moved(&a, &b, 1000.0, 2);
        let names: Vec<_> = order.iter().map(|counter| counter.name.as_str()).collect();
        assert_eq!((names, left_out), (vec!["halved.count", "doubled.count"], 1));
        assert_eq!(moved(&a, &a, 1000.0, 9), (Vec::new(), 0));
    }

    #[test]
    fn counters_of_one_run_alone_are_told_if_they_counted() {
        let a = values(&[("both.count", Reading::Count(1))]);
        let b = values(&[
            ("both.count", Reading::Count(2)),
            ("new.count", Reading::Count(3)),
            ("nothing.count", Reading::Count(0)),
        ]);
        assert_eq!(only(&b, &a), [Single { name: "new.count".to_owned(), count: 3 }]);
        assert_eq!(only(&a, &b), []);
        assert_eq!(moved(&a, &b, 1.0, 9).0.len(), 1);
    }

    #[test]
    fn components_of_either_run_are_there_and_add_up() {
        let part = |name: &str, dynamic_j, static_j| ComponentEnergy {
            name: name.to_owned(),
            dynamic_j,
            static_j,
            shares: warpwatt_results::Shares::default(),
        };
        let of = |components: Vec<ComponentEnergy>| {
            let dynamic_j: f64 = components.iter().map(|part| part.dynamic_j).sum();
            let static_j: f64 = components.iter().map(|part| part.static_j).sum();
            Energy {
                total_j: dynamic_j + static_j,
                dynamic_j,
                static_j,
                average_w: 1.0,
                edp_js: 1.0,
                ed2p_js2: 1.0,
                on_chip_j: dynamic_j + static_j,
                with_warps_j: 0.0,
                with_warps_share: 0.0,
                silicon: None,
                power: None,
                components,
                structures: Vec::new(),
                per_line: Vec::new(),
                unattributed_j: 0.0,
                per_class: Vec::new(),
                per_sm: None,
                per_instruction: None,
            }
        };
        let a = of(vec![part("banks", 4.0, 2.0), part("old", 1.0, 0.0)]);
        let b = of(vec![part("banks", 2.0, 1.0), part("units", 0.5, 0.25)]);
        let pair = energy(&a, &b);
        let names: Vec<_> = pair.components.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["banks", "old", "units"]);
        assert_eq!(pair.components[0].total_j, Pair::new(6.0, 3.0));
        assert_eq!(pair.components[1].total_j, Pair::new(1.0, 0.0));
        assert_eq!(pair.components[2].static_j, Pair::new(0.0, 0.25));
        let sum = pair.components.iter().fold(Pair::new(0.0, 0.0), |sum, part| sum.plus(part.total_j));
        assert_eq!(sum, pair.total_j);
    }
}
