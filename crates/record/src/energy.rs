// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy of kernels and of whole runs, from their counters and time, by component, line, instruction, SM and interval.
//!
//! Dynamic energy of an instruction is that of its own events where these are known for each instruction: issues, lanes, registers, constant
//! operands, accesses to shared memory. Energy of the memory hierarchy is attributed to instructions by the lines that they accessed.
//! Static energy is attributed by issue slots. docs/energy.md has the details.

use rustc_hash::FxHashMap;
use warpwatt_base::counters::{Charge, Count};
use warpwatt_config::Config;
use warpwatt_energy::{
    Attribution, Breakdown, Error, Model, Part, Seconds, Setting, Shares, Technology, attribute,
};
use warpwatt_results::counters::{BARRIERS, DIVERGENT_BRANCHES};
use warpwatt_results::{
    ClassEnergy, ClassSums, ComponentEnergy, Energy, GroupEnergy, InstructionEnergy, Kernel, LineEnergy,
    Reading, RunRecord, Silicon, SmEnergy, StructureEnergy, Sums, Values,
};
use warpwatt_runtime::{Counters, LaunchRecord, OpCounters, OpKind, SmCounters, Techniques, TimedRecord};

use crate::charged::{Column, PcShares};

/// Counters in the order in which they are visited, and where each is among the model's, if energy depends on it.
pub(crate) struct Order {
    names: Vec<&'static str>,
    places: Vec<Option<usize>>,
}

impl Order {
    /// `place`: where a counter is among the model's.
    fn new(
        place: impl Fn(&str) -> Option<usize>,
        visit: impl FnOnce(&mut dyn FnMut(&'static str, Count)),
    ) -> Order {
        let mut order = Order { names: Vec::new(), places: Vec::new() };
        visit(&mut |name, _| {
            order.names.push(name);
            order.places.push(place(name));
        });
        order
    }

    /// What is to visit counters, to get the position of each in this order with its sum. They come in this order, but for those of techniques that do not act
    /// here: an SM does not have the counters of a technique in the L2 slices or at the memory controllers.
    fn visitor<'a>(&'a self, mut put: impl FnMut(usize, u64) + 'a) -> impl FnMut(&'static str, Count) + 'a {
        let mut next = 0;
        move |name, count| {
            // Both come from one declaration, so that the text need not be compared; only where they do not follow each other.
            let same = |known: &&'static str| std::ptr::eq(*known, name);
            if !self.names.get(next).is_some_and(same) {
                let Some(ahead) = self.ahead(next, name) else { return };
                next += ahead;
            }
            if let Count::Sum(sum) = count {
                put(next, sum);
            }
            next += 1;
        }
    }

    /// How far a counter is from where it was expected. It seldom is: this stays out of what visits each counter of each SM.
    #[cold]
    #[inline(never)]
    fn ahead(&self, next: usize, name: &str) -> Option<usize> {
        self.names[next..].iter().position(|known| *known == name)
    }

    /// What is to visit counters, to put them into their places among the model's.
    pub fn noting<'a>(&'a self, counts: &'a mut [f64]) -> impl FnMut(&'static str, Count) + 'a {
        self.visitor(|at, sum| {
            if let Some(place) = self.places[at] {
                counts[place] = sum as f64;
            }
        })
    }
}

/// Works out energy for one GPU and technology.
pub struct Energies {
    pub(crate) model: Model,
    core_hz: f64,
    /// Counters of an SM and of the whole GPU.
    of_sm: Order,
    pub(crate) of_gpu: Order,
    /// Where those counters that every launch has are among the model's: barriers and divergent branches.
    of_launch: [Option<usize>; 2],
    /// What events are divided by, and which of them each of the model's counters goes by.
    columns: Vec<Column>,
    pub(crate) column_of: Vec<Option<usize>>,
}

/// Energy of a launch: in all, and by instruction.
pub(crate) struct LaunchEnergy<'e> {
    /// Values of the model's counters.
    counts: Vec<f64>,
    time: Seconds,
    pub whole: Part,
    shares: PcShares<'e>,
    divided: Attribution,
}

/// Energy of a line, and its share of the issue slots.
pub(crate) struct LineShare {
    pub energy_j: f64,
    pub dynamic_j: f64,
    pub time_share: f64,
}

