// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in GPUs load, list what differs and nothing else, and have the figures of their sources.

use warpwatt_config::{Config, GpuFile, PRESETS, Policy, differences, validate};

fn preset(name: &str) -> GpuFile {
    GpuFile::preset(name).unwrap_or_else(|errors| panic!("{name}: {}", errors[0]))
}

/// Parameters that a file lists.
fn listed(text: &str) -> Vec<String> {
    let mut section = String::new();
    let mut keys = Vec::new();
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
        } else if let Some((key, _)) = line.split_once('=')
            && !section.is_empty()
        {
            keys.push(format!("{section}.{}", key.trim()));
        }
    }
    keys.sort();
    keys
}

#[test]
fn they_list_what_differs_and_nothing_else() {
    for entry in PRESETS {
        let file = preset(entry.name);
        assert_eq!(file.name, entry.name);
        assert!(!file.description.is_empty());
        assert_eq!(validate(&file.config), Ok(()), "{}", entry.name);
        let parent = preset(&file.inherits).config;
        let mut keys: Vec<_> = differences(&parent, &file.config)
            .iter()
            .map(|difference| difference.parameter.key.to_owned())
            .collect();
        keys.sort();
        assert_eq!(keys, listed(entry.text), "{}", entry.name);
    }
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
    assert_eq!((config.rf.collectors_sp, config.rf.collector_ports), (4, 1));
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
}

#[test]
fn the_thesis_table_4_1() {
    let config = preset("gtx480-thesis").config;
    assert_eq!((config.gpu.sms, config.sm.warps, config.sm.registers), (16, 48, 32768));
    assert_eq!((config.l1d_bytes(), config.l1d.ways), (16 << 10, 4));
    assert_eq!((config.l2_bytes(), config.l2.ways), (768 << 10, 16));
    let bytes = |sets: u32, ways: u32, line: u32| (sets * ways * line, ways, line);
    let Config { constant, texture, icache, .. } = &config;
    assert_eq!(bytes(constant.sets, constant.ways, constant.line_bytes), (8 << 10, 2, 64));
    assert_eq!(bytes(texture.sets, texture.ways, texture.line_bytes), (12 << 10, 24, 128));
    assert_eq!(bytes(icache.sets, icache.ways, icache.line_bytes), (2 << 10, 4, 128));
}
