// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every message: it names the place, the key, what is legal and what was probably meant.

use warpwatt_config::{Config, GpuFile, apply, validate};

/// All that is said about a file, a line each.
fn about(text: &str) -> String {
    let errors = Config::load(text, "my.toml").expect_err(text);
    errors.iter().map(|error| format!("{error}\n")).collect()
}

fn setting(text: &str) -> String {
    apply(&mut Config::default(), text).expect_err(text).to_string()
}

/// What is said about a GTX 480 with some settings.
fn rule(settings: &[&str]) -> String {
    let mut config = Config::default();
    for setting in settings {
        apply(&mut config, setting).expect(setting);
    }
    let errors = validate(&config).expect_err("values that do not go together");
    errors.iter().map(|error| format!("{error}\n")).collect()
}

#[test]
fn unknown_keys() {
    assert_eq!(
        about("[sm]\nwarps = 32\nschedular = \"lrr\"\n"),
        "my.toml:3:1: there is no parameter `sm.schedular`; did you mean `sm.scheduler`?\n"
    );
    assert_eq!(
        about("[sm.l1]\nmshrs = 3\n"),
        "my.toml:2:1: there is no parameter `sm.l1.mshrs`; did you mean `sm.l1d.mshrs`?\n"
    );
    assert_eq!(
        about("colour = 3\n"),
        "my.toml:1:1: there is no parameter `colour`; `warpwatt gpu show gtx480` lists all parameters\n"
    );
    assert_eq!(setting("l1d.mshrs=3"), "there is no parameter `l1d.mshrs`; did you mean `sm.l1d.mshrs`?");
}

#[test]
fn reasons_that_are_none() {
    let help = "write { value = ..., source = \"...\" }, with `agrees` in place of `source` where the inherited value is the same, or `choice`";
    for (table, at, message) in [
        ("{ value = 32 }", 9, "needs a reason beside its value"),
        ("{}", 9, "needs a reason beside its value"),
        ("{ value = 32, reason = \"x\" }", 23, "has a field `reason`"),
        ("{ choice = \"x\", source = \"x\" }", 25, "has two reasons"),
        ("{ value = 32, source = \" \" }", 32, "has a `source` that is not one line of text"),
    ] {
        let said = about(&format!("[sm]\nwarps = {table}\n"));
        assert_eq!(said, format!("my.toml:2:{at}: `sm.warps` {message}; {help}\n"), "{table}");
    }
    assert_eq!(
        about("[sm]\nwarps = { value = 65, choice = \"more\" }\n"),
        "my.toml:2:19: invalid sm.warps = 65 (allowed: 1–64 warps); `warpwatt gpu show gtx480` describes sm.warps\n"
    );
}

#[test]
fn values_of_the_wrong_kind_or_out_of_range() {
    assert_eq!(
        about("[sm]\nwarps = 65\n"),
        "my.toml:2:9: invalid sm.warps = 65 (allowed: 1–64 warps); `warpwatt gpu show gtx480` describes sm.warps\n"
    );
    assert_eq!(
        about("[sm]\nwarps = \"many\"\n"),
        "my.toml:2:9: invalid sm.warps = \"many\" (allowed: 1–64 warps); `warpwatt gpu show gtx480` describes sm.warps\n"
    );
    assert_eq!(
        about("[sm]\nwarps = -1\n[sm.l1d]\nglobal = 1\n"),
        "my.toml:2:9: invalid sm.warps = -1 (allowed: 1–64 warps); `warpwatt gpu show gtx480` describes sm.warps\n\
         my.toml:4:10: invalid sm.l1d.global = 1 (allowed: true or false); `warpwatt gpu show gtx480` describes sm.l1d.global\n"
    );
    assert_eq!(
        about("[sm]\nscheduler = \"grr\"\n"),
        "my.toml:2:13: invalid sm.scheduler = \"grr\" (allowed: gto, lrr, two-level); did you mean lrr?\n"
    );
    for (value, said) in [("2.5", "2.5"), ("[1]", "a list"), ("1979-05-27", "a date")] {
        assert_eq!(
            about(&format!("[gpu]\nsms = {value}\n")),
            format!(
                "my.toml:2:7: invalid gpu.sms = {said} (allowed: 1–1024); `warpwatt gpu show gtx480` describes gpu.sms\n"
            )
        );
    }
    assert_eq!(
        setting("gpu.sms="),
        "invalid gpu.sms = empty (allowed: 1–1024); `warpwatt gpu show gtx480` describes gpu.sms"
    );
    assert_eq!(
        setting("gpu.sms=+3"),
        "invalid gpu.sms = +3 (allowed: 1–1024); `warpwatt gpu show gtx480` describes gpu.sms"
    );
    assert_eq!(
        setting("gpu.sms=1KB"),
        "invalid gpu.sms = 1KB (allowed: 1–1024); `warpwatt gpu show gtx480` describes gpu.sms"
    );
    assert_eq!(
        setting("noc.topology=mehs"),
        "invalid noc.topology = mehs (allowed: crossbar, mesh); did you mean mesh?"
    );
}

