// SPDX-License-Identifier: MIT OR Apache-2.0
//! Configuration files of GPGPU-Sim 3.x and 4.x (`gpgpusim.config`) as GPU files. Options that have a counterpart become differences from
//! `gtx480-gpgpusim`, which has the pipeline of that simulator; all others are listed with the reason.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::{Config, GpuFile, validate};

/// The GPU that imported files inherit from.
const PARENT: &str = "gtx480-gpgpusim";
/// Cycles that an instruction spends around its unit there and not here (the head of that preset's file explains them).
const AROUND_A_UNIT: u64 = 4;
/// Cycles around the look-up of a cache, and around shared memory.
const AROUND_A_LOOK_UP: u64 = 3;

/// What became of a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Imported {
    /// The GPU file.
    pub toml: String,
    /// Options that have an effect on the GPU.
    pub mapped: usize,
    /// Options without a counterpart, each with its line and the reason.
    pub unmapped: Vec<Unmapped>,
}

/// An option that could not be imported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unmapped {
    pub line: usize,
    pub option: String,
    pub reason: String,
}

/// A parameter that an option sets.
type Settings = Vec<(&'static str, String)>;
type Mapping = Result<Settings, String>;

/// Turns a configuration into a GPU file called `name`. The error is the reason why nothing can be made of it.
pub fn import(text: &str, name: &str) -> Result<Imported, String> {
    let options = options(text);
    if options.is_empty() {
        return Err(
            "the file contains no option; a configuration of GPGPU-Sim has lines such as `-gpgpu_n_mem 6`"
                .to_owned(),
        );
    }
    let mut config = GpuFile::preset(PARENT).map_err(|errors| errors[0].to_string())?.config;
    let mut out = Imported::default();
    let mut values: BTreeMap<&'static str, (String, String)> = BTreeMap::new();
    let all: BTreeMap<&str, &str> =
        options.iter().map(|(_, option, value)| (option.as_str(), value.as_str())).collect();
    for (line, option, value) in &options {
        let mut refuse = |reason: String| {
            out.unmapped.push(Unmapped { line: *line, option: format!("{option} {value}"), reason });
        };
        match map(option, value, &all) {
            None => refuse("no counterpart in warpwatt".to_owned()),
            Some(Err(reason)) => refuse(reason),
            Some(Ok(settings)) => {
                let bad = settings.iter().find(|(key, value)| config.set(key, value).is_err());
                if let Some((key, value)) = bad {
                    refuse(format!("{key} does not support {value}"));
                    continue;
                }
                out.mapped += 1;
                for (key, value) in settings {
                    values.insert(key, (value, format!("{option} {}", all[option.as_str()])));
                }
            }
        }
    }
    let broken = validate(&config).err().unwrap_or_default();
    out.toml = written(name, &config, &values, &out.unmapped, &broken);
    Ok(out)
}

/// Options with their lines and values. A value ends at the next option or the end of the line; `#` begins a comment.
fn options(text: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some(rest) = line.strip_prefix('-') else { continue };
        let (option, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let value = value.trim().trim_matches('"').split_whitespace().collect::<Vec<_>>().join(" ");
        found.push((number + 1, format!("-{option}"), value));
    }
    found
}

fn number(text: &str) -> Result<u64, String> {
    let text = text.trim();
    text.parse::<f64>()
        .ok()
        .filter(|number| *number >= 0.0 && *number < 1e9)
        .map(|number| number.round() as u64)
        .ok_or_else(|| format!("`{text}` is not a number"))
}

fn one(key: &'static str, value: &str) -> Mapping {
    Ok(vec![(key, number(value)?.to_string())])
}

/// All options with their values.
type Options<'a> = BTreeMap<&'a str, &'a str>;

/// What an option sets; `None` if it is not known.
fn map(option: &str, value: &str, all: &Options) -> Option<Mapping> {
    processor(option, value, all)
        .or_else(|| operations(option, value))
        .or_else(|| caches(option, value, all))
        .or_else(|| memory(option, value, all))
        .or_else(|| not_mapped(option))
}

/// The value of another option, or its usual one.
fn other(all: &Options, option: &str, usual: u64) -> u64 {
    all.get(option).and_then(|value| number(value).ok()).unwrap_or(usual)
}

fn product(key: &'static str, value: &str, factor: u64) -> Mapping {
    Ok(vec![(key, (number(value)? * factor).to_string())])
}

/// A latency, with the cycles that GPGPU-Sim's pipeline adds to it.
fn later(key: &'static str, value: &str, cycles: u64) -> Mapping {
    Ok(vec![(key, (number(value)? + cycles).to_string())])
}

/// SMs, their schedulers, units and registers, and launches.
fn processor(option: &str, value: &str, all: &Options) -> Option<Mapping> {
    Some(match option {
        "-gpgpu_n_clusters" => product("gpu.sms", value, other(all, "-gpgpu_n_cores_per_cluster", 1)),
        "-gpgpu_n_cores_per_cluster" => product("gpu.sms", value, other(all, "-gpgpu_n_clusters", 10)),
        "-gpgpu_n_mem" => one("gpu.partitions", value),
        "-gpgpu_n_sub_partition_per_mchannel" => number(value).and_then(|slices| match slices {
            1 => Ok(Vec::new()),
            _ => Err("warpwatt has one L2 slice per controller: its sets are those of all sub-partitions"
                .to_owned()),
        }),
        "-gpgpu_clock_domains" => clocks(value),
        "-gpgpu_shader_registers" => one("sm.registers", value),
        "-gpgpu_shader_core_pipeline" => {
            let mut parts = value.split(':');
            parts.next().map_or(Err("the number of threads is missing".to_owned()), number).and_then(
                |threads| match parts.next().map_or(Ok(32), number)? {
                    32 => Ok(vec![
                        ("sm.threads", threads.to_string()),
                        ("sm.warps", threads.div_ceil(32).to_string()),
                    ]),
                    lanes => Err(format!("warps of {lanes} threads; only 32 are supported")),
                },
            )
        }
        "-gpgpu_shader_cta" => one("sm.ctas", value),
        "-gpgpu_num_sched_per_core" => one("sm.schedulers", value),
        "-gpgpu_scheduler" => scheduler(value),
        "-gpgpu_num_sp_units" => one("sm.units.sp", value),
        "-gpgpu_num_sfu_units" => one("sm.units.sfu", value),
        "-gpgpu_num_dp_units" => match number(value) {
            Ok(0) => Err(
                "GPGPU-Sim has no double-precision unit here and uses the SFU; warpwatt has a separate unit"
                    .to_owned(),
            ),
            _ => one("sm.units.fp64", value),
        },
        "-gpgpu_num_reg_banks" => one("sm.rf.banks", value),
        "-gpgpu_operand_collector_num_units_sp" => one("sm.rf.collectors_sp", value),
        "-gpgpu_operand_collector_num_units_sfu" => one("sm.rf.collectors_sfu", value),
        "-gpgpu_operand_collector_num_units_dp" => one("sm.rf.collectors_fp64", value),
        "-gpgpu_operand_collector_num_units_mem" => one("sm.rf.collectors_mem", value),
        "-gpgpu_operand_collector_num_units_gen" => one("sm.rf.collectors_shared", value),
        "-gpgpu_kernel_launch_latency" => number(value).map(|cycles| {
            vec![
                ("gpu.kernel_launch_cycles", cycles.max(1).to_string()),
                ("gpu.kernel_gap_cycles", cycles.max(1).to_string()),
            ]
        }),
        "-gpgpu_max_concurrent_kernel" => one("gpu.concurrent_kernels", value),
        "-icnt_flit_size" => one("noc.flit_bytes", value),
        _ => return None,
    })
}

/// Latencies and initiation intervals of operations.
fn operations(option: &str, value: &str) -> Option<Mapping> {
    Some(match option {
        "-ptx_opcode_latency_int" => {
            latencies(value, &[&["int_add"], &["min_max"], &["int_mul"], &["int_wide"], &[]])
        }
        "-ptx_opcode_latency_fp" => latencies(value, &[&["fp32", "fp16"], &[], &[], &[], &[]]),
        "-ptx_opcode_latency_dp" => latencies(value, &[&["fp64"], &[], &["special"], &[], &[]]),
        "-ptx_opcode_latency_sfu" => latencies(value, &[&["special"]]),
        "-ptx_opcode_initiation_int" => {
            initiations(value, &[&["int_add"], &["min_max"], &["int_mul"], &["int_wide"], &[]])
        }
        "-ptx_opcode_initiation_fp" => initiations(value, &[&["fp32", "fp16"], &[], &[], &[], &[]]),
        "-ptx_opcode_initiation_dp" => initiations(value, &[&["fp64"], &[], &["special"], &[], &[]]),
        "-ptx_opcode_initiation_sfu" => initiations(value, &[&["special"]]),
        _ => return None,
    })
}

/// Shared memory and caches.
fn caches(option: &str, value: &str, all: &Options) -> Option<Mapping> {
    Some(match option {
        "-gpgpu_shmem_size" => number(value).map(|bytes| {
            let l1 = all
                .get("-gpgpu_cache:dl1")
                .and_then(|text| Cache::read(text).ok())
                .map_or(16384, |l1| l1.bytes());
            vec![("sm.shared.bytes", bytes.to_string()), ("sm.onchip_bytes", (bytes + l1).to_string())]
        }),
        "-gpgpu_shmem_num_banks" => one("sm.shared.banks", value),
        "-gpgpu_smem_latency" | "-smem_latency" => later("sm.shared.cycles", value, AROUND_A_UNIT),
        "-gpgpu_l1_latency" | "-l1_latency" => later("sm.l1d.cycles", value, AROUND_A_LOOK_UP),
        "-gpgpu_cache:dl1" => {
            Cache::read(value).and_then(|cache| cache.l1d(other(all, "-gpgpu_shmem_size", 49152)))
        }
        "-gpgpu_cache:il1" => Cache::read(value).map(|cache| {
            cache.small(["sm.icache.sets", "sm.icache.ways", "sm.icache.line_bytes", "sm.icache.mshrs"])
        }),
        "-gpgpu_const_cache:l1" => Cache::read(value).map(|cache| {
            cache.small([
                "sm.constant.sets",
                "sm.constant.ways",
                "sm.constant.line_bytes",
                "sm.constant.mshrs",
            ])
        }),
        "-gpgpu_tex_cache:l1" => Cache::read(value).map(|cache| {
            cache.small(["sm.texture.sets", "sm.texture.ways", "sm.texture.line_bytes", "sm.texture.mshrs"])
        }),
        "-gpgpu_cache:dl2" => Cache::read(value)
            .and_then(|cache| cache.l2(other(all, "-gpgpu_n_sub_partition_per_mchannel", 1))),
        "-gpgpu_gmem_skip_L1D" => number(value).map(|skip| vec![("sm.l1d.global", (skip == 0).to_string())]),
        "-gpgpu_l2_rop_latency" | "-rop_latency" => number(value).and_then(|cycles| {
            let parent = GpuFile::preset(PARENT).map_err(|errors| errors[0].to_string())?.config;
            // The network has its part of it each way, as in the preset that is inherited from.
            Ok(vec![(
                "l2.cycles",
                (cycles + 16).saturating_sub(2 * u64::from(parent.noc.cycles)).max(1).to_string(),
            )])
        }),
        _ => return None,
    })
}

/// Memory controllers and DRAM.
fn memory(option: &str, value: &str, all: &Options) -> Option<Mapping> {
    Some(match option {
        "-dram_latency" => one("dram.cycles", value),
        "-gpgpu_dram_scheduler" => match value.trim() {
            "0" => Ok(vec![("dram.policy", "fcfs".to_owned())]),
            "1" => Ok(vec![("dram.policy", "fr-fcfs".to_owned())]),
            _ => Err("unknown policy".to_owned()),
        },
        "-gpgpu_frfcfs_dram_sched_queue_size" => product("dram.queue", value, accesses_of_a_line(all)),
        "-gpgpu_dram_return_queue_size" => one("dram.return_queue", value),
        "-gpgpu_n_mem_per_ctrlr" => product("dram.bus_bytes", value, other(all, "-gpgpu_dram_buswidth", 4)),
        "-gpgpu_dram_buswidth" => product("dram.bus_bytes", value, other(all, "-gpgpu_n_mem_per_ctrlr", 1)),
        "-gpgpu_dram_burst_length" => one("dram.burst", value),
        "-dram_data_command_freq_ratio" => one("dram.beats", value),
        "-gpgpu_dram_timing_opt" => dram(value),
        _ => return None,
    })
}

/// Options without a counterpart, with the reason.
fn not_mapped(option: &str) -> Option<Mapping> {
    let reason = match option {
        "-network_mode" | "-inter_config_file" => {
            "GPGPU-Sim describes the network in a separate file: set noc.* by hand"
        }
        "-gpgpu_mem_addr_mapping" | "-gpgpu_mem_address_mask" => {
            "the address mapping follows from dram.interleave_bytes, dram.row_bytes and dram.banks"
        }
        "-power_simulation_enabled" | "-gpuwattch_xml_file" => {
            "energy is configured by a technology file (`--technology`)"
        }
        _ if is_about_output(option) => "an option of output or debugging",
        _ => return None,
    };
    Some(Err(reason.to_owned()))
}

fn is_about_output(option: &str) -> bool {
    [
        "-visualizer",
        "-gpgpu_runtime_stat",
        "-gpgpu_ptx_instruction",
        "-gpgpu_memlatency_stat",
        "-trace",
        "-liveness",
        "-gpgpu_stack",
        "-enable_ptx_file_line_stats",
        "-save_embedded_ptx",
        "-keep",
        "-gpgpu_print",
        "-gpgpu_deadlock",
    ]
    .iter()
    .any(|start| option.starts_with(start))
}

/// Accesses to memory in which a line of 128 bytes moves.
fn accesses_of_a_line(all: &Options) -> u64 {
    let of = |option: &str, usual: u64| all.get(option).and_then(|value| number(value).ok()).unwrap_or(usual);
    let bytes =
        of("-gpgpu_n_mem_per_ctrlr", 1) * of("-gpgpu_dram_buswidth", 4) * of("-gpgpu_dram_burst_length", 4);
    128 / bytes.clamp(1, 128)
}

/// `core:interconnect:L2:DRAM` in MHz.
fn clocks(value: &str) -> Mapping {
    let keys = ["clock.core_mhz", "clock.noc_mhz", "clock.l2_mhz", "clock.dram_mhz"];
    let parts: Vec<_> = value.split(':').collect();
    if parts.len() != keys.len() {
        return Err("four clocks are expected: core:interconnect:L2:DRAM".to_owned());
    }
    keys.into_iter().zip(parts).map(|(key, part)| Ok((key, number(part)?.to_string()))).collect()
}

fn scheduler(value: &str) -> Mapping {
    let mut parts = value.split(':');
    match parts.next().unwrap_or_default() {
        "gto" => Ok(vec![("sm.scheduler", "gto".to_owned())]),
        "lrr" | "rrr" => Ok(vec![("sm.scheduler", "lrr".to_owned())]),
        "two_level_active" => {
            let active = parts.next().map_or(Ok(6), number)?;
            Ok(vec![("sm.scheduler", "two-level".to_owned()), ("sm.active_warps", active.to_string())])
        }
        other => Err(format!("unknown policy `{other}`")),
    }
}

/// Cycles of classes of instructions in the order of the list; a class without a name has no parameter of its own.
fn classes(value: &str, section: &str, names: &[&[&str]], more: u64) -> Mapping {
    let mut found = Vec::new();
    for (text, names) in value.split(',').zip(names) {
        let cycles = number(text)? + more;
        for name in *names {
            let key = format!("{section}.{name}");
            let parameter = Config::parameters().iter().find(|parameter| parameter.key == key);
            found.extend(parameter.map(|parameter| (parameter.key, cycles.to_string())));
        }
    }
    if found.is_empty() { Err("the latency is missing".to_owned()) } else { Ok(found) }
}

fn latencies(value: &str, names: &[&[&str]]) -> Mapping {
    classes(value, "sm.latency", names, AROUND_A_UNIT)
}

fn initiations(value: &str, names: &[&[&str]]) -> Mapping {
    classes(value, "sm.initiation", names, 0)
}

/// `nbk=16:CCD=2:...`, in either order of letters, or the bare numbers of old files.
fn dram(value: &str) -> Mapping {
    let keys = [
        ("nbk", "dram.banks"),
        ("CCD", "dram.t_ccd"),
        ("RRD", "dram.t_rrd"),
        ("RCD", "dram.t_rcd"),
        ("RAS", "dram.t_ras"),
        ("RP", "dram.t_rp"),
        ("RC", "dram.t_rc"),
        ("CL", "dram.t_cl"),
        ("WL", "dram.t_wl"),
        ("CDLR", "dram.t_cdlr"),
        ("WR", "dram.t_wr"),
        ("nbkgrp", "dram.groups"),
        ("CCDL", "dram.t_ccdl"),
        ("RTPL", "dram.t_rtp"),
    ];
    let mut found = Vec::new();
    for (index, part) in value.split(':').map(str::trim).filter(|part| !part.is_empty()).enumerate() {
        let (key, text) = match part.split_once('=') {
            Some((name, text)) => match keys.iter().find(|(known, _)| *known == name.trim()) {
                Some((_, key)) => (*key, text),
                None => return Err(format!("unknown name `{name}`")),
            },
            None => match keys.get(index) {
                Some((_, key)) => (*key, part),
                None => break,
            },
        };
        let clocks = number(text)?;
        // GPGPU-Sim writes 0 for a constraint that it does not have.
        found.push((key, if key == "dram.t_rtp" { clocks.max(1) } else { clocks }.to_string()));
    }
    Ok(found)
}

/// `sets:line:ways,policies,mshr:entries:merges,queue...`, with or without a letter for sectors ahead.
struct Cache {
    sets: u64,
    line: u64,
    ways: u64,
    sectored: bool,
    allocate: char,
    mshrs: Option<u64>,
    merges: Option<u64>,
    queue: Option<u64>,
}

impl Cache {
    fn read(text: &str) -> Result<Cache, String> {
        if text.trim().starts_with("none") {
            return Err("GPGPU-Sim has no such cache here: set the smallest size".to_owned());
        }
        let mut parts = text.split(',').map(str::trim);
        let mut shape: Vec<_> = parts.next().unwrap_or_default().split(':').collect();
        let sectored = shape.first() == Some(&"S");
        if shape.len() == 4 {
            shape.remove(0);
        }
        let [sets, line, ways] = shape[..] else {
            return Err("expected sets:line:ways".to_owned());
        };
        let policies: Vec<_> = parts.next().unwrap_or_default().split(':').collect();
        let mshr: Vec<_> = parts.next().unwrap_or_default().split(':').collect();
        let queue = parts.next().and_then(|queue| number(queue.split(':').next()?).ok());
        Ok(Cache {
            sets: number(sets)?,
            line: number(line)?,
            ways: number(ways)?,
            sectored,
            allocate: policies.get(2).and_then(|policy| policy.chars().next()).unwrap_or('m'),
            mshrs: mshr.get(1).and_then(|text| number(text).ok()),
            merges: mshr.get(2).and_then(|text| number(text).ok()),
            queue,
        })
    }

    fn bytes(&self) -> u64 {
        self.sets * self.line * self.ways
    }

    fn full_lines(&self) -> Result<(), String> {
        match (self.line, self.sectored) {
            (128, false) => Ok(()),
            (128, true) => {
                Err("sectored caches are not modelled: transfers are whole lines of 128 bytes".to_owned())
            }
            (line, _) => Err(format!("lines of {line} bytes; only 128 are supported")),
        }
    }

    fn l1d(&self, shared: u64) -> Mapping {
        self.full_lines()?;
        let allocate = if self.allocate == 'f' || self.allocate == 's' { "fill" } else { "miss" };
        let mut found = vec![
            ("sm.l1d.ways", self.ways.to_string()),
            ("sm.onchip_bytes", (self.bytes() + shared).to_string()),
            ("sm.shared.bytes", shared.to_string()),
            ("sm.l1d.allocate", allocate.to_owned()),
        ];
        found.extend(self.mshrs.map(|number| ("sm.l1d.mshrs", number.to_string())));
        found.extend(self.merges.map(|number| ("sm.l1d.merges", number.to_string())));
        found.extend(self.queue.map(|number| ("sm.l1d.miss_queue", number.to_string())));
        Ok(found)
    }

    fn l2(&self, slices: u64) -> Mapping {
        self.full_lines()?;
        let mut found =
            vec![("l2.sets", (self.sets * slices).to_string()), ("l2.ways", self.ways.to_string())];
        found.extend(self.mshrs.map(|number| ("l2.mshrs", (number * slices).to_string())));
        found.extend(self.merges.map(|number| ("l2.merges", number.to_string())));
        Ok(found)
    }

    /// Sets, ways, line size and miss registers of a small cache.
    fn small(&self, [sets, ways, line, mshrs]: [&'static str; 4]) -> Settings {
        let mut found =
            vec![(sets, self.sets.to_string()), (ways, self.ways.to_string()), (line, self.line.to_string())];
        found.extend(self.mshrs.map(|number| (mshrs, number.to_string())));
        found
    }
}

fn written(
    name: &str,
    config: &Config,
    values: &BTreeMap<&'static str, (String, String)>,
    unmapped: &[Unmapped],
    broken: &[crate::Error],
) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let mut out = format!(
        "name = {}\ndescription = \"imported from a configuration of GPGPU-Sim\"\ninherits = {}\n",
        quoted(name),
        quoted(PARENT)
    );
    if !broken.is_empty() {
        out.push_str("\n# These values are not supported together:\n");
        broken.iter().for_each(|error| {
            let _ = writeln!(out, "#   {error}");
        });
    }
    if !unmapped.is_empty() {
        out.push_str("\n# Not imported:\n");
        for Unmapped { line, option, reason } in unmapped {
            let _ = writeln!(out, "#   line {line}: {option}: {reason}");
        }
    }
    for section in Config::SECTIONS {
        let mut own = Config::parameters()
            .iter()
            .filter(|parameter| parameter.section == section.key)
            .filter_map(|parameter| Some((parameter, values.get(parameter.key)?)))
            .peekable();
        if own.peek().is_none() {
            continue;
        }
        let _ = writeln!(out, "\n[{}]", section.key);
        for (parameter, (_, option)) in own {
            let value = config.get(parameter.key).unwrap_or_default();
            let value = if matches!(parameter.kind, crate::ParameterKind::Choice(_)) {
                quoted(&value)
            } else {
                value
            };
            let _ = writeln!(out, "{} = {{ value = {value}, source = {} }}", parameter.name, quoted(option));
        }
    }
    out
}
