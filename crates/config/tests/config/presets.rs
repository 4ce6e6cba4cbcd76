// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in GPUs load, list what differs and nothing else, and have the figures of their sources.

use std::fmt::Write;

use warpwatt_config::{Basis, Config, GpuFile, PRESETS, Policy, Topology, differences, validate};

fn preset(name: &str) -> GpuFile {
    GpuFile::preset(name).unwrap_or_else(|errors| panic!("{name}: {}", errors[0]))
}

/// Parameters that a file gives a value.
fn given(text: &str) -> Vec<String> {
    fn walk(prefix: &str, table: &toml::Table, keys: &mut Vec<String>) {
        for (name, value) in table {
            let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            let is_parameter = Config::parameters().iter().any(|parameter| parameter.key == key);
            match value.as_table() {
                Some(inner) if !is_parameter => walk(&key, inner, keys),
                Some(inner) if !inner.contains_key("value") => {}
                _ if is_parameter => keys.push(key),
                _ => {}
            }
        }
    }
    let mut keys = Vec::new();
    walk("", &text.parse().expect("TOML"), &mut keys);
    keys.sort();
    keys
}

#[test]
fn they_give_values_to_what_differs_and_agree_where_they_say_so() {
    for entry in PRESETS {
        let file = preset(entry.name);
        assert_eq!(file.name, entry.name);
        assert!(!file.description.is_empty());
        assert_eq!(validate(&file.config), Ok(()), "{}", entry.name);
        let parent = preset(&file.inherits).config;
        let given = given(entry.text);
        for difference in differences(&parent, &file.config) {
            let key = difference.parameter.key;
            assert!(given.iter().any(|given| given == key), "{}: {key}", entry.name);
            let reason = file.reasons.get(key).filter(|reason| reason.gpu == file.name);
            assert!(
                reason.is_none_or(|reason| reason.basis != Basis::Agrees),
                "{} says that its {key} of {} agrees with {}, which has {}: call it a `source`",
                entry.name,
                difference.to,
                file.inherits,
                difference.from
            );
        }
    }
}

#[test]
fn every_parameter_of_every_gpu_has_a_reason() {
    let mut missing = String::new();
    for entry in PRESETS {
        for key in preset(entry.name).unexplained() {
            let _ = writeln!(missing, "    crates/config/presets/{}.toml: {key}", entry.name);
        }
    }
    assert!(
        missing.is_empty(),
        "these parameters have no reason beside them:\n{missing}\
         write one in that file, in the parameter's section:\n\
         \x20   key = {{ value = N, source = \"where the value is from\" }}   a value of its own, or\n\
         \x20   key = {{ source = \"where the value is from\" }}              the value that it inherits (in gtx480: the default), or\n\
         \x20   key = {{ value = N, agrees = \"what says the same\" }}        the inherited value, since the GPU's own source says so, or\n\
         \x20   key = {{ choice = \"why\" }}                                 a choice of ours, with or without a value.\n\
         A parameter of silicon that GPGPU-Sim 3.2.1 does not have needs a value in gtx480-gpgpusim.toml that switches it off."
    );
}

#[test]
fn the_cards_have_their_rates() {
    let (gtx480, gtx580) = (preset("gtx480").config, preset("gtx580").config);
    assert_eq!(
        (gtx480.peak_flops(), gtx480.dram_peak_bytes_per_second()),
        (1_344_000_000_000, 177_408_000_000)
    );
    assert_eq!(
        (gtx580.peak_flops(), gtx580.dram_peak_bytes_per_second()),
        (1_581_056_000_000, 192_384_000_000)
    );
}

#[test]
fn warped_compression_table_2() {
    let config = preset("gtx480-wc").config;
    assert_eq!((config.clock.core_mhz, config.gpu.sms, config.sm.schedulers), (1400, 15, 2));
    assert_eq!((config.sm.scheduler, config.sm.warps, config.sm.threads), (Policy::Gto, 48, 1536));
    assert_eq!(
        (config.sm.registers, config.rf.banks * config.rf.sub_banks, config.bank_entries()),
        (32768, 32, 256)
    );
    assert!(!config.rf.shared_port);
}