#[test]
fn files_that_are_none() {
    assert!(about("[sm\n").starts_with("my.toml:1:4: "), "{}", about("[sm\n"));
    assert!(about("[sm]\nwarps = 1\nwarps = 2\n").starts_with("my.toml:3:1: duplicate key"));
    assert_eq!(
        about("[sm]\nfetch = 3\n"),
        "my.toml:2:1: `sm.fetch` is a section of parameters, not a parameter; begin it with a line `[sm.fetch]`, followed by its parameters\n"
    );
    assert_eq!(
        setting("sm.scheduler"),
        "`sm.scheduler` is not a setting; write key=value, such as sm.scheduler=lrr or sm.l1d.mshrs=64"
    );
}

#[test]
fn headers() {
    assert_eq!(
        about("inherits = \"gtx488\"\n"),
        "my.toml:1:12: there is no GPU `gtx488`; did you mean `gtx480`?\n"
    );
    assert_eq!(
        about("inherits = \"hd5870\"\n"),
        "my.toml:1:12: there is no GPU `hd5870`; there are gtx480, gtx580, gtx480-gpgpusim, gtx480-wc, gtx480-corf, gtx580-e2mc, gtx480-thesis, gtx480-combined\n"
    );
    assert_eq!(
        about("inherits = 480\n"),
        "my.toml:1:12: `inherits` must be a string in quotes, not 480; write inherits = \"gtx480\"\n"
    );
    assert_eq!(about("name = \"\"\n"), "my.toml:1:8: `name` is empty; write name = \"text\" on one line\n");
    assert_eq!(
        about("description = \"a\\nb\"\n"),
        "my.toml:1:15: `description` has more than one line; write description = \"text\" on one line\n"
    );
    let errors = GpuFile::preset("gtx48").expect_err("no preset");
    assert_eq!(errors[0].to_string(), "there is no GPU `gtx48`; did you mean `gtx480`?");
}

#[test]
fn columns_count_characters() {
    assert_eq!(
        about("description = \"ä🙂\" # é\nsm = { \"warps\" = 99 }\n"),
        "my.toml:2:18: invalid sm.warps = 99 (allowed: 1–64 warps); `warpwatt gpu show gtx480` describes sm.warps\n"
    );
}

#[test]
fn broken_rules_point_at_the_line_that_breaks_them() {
    assert_eq!(
        about("[dram]\nt_rp = 12\n\nrow_bytes = 3000\n"),
        "my.toml:4:13: `dram.row_bytes` is 3000, which is not a power of two; the nearest are 2048 and 4096\n"
    );
    assert_eq!(
        about("[sm.shared]\nbytes = 65536\n"),
        "my.toml:2:9: `sm.shared.bytes` is 65536 of an `sm.onchip_bytes` of 65536, which leaves no room for a set of the L1 data \
         cache (512 bytes); use at most 65024 for sm.shared.bytes, or raise sm.onchip_bytes\n"
    );
}