impl Energies {
    pub fn new(
        technology: &Technology,
        config: &Config,
        techniques: &Techniques,
    ) -> Result<Energies, Vec<Error>> {
        let infos = warpwatt_results::counters::all_counters(&Counters::infos());
        let counters: Vec<_> = infos.iter().map(|info| info.name).collect();
        let on: Vec<_> = techniques.on().map(|technique| technique.name).collect();
        let parameters = techniques.numbers();
        let all: Vec<_> = Techniques::ALL.iter().map(|technique| technique.name).collect();
        let setting = Setting {
            config,
            counters: &counters,
            all_techniques: &all,
            techniques: &on,
            parameters: &parameters,
        };
        let model = technology.resolve(setting)?;
        let places: FxHashMap<_, _> = model.counters().enumerate().map(|(at, name)| (name, at)).collect();
        let place = |name: &str| places.get(name).copied();
        // Techniques that are off count nothing.
        let sm = SmCounters::of(techniques);
        let of_sm = Order::new(place, |note| {
            sm.visit(note);
            OpCounters::default().visit(note);
        });
        let of_gpu = Order::new(place, |note| Counters { sm: sm.clone(), ..Counters::default() }.visit(note));
        let of_launch = [BARRIERS, DIVERGENT_BRANCHES].map(|info| place(info.name));
        let mut columns = vec![Column::new(Charge::Time, &of_gpu.names)];
        let charges: FxHashMap<_, _> = infos.iter().map(|info| (info.name, info.charge)).collect();
        let column_of = model
            .counters()
            .map(|name| {
                let charge = (*charges.get(name)?)?;
                if charge == Charge::Nobody {
                    return None;
                }
                let known = columns.iter().position(|column| column.charge == charge);
                Some(known.unwrap_or_else(|| {
                    columns.push(Column::new(charge, &of_gpu.names));
                    columns.len() - 1
                }))
            })
            .collect();
        let core_hz = f64::from(config.clock.core_mhz) * 1e6;
        Ok(Energies { core_hz, of_sm, of_gpu, of_launch, columns, column_of, model })
    }

    pub(crate) fn seconds(&self, cycles: u64) -> Seconds {
        Seconds(cycles as f64 / self.core_hz)
    }

