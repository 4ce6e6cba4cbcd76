// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memories by name: a file takes one over, and says otherwise where it wants to.

use warpwatt_config::{Config, GpuFile, MEMORIES};

fn with(memory: &str, more: &str) -> Result<GpuFile, String> {
    let text = format!("inherits = \"gtx480\"\nmemory = \"{memory}\"\n{more}");
    GpuFile::read(&text, "mine.toml").map_err(|errors| errors[0].to_string())
}

#[test]
fn every_memory_makes_a_legal_gpu_and_gives_a_reason_for_each_value() {
    for memory in MEMORIES {
        let file = with(memory.name, "").expect("it is legal");
        for key in
            ["dram.beats", "dram.burst", "dram.row_bytes", "dram.t_rcd", "dram.t_rfc", "clock.dram_mhz"]
        {
            assert!(file.reasons.contains_key(key), "{}: {key} has no reason", memory.name);
        }
    }
}

#[test]
fn the_memory_of_the_gtx480_is_gddr5() {
    assert_eq!(with("gddr5-3700", "").expect("it is legal").config, Config::default());
}

/// Bytes in a second that a channel moves, as the standards' names say.
#[test]
fn a_channel_has_the_rate_of_its_standard() {
    for (memory, rate) in
        [("gddr5-3700", 14_784_000_000), ("ddr4-2400", 19_200_000_000), ("hbm2-2000", 16_000_000_000)]
    {
        let config =
            with(memory, "[gpu]\npartitions = 1\n[dram]\nchannels = 1\n").expect("it is legal").config;
        assert_eq!(config.dram_peak_bytes_per_second(), rate, "{memory}");
    }
}

#[test]
fn what_the_file_says_comes_after_the_memory() {
    let config = with("hbm2-2000", "[dram]\nt_rcd = 12\n").expect("it is legal").config;
    assert_eq!((config.dram.t_rcd, config.dram.t_rp, config.dram.channels), (12, 16, 2));
}

#[test]
fn a_memory_that_does_not_exist_is_named_with_the_nearest_one() {
    let message = with("hbm2-200", "").expect_err("there is none");
    assert!(message.contains("hbm2-200") && message.contains("did you mean `hbm2-2000`?"), "{message}");
    let message = with("core", "").expect_err("there is none");
    assert!(message.contains("ddr4-2400"), "{message}");
}