#[test]
fn every_rule_names_its_keys_and_what_to_do() {
    for key in [
        "sm.fetch.instruction_bytes=12",
        "sm.icache.line_bytes=100",
        "sm.constant.line_bytes=100",
        "sm.texture.line_bytes=100",
        "sm.rf.sub_banks=6",
        "l2.port_bytes=24",
        "dram.bus_bytes=6",
        "dram.burst=6",
        "dram.banks=12",
        "dram.groups=3",
        "dram.row_bytes=1000",
        "dram.interleave_bytes=300",
    ] {
        let (name, value) = key.split_once('=').expect("a setting");
        let said = rule(&[key]);
        assert!(
            said.starts_with(&format!("`{name}` is {value}, which is not a power of two; the nearest are ")),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    for (settings, said) in [
        (
            &["sm.warps=1"][..],
            "`sm.schedulers` is 2, but `sm.warps` only 1; each scheduler needs at least one warp: raise sm.warps or lower sm.schedulers",
        ),
        (
            &["sm.threads=100"],
            "`sm.threads` is 100, which is not a whole number of warps; use a multiple of 32",
        ),
        (
            &["sm.register_unit=100"],
            "`sm.register_unit` is 100, which is not a multiple of the 32 lanes of a warp; use a multiple of 32",
        ),
        (
            &["sm.fetch.buffer=1"],
            "`sm.fetch.width` of 2 instructions does not fit into an `sm.fetch.buffer` of 1; raise sm.fetch.buffer or lower sm.fetch.width",
        ),
        (
            &["sm.shared.bytes=8192", "sm.onchip_bytes=8192"],
            "`sm.shared.bytes` is 8192 of an `sm.onchip_bytes` of 8192, which leaves no room for a set of the L1 data cache (512 \
             bytes); use at most 7680 for sm.shared.bytes, or raise sm.onchip_bytes",
        ),
        (
            &["noc.buffer_flits=4"],
            "`noc.buffer_flits` is 4, but a packet with a line of 128 bytes has 5 flits; use at least 5 for noc.buffer_flits, or a \
             larger noc.flit_bytes",
        ),
        (
            &["noc.topology=mesh", "noc.mesh_columns=22"],
            "`noc.mesh_columns` is 22, but there are only 21 SMs and memory partitions; use at most 21",
        ),
        (
            &["dram.banks=2"],
            "`dram.groups` is 4, but `dram.banks` only 2; groups divide the banks: raise dram.banks or lower dram.groups",
        ),
        (
            &["dram.burst=16", "dram.bus_bytes=16"],
            "`dram.burst` of 16 and `dram.bus_bytes` of 16 move 256 bytes, more than a line of 128; keep dram.burst x dram.bus_bytes at \
             128 or less",
        ),
        (
            &["dram.queue=1"],
            "`dram.queue` is 1, but a line takes 4 accesses; use at least 4 for dram.queue, or a larger dram.burst or dram.bus_bytes",
        ),
        (
            &["dram.t_refi=138"],
            "`dram.t_refi` is 138, which leaves no time for accesses between refreshes (`dram.t_rfc`) of 96; use more than 138 for \
             dram.t_refi, or a shorter dram.t_rfc",
        ),
        (&["clock.core_mhz=100", "clock.noc_mhz=1600"], ""),
        (
            &["clock.core_mhz=100", "clock.noc_mhz=1601"],
            "`clock.noc_mhz` is 1601 MHz beside a `clock.core_mhz` of 100; keep them within a factor of 16 of each other",
        ),
    ] {
        if said.is_empty() {
            let mut config = Config::default();
            settings.iter().for_each(|setting| apply(&mut config, setting).expect(setting));
            assert_eq!(validate(&config), Ok(()));
        } else {
            assert_eq!(rule(settings), format!("{said}\n"));
        }
    }
}

#[test]
fn all_broken_rules_are_told() {
    assert_eq!(rule(&["dram.row_bytes=1000", "noc.buffer_flits=4", "sm.threads=40"]).lines().count(), 3);
}