    /// Energy of a timed launch.
    pub(crate) fn launch(&self, launch: &LaunchRecord, timed: &TimedRecord) -> LaunchEnergy<'_> {
        let mut counted = vec![None; self.of_gpu.names.len()];
        timed.counters.visit(&mut self.of_gpu.visitor(|at, sum| counted[at] = Some(sum as f64)));
        let mut counts = vec![0.0; self.column_of.len()];
        let launch_counts = [launch.barriers, launch.divergent_branches].map(|count| Some(count as f64));
        let gpu = self.of_gpu.places.iter().zip(&counted);
        for (place, count) in gpu.chain(self.of_launch.iter().zip(&launch_counts)) {
            if let (Some(place), Some(count)) = (place, count) {
                counts[*place] = *count;
            }
        }
        let time = self.seconds(timed.cycles);
        let whole = self.model.sum_counts(&counts, time);
        let issued = timed.counters.sm.issue.issued;
        // Most kernels use few kinds of operation: what costs nothing need not be divided.
        let mut needed = vec![false; self.columns.len()];
        let costs = self.model.dynamic_by_counter(&counts).into_iter().zip(&self.column_of);
        costs.for_each(|(energy, column)| {
            if let (true, Some(column)) = (energy.0 != 0.0, column) {
                needed[*column] = true;
            }
        });
        let shares =
            PcShares::new(&self.columns, &needed, &self.column_of, &timed.instructions, &counted, issued);
        let divided = attribute(&self.model, &counts, whole, &shares);
        LaunchEnergy { counts, time, whole, shares, divided }
    }

    /// Puts the energy of a timed launch into its kernel.
    pub fn kernel(&self, launch: &LaunchRecord, kernel: &mut Kernel) {
        if let Some(timed) = &launch.timed {
            self.detail(launch, timed, &self.launch(launch, timed), kernel);
        }
    }

    /// Puts the energy of a timed launch into its kernel, with all that a record has of it.
    pub(crate) fn detail(
        &self,
        launch: &LaunchRecord,
        timed: &TimedRecord,
        of_launch: &LaunchEnergy,
        kernel: &mut Kernel,
    ) {
        let LaunchEnergy { counts, time, divided, .. } = of_launch;
        let whole = self.model.evaluate_counts(counts, *time);
        let issue = &timed.counters.sm.issue;
        let busy = if issue.cycles > 0 { issue.active as f64 / issue.cycles as f64 } else { 1.0 };
        let mut energy = self.summary(&whole, &self.model.evaluate_with_warps(counts, *time, busy), busy);
        // The same for all kernels of a run, whose own energy has it.
        energy.silicon = None;
        energy.structures.iter_mut().for_each(|structure| structure.area_mm2 = None);
        let lines = launch.lines.iter().zip(of_launch.lines(launch, timed)).map(|(line, share)| LineEnergy {
            file: line.file.to_string(),
            line: line.line,
            energy_j: share.energy_j,
            dynamic_j: share.dynamic_j,
            time_share: share.time_share,
        });
        energy.per_line = lines.collect();
        energy.unattributed_j = divided.unattributed.total().0;
        let classes = of_launch.classes(timed).into_iter().map(|(kind, sums)| ClassEnergy {
            name: kind.name().to_owned(),
            warp_instructions: sums.warp_instructions,
            energy_j: sums.energy_j,
            dynamic_j: sums.dynamic_j,
        });
        energy.per_class = classes.collect();
        energy.per_sm = Some(self.per_sm(timed, *time, &whole));
        energy.per_instruction = Some(per_instruction(timed, divided));
        if let Some(series) = &mut kernel.series {
            self.power(timed, series);
        }
        kernel.energy = Some(energy);
    }

    /// Puts the energy of a whole run into its record: that of the device while kernels were under way, and by line the sum of
    /// its launches.
    pub fn totals(&self, record: &mut RunRecord, sums: &Sums) {
        let Some(cycles) = record.totals.cycles else { return };
        let counter = |name: &str| count(&record.totals.counters, name);
        let (counts, time, busy) = (self.model.counts(&counter), self.seconds(cycles), busy(&counter));
        let whole = self.model.evaluate_counts(&counts, time);
        let mut energy = self.summary(&whole, &self.model.evaluate_with_warps(&counts, time, busy), busy);
        // Only launches in detail have samples: with only some launches, power would not add up.
        if record.kernels.len() as u64 == record.totals.launches {
            energy.power = self.power_of_run(&record.kernels, energy.total_j);
        }
        let slots = counter("sm.issue_slots.count").unwrap_or_default();
        energy.per_line = sums
            .line_energy()
            .map(|(file, line, sum)| LineEnergy {
                file: file.to_owned(),
                line,
                energy_j: sum.energy_j,
                dynamic_j: sum.dynamic_j,
                time_share: if slots > 0.0 { sum.slots / slots } else { 0.0 },
            })
            .collect();
        energy.per_class = OpKind::ALL
            .iter()
            .filter_map(|kind| {
                let ClassSums { warp_instructions, energy_j, dynamic_j } = sums.class_energy(kind.name())?;
                Some(ClassEnergy { name: kind.name().to_owned(), warp_instructions, energy_j, dynamic_j })
            })
            .collect();
        let attributed: f64 = energy.per_line.iter().map(|line| line.energy_j).sum();
        energy.unattributed_j = energy.total_j - attributed;
        record.energy = Some(energy);
    }

    /// Puts the energy of each kernel into its entry, from the counts and the time of all its launches together: energy is proportional to both.
    pub fn groups(&self, record: &mut RunRecord) {
        for group in &mut record.by_kernel {
            let Some(cycles) = group.cycles else { continue };
            let counts = self.model.counts(&|name: &str| count(&group.counters, name));
            let whole = self.model.evaluate_counts(&counts, self.seconds(cycles));
            group.energy = Some(GroupEnergy {
                total_j: whole.total().0,
                dynamic_j: whole.dynamic().0,
                static_j: whole.static_().0,
                average_w: whole.total().watts_over(whole.time),
            });
        }
    }

    /// Energy of the whole, not attributed yet.
    fn summary(&self, whole: &Breakdown, with_warps: &Breakdown, busy: f64) -> Energy {
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        let [total, on_chip] = [whole.total().0, whole.on_chip().0];
        let [busy_total, busy_on_chip] = [with_warps.total().0, with_warps.on_chip().0];
        let parts = whole.components();
        let on_die = parts.iter().filter(|part| !part.off_chip);
        let dynamic_on_chip: f64 = on_die.map(|part| part.dynamic.0).sum();
        let components = parts.iter().zip(with_warps.components()).map(|(part, busy)| {
            let on_die = |share: f64| if part.off_chip { 0.0 } else { share };
            ComponentEnergy {
                name: part.name.to_string(),
                dynamic_j: part.dynamic.0,
                static_j: part.static_.0,
                shares: warpwatt_results::Shares {
                    all: share(part.total().0, total),
                    on_chip: on_die(share(part.total().0, on_chip)),
                    with_warps: share(busy.total().0, busy_total),
                    with_warps_on_chip: on_die(share(busy.total().0, busy_on_chip)),
                    dynamic_on_chip: on_die(share(part.dynamic.0, dynamic_on_chip)),
                },
            }
        });
        let structures =
            whole.structures.iter().zip(&self.model.structures).map(|(structure, info)| StructureEnergy {
                name: structure.name.to_string(),
                component: structure.component.to_string(),
                dynamic_j: structure.dynamic.0,
                static_j: structure.static_.0,
                area_mm2: info.area_mm2,
            });
        let silicon = self.model.conditions.as_ref().map(|silicon| Silicon {
            node_nm: silicon.node_nm,
            kelvin: silicon.kelvin,
            volts: silicon.supplies.iter().map(|supply| (supply.clock.clone(), supply.volts)).collect(),
            die_mm2: self.model.die_mm2,
        });
        Energy {
            total_j: total,
            dynamic_j: whole.dynamic().0,
            static_j: whole.static_().0,
            average_w: whole.total().watts_over(whole.time),
            edp_js: whole.edp(),
            ed2p_js2: whole.ed2p(),
            on_chip_j: on_chip,
            with_warps_j: busy_total,
            with_warps_share: busy,
            silicon,
            power: None,
            components: components.collect(),
            structures: structures.collect(),
            per_line: Vec::new(),
            unattributed_j: total,
            per_class: Vec::new(),
            per_sm: None,
            per_instruction: None,
        }
    }

    fn per_sm(&self, timed: &TimedRecord, time: Seconds, whole: &Breakdown) -> SmEnergy {
        let mut sms = SmEnergy { dynamic_j: Vec::new(), static_j: Vec::new(), shared_j: 0.0 };
        let mut counts = vec![0.0; self.column_of.len()];
        let mut last = None;
        for (sm, ops) in timed.per_sm.iter().zip(&timed.ops_per_sm) {
            // SMs without blocks counted the same.
            if last == Some((sm, ops)) {
                sms.dynamic_j.extend_from_within(sms.dynamic_j.len() - 1..);
                sms.static_j.extend_from_within(sms.static_j.len() - 1..);
                continue;
            }
            last = Some((sm, ops));
            let mut note = self.of_sm.noting(&mut counts);
            sm.visit(&mut note);
            ops.visit(&mut note);
            drop(note);
            let part = self.model.evaluate_sm(&counts, time);
            sms.dynamic_j.push(part.dynamic.0);
            sms.static_j.push(part.static_.0);
        }
        let inside: f64 = sms.dynamic_j.iter().chain(&sms.static_j).sum();
        sms.shared_j = whole.total().0 - inside;
        sms
    }
}

