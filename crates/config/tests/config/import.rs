// SPDX-License-Identifier: MIT OR Apache-2.0
//! Configurations of GPGPU-Sim become GPU files.

use warpwatt_config::{GpuFile, import};

/// Options in the manner of the configuration of a GTX 480 that comes with GPGPU-Sim 3.x.
const FERMI: &str = "\
# functional simulator specification
-gpgpu_ptx_force_max_capability 20
-gpgpu_n_clusters 15
-gpgpu_n_cores_per_cluster 1
-gpgpu_n_mem 6
-gpgpu_n_sub_partition_per_mchannel 2
-gpgpu_clock_domains 700.0:1400.0:700.0:924.0
-gpgpu_shader_registers 32768
-gpgpu_shader_core_pipeline 1536:32
-gpgpu_shader_cta 8
-gpgpu_num_sp_units 2
-gpgpu_num_sfu_units 1
-ptx_opcode_latency_int 4,13,4,5,145
-ptx_opcode_initiation_int 1,2,2,1,8
-ptx_opcode_latency_fp 4,13,4,5,39
-ptx_opcode_latency_dp 8,19,8,8,330
-gpgpu_cache:dl1  32:128:4,L:L:m:N:H,A:32:8,8
-gpgpu_shmem_size 49152
-gpgpu_cache:dl2 64:128:8,L:B:m:W:L,A:32:4,4:0,32
-gpgpu_cache:il1 4:128:4,L:R:f:N:L,A:2:32,4
-gpgpu_tex_cache:l1 4:128:24,L:R:m:N:L,F:128:4,128:2
-gpgpu_const_cache:l1 64:64:2,L:R:f:N:L,A:2:32,4
-gpgpu_operand_collector_num_units_sp 6
-gpgpu_num_reg_banks 16
-network_mode 1
-inter_config_file config_fermi_islip.icnt
-rop_latency 120
-dram_latency 100
-gpgpu_dram_scheduler 1
-gpgpu_frfcfs_dram_sched_queue_size 16
-gpgpu_n_mem_per_ctrlr 2
-gpgpu_dram_buswidth 4
-gpgpu_dram_burst_length 8
-dram_data_command_freq_ratio 4
-gpgpu_dram_timing_opt \"nbk=16:CCD=2:RRD=6:RCD=12:RAS=28:RP=12:RC=40:CL=12:WL=4:CDLR=5:WR=12:nbkgrp=4:CCDL=3:RTPL=2\"
-gpgpu_num_sched_per_core 2
-gpgpu_scheduler two_level_active:6:0:1
-gpgpu_memlatency_stat 14
-visualizer_enabled 0
-no_such_option 3
";

#[test]
fn a_fermi_becomes_the_preset_with_another_scheduler() {
    let imported = import(FERMI, "fermi").expect("options");
    let file = GpuFile::read(&imported.toml, "fermi.toml")
        .unwrap_or_else(|errors| panic!("{errors:?}\n{}", imported.toml));
    let mut expected = GpuFile::preset("gtx480-gpgpusim").expect("a preset").config;
    expected.set("sm.scheduler", "two-level").expect("legal");
    // Two slices of 32 miss registers a controller.
    expected.set("l2.sets", "128").expect("legal");
    expected.set("l2.ways", "8").expect("legal");
    expected.set("l2.mshrs", "64").expect("legal");
    let differing = warpwatt_config::differences(&expected, &file.config);
    assert!(differing.is_empty(), "{differing:?}");
    assert_eq!(file.name, "fermi");
    let source = &file.reasons["l2.sets"].text;
    assert_eq!(source, "-gpgpu_cache:dl2 64:128:8,L:B:m:W:L,A:32:4,4:0,32");
}

#[test]
fn what_has_no_counterpart_is_listed_with_its_line() {
    let imported = import(FERMI, "fermi").expect("options");
    let reason = |option: &str| {
        let found = imported.unmapped.iter().find(|unmapped| unmapped.option.starts_with(option));
        found.map(|unmapped| (unmapped.line, unmapped.reason.as_str()))
    };
    assert_eq!(reason("-no_such_option"), Some((40, "no counterpart in warpwatt")));
    assert!(reason("-inter_config_file").is_some_and(|(_, reason)| reason.contains("noc.")));
    assert!(reason("-visualizer_enabled").is_some_and(|(_, reason)| reason.contains("output")));
    assert_eq!(reason("-gpgpu_n_mem"), None);
    assert!(
        imported.toml.contains("#   line 40: -no_such_option 3: no counterpart in warpwatt\n"),
        "{}",
        imported.toml
    );
    assert!(imported.mapped > 25, "{}", imported.mapped);
}

#[test]
fn values_that_are_not_possible_are_told_and_left_out() {
    let text = "-gpgpu_n_clusters 80\n-gpgpu_n_cores_per_cluster 1\n-gpgpu_cache:dl1 S:4:128:64,L:L:s:N:L,A:256:8,16:0,32\n\
                -gpgpu_num_reg_banks 1000\n-gpgpu_scheduler warp_limiting:2:8\n-gpgpu_shader_core_pipeline 2048:64\n-gpgpu_n_mem many\n";
    let imported = import(text, "volta").expect("options");
    let file = GpuFile::read(&imported.toml, "volta.toml").expect("a legal file");
    assert_eq!(file.config.gpu.sms, 80);
    assert_eq!(imported.unmapped.len(), 5, "{:?}", imported.unmapped);
    for words in [
        "sectored caches",
        "sm.rf.banks does not support 1000",
        "warp_limiting",
        "warps of 64",
        "`many` is not a number",
    ] {
        assert!(imported.unmapped.iter().any(|unmapped| unmapped.reason.contains(words)), "{words}");
    }
    assert!(import("no options at all\n", "x").is_err());
    assert!(import("", "x").is_err());
}