#[test]
fn corf_section_7() {
    let config = preset("gtx480-corf").config;
    assert_eq!((config.gpu.sms, config.sm.schedulers, config.sm.scheduler), (15, 2, Policy::TwoLevel));
    assert_eq!((config.rf.banks, config.rf.sub_banks, config.bank_entries()), (4, 8, 256));
    assert_eq!((config.rf.collectors_shared, config.rf.collector_ports), (4, 1));
    assert_eq!((config.sm.active_warps, config.sm.thread_registers), (6, 63));
    assert!(config.rf.shared_port);
}

#[test]
fn e2mc_table_5() {
    let config = preset("gtx580-e2mc").config;
    assert_eq!(
        (config.gpu.sms, config.clock.core_mhz, config.sm.threads, config.sm.ctas),
        (16, 822, 1536, 8)
    );
    assert_eq!((config.sm.registers, config.shared.bytes, config.l1d_bytes()), (32768, 48 << 10, 16 << 10));
    assert_eq!((config.l2_bytes(), config.gpu.partitions, config.clock.dram_mhz), (768 << 10, 6, 1002));
    assert_eq!((config.dram_access_bytes(), config.dram_peak_bytes_per_second()), (32, 192_384_000_000));
    assert_eq!((config.dram.channels, config.sm.block_threads), (2, 512));
}

#[test]
fn the_thesis_table_4_1() {
    let config = preset("gtx480-thesis").config;
    assert_eq!((config.gpu.sms, config.sm.warps, config.sm.registers), (16, 48, 32768));
    assert_eq!((config.sm.scheduler, config.sm.active_warps), (Policy::TwoLevel, 6));
    assert_eq!(config.noc.topology, Topology::Mesh);
    assert_eq!((config.l1d_bytes(), config.l1d.ways), (16 << 10, 4));
    assert_eq!((config.l2_bytes(), config.l2.ways), (768 << 10, 16));
    let bytes = |sets: u32, ways: u32, line: u32| (sets * ways * line, ways, line);
    let Config { constant, texture, icache, .. } = &config;
    assert_eq!(bytes(constant.sets, constant.ways, constant.line_bytes), (8 << 10, 2, 64));
    assert_eq!(bytes(texture.sets, texture.ways, texture.line_bytes), (12 << 10, 24, 128));
    assert_eq!(bytes(icache.sets, icache.ways, icache.line_bytes), (2 << 10, 4, 128));
}

#[test]
fn techniques_of_several_papers_meet_on_corfs_sms_with_e2mcs_controllers() {
    let (config, sms, controllers) =
        (preset("gtx480-combined").config, preset("gtx480-corf").config, preset("gtx580-e2mc").config);
    assert_eq!(config.dram, controllers.dram);
    assert_eq!(config.clock.dram_mhz, controllers.clock.dram_mhz);
    assert_eq!((config.sm, config.rf, config.l2), (sms.sm, sms.rf, sms.l2));
    assert_eq!((config.gpu, config.clock.core_mhz), (sms.gpu, sms.clock.core_mhz));
}

/// What the papers' GPUs have from the simulator that they were modelled with, and not from the card.
#[test]
fn gpgpu_sim_has_no_launch_latency_and_short_pipelines() {
    for name in
        ["gtx480-gpgpusim", "gtx480-wc", "gtx480-corf", "gtx580-e2mc", "gtx480-thesis", "gtx480-combined"]
    {
        let config = preset(name).config;
        assert_eq!(config.gpu.kernel_launch_cycles, 1, "{name}");
        let Config { l1d, shared, constant, texture, sm, .. } = &config;
        assert_eq!((l1d.cycles, shared.cycles, constant.cycles, texture.cycles), (3, 7, 3, 6), "{name}");
        assert_eq!((sm.branch_cycles, sm.barrier_cycles, config.dram.cycles), (1, 1, 100), "{name}");
        // Latency of 120 besides the network and the queues, in core cycles.
        let slice = config.l2.cycles * config.clock.core_mhz / config.clock.l2_mhz;
        assert_eq!(slice + 2 * config.noc.cycles, 136, "{name}");
    }
}