/// The share of time in which SMs had warps; all of it where that was not counted.
fn busy(counter: &dyn Fn(&str) -> Option<f64>) -> f64 {
    match (counter("sm.active.cycles"), counter("sm.cycles.cycles")) {
        (Some(active), Some(all)) if all > 0.0 => active / all,
        _ => 1.0,
    }
}

/// The value of a counter that is a number.
fn count(values: &Values, name: &str) -> Option<f64> {
    match values.get(name)? {
        Reading::Count(count) => Some(*count as f64),
        _ => None,
    }
}

impl LaunchEnergy<'_> {
    /// By line of the launch.
    pub fn lines(&self, launch: &LaunchRecord, timed: &TimedRecord) -> Vec<LineShare> {
        let none = || LineShare { energy_j: 0.0, dynamic_j: 0.0, time_share: 0.0 };
        let mut lines: Vec<_> = launch.lines.iter().map(|_| none()).collect();
        let parts = timed.instructions.iter().zip(&self.divided.places).zip(self.shares.time());
        for ((instruction, part), time) in parts {
            if let Some(line) = lines.get_mut(instruction.line as usize) {
                line.energy_j += part.total().0;
                line.dynamic_j += part.dynamic.0;
                line.time_share += time;
            }
        }
        lines
    }

    /// By kind of operation, without those that no instruction issued of.
    pub fn classes(&self, timed: &TimedRecord) -> Vec<(OpKind, ClassSums)> {
        let mut classes: Vec<_> = OpKind::ALL.iter().map(|kind| (*kind, ClassSums::default())).collect();
        for (instruction, part) in timed.instructions.iter().zip(&self.divided.places) {
            let (_, class) = &mut classes[instruction.facts.kind as usize];
            class.warp_instructions += instruction.issues;
            class.energy_j += part.total().0;
            class.dynamic_j += part.dynamic.0;
        }
        classes.retain(|(_, class)| class.warp_instructions > 0);
        classes
    }

    /// Power in the mean over the launch, in watts.
    pub fn average_w(&self) -> f64 {
        self.whole.total().watts_over(self.time)
    }
}

fn per_instruction(timed: &TimedRecord, divided: &Attribution) -> InstructionEnergy {
    let mut columns = InstructionEnergy::default();
    for (instruction, part) in timed.instructions.iter().zip(&divided.places) {
        columns.pc.push(instruction.pc);
        columns.op.push(instruction.op.to_owned());
        columns.line.push(instruction.line);
        columns.issues.push(instruction.issues);
        columns.energy_j.push(part.total().0);
    }
    columns
}

#[cfg(test)]
mod tests {
    use warpwatt_runtime::{Args, Device, LaunchConfig, Mode, Nobody, Options, Timed, Unit};

    use super::*;

    const PTX: &str = ".version 7.8\n.target sm_75\n.address_size 64\n\
        .visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<5>;\n.reg .f32 %f<3>;\n.reg .b64 %rd<4>;\n\
        ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd3, %rd1, %rd2;\n\
        ld.global.f32 %f1, [%rd3];\nfma.rn.f32 %f2, %f1, %f1, %f1;\nst.global.f32 [%rd3], %f2;\nret;\n}\n";

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
    }

    /// A run of two kernels at once, with samples.
    fn record(technology: &str) -> (RunRecord, Config) {
        let config = Config::default();
        let timed = Timed { interval: Some(200), ..Timed::new(config.clone()) };
        let options = Options { mode: Mode::Timed(Box::new(timed)), ..Options::default() };
        let mut device = Device::with(options, Box::new(Nobody)).expect("the GPU is legal");
        let module = device.load_module("k.ptx", PTX).expect("the text is PTX");
        let p = device.alloc(4096).expect("there is room");
        for _ in 0..3 {
            device
                .launch(module, "k", &LaunchConfig::new(20, 256), &Args::new().ptr(p))
                .expect("the kernel runs");
        }
        device.synchronize().expect("the kernels end");
        let technology = Technology::builtin(technology).expect("it is built in");
        let energies = Energies::new(&technology, &config, &Techniques::default()).expect("it fits the GPU");
        let kernels = device.log().iter().map(|launch| {
            let mut kernel = crate::kernel(launch, Some(&config));
            energies.kernel(launch, &mut kernel);
            kernel
        });
        let whole = crate::Whole::of(&device).expect("it is timed");
        let host = crate::Meter::start().host(warpwatt_runtime::Level::detect(), 1);
        let technology = Some(technology.name.clone());
        let inputs = warpwatt_results::Inputs { technology, ..warpwatt_results::Inputs::default() };
        let kernels: Vec<_> = kernels.collect();
        let sums = Sums::of(&kernels);
        let mut record = RunRecord::new(crate::tool(), inputs, kernels, &sums, Some(whole.elapsed()), host);
        energies.totals(&mut record, &sums);
        (record, config)
    }

    fn check(energy: &Energy) {
        let components: f64 = energy.components.iter().map(|part| part.dynamic_j + part.static_j).sum();
        assert!(close(components, energy.total_j));
        let structures: f64 = energy.structures.iter().map(|part| part.dynamic_j + part.static_j).sum();
        assert!(close(structures, energy.total_j));
        let lines: f64 = energy.per_line.iter().map(|line| line.energy_j).sum();
        assert!(close(lines + energy.unattributed_j, energy.total_j));
        assert!(lines > 0.0 && energy.unattributed_j >= 0.0);
        let classes: f64 = energy.per_class.iter().map(|class| class.energy_j).sum();
        assert!(close(classes, lines));
    }

    #[test]
    fn all_parts_of_kernels_and_of_the_run_add_up() {
        for technology in warpwatt_energy::TECHNOLOGIES {
            let (record, _) = record(technology.name);
            let whole = record.energy.as_ref().expect("it is timed");
            check(whole);
            let mut sum = 0.0;
            for kernel in &record.kernels {
                let energy = kernel.energy.as_ref().expect("it is timed");
                check(energy);
                let sms = energy.per_sm.as_ref().expect("of kernels");
                let inside: f64 = sms.dynamic_j.iter().chain(&sms.static_j).sum();
                assert_eq!(sms.dynamic_j.len(), 15);
                assert!(close(inside + sms.shared_j, energy.total_j));
                assert!(sms.shared_j >= -1e-9 * energy.total_j, "{} {}", technology.name, sms.shared_j);
                let instructions = energy.per_instruction.as_ref().expect("of kernels");
                let lines: f64 = energy.per_line.iter().map(|line| line.energy_j).sum();
                assert!(close(instructions.energy_j.iter().sum(), lines));
                let ops = |end: &str| -> f64 {
                    let names = OpKind::ALL.iter().map(|kind| format!("ops.{}{end}", kind.name()));
                    names.filter_map(|name| count(&kernel.counters, &name)).sum()
                };
                assert_eq!(Some(ops(".count")), count(&kernel.counters, "sm.issued.count"));
                assert_eq!(
                    Some(ops(".lanes.count")),
                    count(&kernel.counters, "sm.thread_instructions.count")
                );
                sum += energy.total_j;
            }
            // They ran one after the other.
            assert!((sum - whole.total_j).abs() < 1e-6 * whole.total_j, "{sum} {}", whole.total_j);
        }
    }

    #[test]
    fn power_over_time_is_the_energy_of_the_kernel() {
        let (record, config) = record("gtx480-40nm");
        let kernel = &record.kernels[0];
        let series = kernel.series.as_ref().expect("samples were taken");
        let column = |name: &str| -> Vec<f64> {
            series[name]
                .iter()
                .map(|reading| match reading {
                    Reading::Count(count) => *count as f64,
                    Reading::Ratio(ratio) => *ratio,
                    Reading::Histogram(_) => 0.0,
                })
                .collect()
        };
        let (ends, watts) = (column("cycle"), column("power.total.watts"));
        assert!(ends.len() > 3);
        let mut before = kernel.start_cycle.expect("it is timed") as f64;
        let mut joules = 0.0;
        for (end, watts) in ends.iter().zip(&watts) {
            joules += (end - before) / (f64::from(config.clock.core_mhz) * 1e6) * watts;
            before = *end;
        }
        let total = kernel.energy.as_ref().expect("it is timed").total_j;
        assert!(close(joules, total), "{joules} {total}");
        let parts: f64 = series
            .keys()
            .filter(|name| name.starts_with("power.") && *name != "power.total.watts")
            .map(|name| column(name)[0])
            .sum();
        assert!(close(parts, watts[0]));
    }

    #[test]
    fn power_over_the_time_of_the_run_adds_up_to_its_energy() {
        let (record, config) = record("gtx480-40nm");
        let energy = record.energy.as_ref().expect("it is timed");
        let power = energy.power.as_ref().expect("samples were taken");
        let hz = f64::from(config.clock.core_mhz) * 1e6;
        let spans: Vec<f64> = power
            .start_cycle
            .iter()
            .zip(&power.end_cycle)
            .map(|(from, to)| (to - from) as f64 / hz)
            .collect();
        let sum = |watts: &[f64]| -> f64 { watts.iter().zip(&spans).map(|(watts, time)| watts * time).sum() };
        assert!(spans.len() > 9 && spans.iter().all(|span| *span > 0.0));
        assert!(power.start_cycle.windows(2).zip(&power.end_cycle).all(|(starts, end)| starts[1] >= *end));
        assert!(close(sum(&power.total_w), energy.total_j));
        for component in &energy.components {
            let found = sum(&power.components_w[&component.name]);
            let whole = component.dynamic_j + component.static_j;
            assert!((found - whole).abs() < 1e-6 * energy.total_j, "{}: {found} {whole}", component.name);
        }
        // The time it has is that of kernels under way.
        let cycles = record.totals.cycles.expect("it is timed");
        assert!(close(spans.iter().sum::<f64>() * hz, cycles as f64));
    }

    #[test]
    fn shares_add_up_over_all_time_and_with_warps_with_memory_and_without() {
        for technology in ["gtx480-40nm", "gpuwattch-40nm", "wc45"] {
            let (record, _) = record(technology);
            let energy = record.energy.as_ref().expect("it is timed");
            let sum = |of: fn(&warpwatt_results::Shares) -> f64| -> f64 {
                energy.components.iter().map(|part| of(&part.shares)).sum()
            };
            let columns: [fn(&warpwatt_results::Shares) -> f64; 5] = [
                |shares| shares.all,
                |shares| shares.on_chip,
                |shares| shares.with_warps,
                |shares| shares.with_warps_on_chip,
                |shares| shares.dynamic_on_chip,
            ];
            for column in columns {
                assert!(close(sum(column), 1.0), "{technology}");
            }
            assert!(energy.with_warps_share > 0.0 && energy.with_warps_share < 1.0);
            assert!(energy.with_warps_j < energy.total_j && energy.with_warps_j > energy.dynamic_j);
            let part = |name: &str| energy.components.iter().find(|part| part.name == name);
            if technology == "gtx480-40nm" {
                let memory: f64 = ["memory", "memory interface"]
                    .iter()
                    .filter_map(|name| part(name))
                    .map(|part| part.dynamic_j + part.static_j)
                    .sum();
                assert!(memory > 0.0 && close(energy.on_chip_j + memory, energy.total_j));
                // An SM without warps is idle, and takes nothing of that in the time with warps.
                let idle = part("idle SMs").expect("it is there");
                assert!(idle.shares.all > 0.0 && idle.shares.with_warps < 1e-9, "{}", idle.shares.with_warps);
                let silicon = energy.silicon.as_ref().expect("it is known");
                assert_eq!(silicon.volts["clock.core_mhz"], 0.96);
                assert!(close(silicon.die_mm2.expect("it is known"), 529.0));
            }
        }
    }

    #[test]
    fn lines_that_compute_pay_for_units_and_lines_that_load_for_memory() {
        let (record, _) = record("gtx480-40nm");
        let energy = record.kernels[0].energy.as_ref().expect("it is timed");
        let class = |name: &str| energy.per_class.iter().find(|class| class.name == name);
        let dynamic = |name: &str| class(name).map_or(0.0, |class| class.dynamic_j);
        assert!(dynamic("load") > dynamic("fp32_mul") && dynamic("store") > dynamic("fp32_mul"));
        // 32 lanes x 87.12 pJ in the unit, and as much again for registers, pipeline and front end, but no memory.
        let each = dynamic("fp32_mul") / 160.0;
        assert!((32.0 * 87.12e-12..8e-9).contains(&each), "{each}");
        assert_eq!(class("fp32_mul").map(|class| class.warp_instructions), Some(160));
        assert!(class("fp64").is_none());
    }

    #[test]
    fn every_counter_of_events_says_which_instructions_pay_for_it() {
        let kinds: Vec<_> = OpKind::ALL.iter().map(|kind| kind.name()).collect();
        for info in Counters::infos() {
            assert!(info.charge.is_some() || !info.counts_events(), "{} has no charge", info.name);
            if let Some(Charge::Op(kind) | Charge::OpLanes(kind)) = info.charge {
                assert!(kinds.contains(&kind), "{}: there is no kind `{kind}`", info.name);
            }
            if let Some(Charge::Unit(name)) = info.charge {
                assert!(Unit::ALL.iter().any(|unit| unit.name() == name), "{}: unit `{name}`", info.name);
            }
        }
    }

    #[test]
    fn every_counter_of_the_registry_that_a_technology_uses_is_one_of_ours() {
        for technology in warpwatt_energy::TECHNOLOGIES {
            let technology = Technology::builtin(technology.name).expect("it is built in");
            for preset in warpwatt_config::PRESETS {
                let config = warpwatt_config::GpuFile::preset(preset.name).expect("it is built in").config;
                let mut chosen = vec![Techniques::default()];
                for info in Techniques::ALL {
                    let mut one = Techniques::default();
                    one.with(info.name).expect("it is legal");
                    chosen.push(one);
                }
                for techniques in chosen {
                    let found = Energies::new(&technology, &config, &techniques).map(|_| ());
                    assert_eq!(found, Ok(()), "{} on {}", technology.name, preset.name);
                }
            }
        }
    }
}
