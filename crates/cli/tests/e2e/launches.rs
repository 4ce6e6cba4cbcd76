// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of many launches and of long programs: neither memory nor the record grows with launches, and what is kept in detail changes
//! nothing else.

use std::fmt::Write;

use serde_json::Value;

use crate::common::{Folder, warpwatt};
use crate::validate;

/// A kernel of about so many lines that adds to the elements of a buffer.
fn kernel(name: &str, lines: u32) -> String {
    let mut text = format!(
        ".visible .entry {name}(.param .u64 out, .param .u32 v)\n{{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [v];\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 4;\n\
         add.u64 %rd3, %rd1, %rd2;\nld.global.u32 %r3, [%rd3];\n"
    );
    for line in 0..lines {
        text += match line % 3 {
            0 => "add.u32 %r3, %r3, %r1;\n",
            1 => "xor.b32 %r3, %r3, %r2;\n",
            _ => "mul.lo.u32 %r3, %r3, %r3;\n",
        };
    }
    text + "st.global.u32 [%rd3], %r3;\nret;\n}\n"
}

/// A launch file with `launches` launches of `kernels` kernels of `lines` lines each, in turn, of several sizes.
fn job(folder: &Folder, launches: u32, kernels: u32, lines: u32) -> String {
    let mut ptx = ".version 7.0\n.target sm_50\n.address_size 64\n".to_owned();
    (0..kernels).for_each(|number| ptx += &kernel(&format!("k{number}"), lines));
    let name = format!("{launches}-{kernels}-{lines}");
    folder.file(&format!("{name}.ptx"), &ptx);
    let mut steps = format!("ptx = \"{name}.ptx\"\n[[buffer]]\nname = \"x\"\ntype = \"u32\"\ncount = 64\n");
    for launch in 0..launches {
        let (kernel, grid, block) = (launch % kernels, 1 + launch % 3, if launch % 5 == 0 { 64 } else { 32 });
        let _ = writeln!(
            steps,
            "[[step]]\nlaunch = \"k{kernel}\"\ngrid = {grid}\nblock = {block}\nargs = [\"buf:x\", {{ u32 = {launch} }}]"
        );
    }
    folder.file(&format!("{name}.toml"), &steps)
}

/// One SM and one memory partition: what a launch does matters here, not how fast.
const SMALL: [&str; 6] = ["--set", "gpu.sms=1", "--set", "gpu.partitions=1", "--threads", "1"];

fn record(job: &str, more: &[&str]) -> (Value, usize) {
    let args: Vec<_> = ["run", "--launch", job, "--json", "-", "-q"].iter().chain(more).copied().collect();
    let ran = warpwatt(&args).expect(0);
    (ran.json(), ran.out.len())
}

fn launches(record: &Value) -> (usize, u64) {
    let by_kernel = record["by_kernel"].as_array().expect("a list").iter();
    let all = by_kernel.map(|group| group["launches"].as_u64().expect("a count")).sum();
    (record["kernels"].as_array().expect("a list").len(), all)
}

#[test]
fn ten_thousand_launches_take_little_memory_and_a_small_record() {
    let folder = Folder::new();
    let job = job(&folder, 10_000, 6, 1);
    let mut timed = SMALL.to_vec();
    // A launch takes thousands of cycles before its first block; they are skipped, but their samples would add up.
    timed.extend(["--interval", "2000"]);
    for (how, more) in [("timed", &timed[..]), ("functional", &["--functional"])] {
        let (record, bytes) = record(&job, more);
        assert_eq!((record["mode"].as_str(), launches(&record)), (Some(how), (16, 10_000)));
        assert_eq!(record["totals"]["launches"], 10_000);
        assert!(bytes < 5_000_000, "{how}: a record of {bytes} bytes");
        let resident = record["host"]["peak_rss_bytes"].as_u64().expect("bytes");
        assert!(resident < 200_000_000, "{how}: {resident} bytes resident");
    }
}

#[test]
fn what_is_kept_in_detail_changes_nothing_else() {
    let folder = Folder::new();
    let schema = warpwatt(&["schema", "run"]).expect(0).json();
    let job = job(&folder, 300, 4, 2);
    let timed: Vec<&str> = SMALL.into_iter().chain(["--interval", "1000"]).collect();
    for more in [&timed[..], &["--functional"]] {
        let with = |per_launch| {
            let more: Vec<_> = more.iter().copied().chain(["--per-launch", per_launch]).collect();
            let (mut record, _) = record(&job, &more);
            assert_eq!(validate::violation(&schema, &schema, &record, "record"), None);
            let kernels = record["kernels"].take();
            // Power over time is that of all launches or of none.
            let power = record.get_mut("energy").and_then(|energy| energy.as_object_mut()?.remove("power"));
            assert_eq!(power.is_some(), per_launch == "300" && record["mode"] == "timed", "{per_launch}");
            record.as_object_mut().and_then(|record| record.remove("host")).expect("a host");
            (kernels.as_array().expect("a list").clone(), record)
        };
        let ((all, detailed), (some, short), (none, bare)) = (with("300"), with("7"), with("0"));
        assert_eq!((all.len(), some.len(), none.len()), (300, 7, 0));
        assert_eq!(all[..7], some[..]);
        assert!(detailed == short && detailed == bare, "totals, energy and sums by kernel are the same");
        distributions_are_those_of_the_launches(&all, &detailed);
    }
}

fn distributions_are_those_of_the_launches(kernels: &[Value], record: &Value) {
    for group in record["by_kernel"].as_array().expect("a list") {
        let of: Vec<_> = kernels.iter().filter(|kernel| kernel["name"] == group["name"]).collect();
        assert_eq!(group["launches"], of.len());
        for (key, of_kernel) in [
            ("cycles", "/cycles"),
            ("energy_j", "/energy/total_j"),
            ("warp_instructions", "/warp_instructions"),
        ] {
            let value = |kernel: &&Value| kernel.pointer(of_kernel).and_then(Value::as_f64);
            let mut values: Vec<f64> = of.iter().filter_map(value).collect();
            values.sort_by(f64::total_cmp);
            let Some(found) = group["distributions"].get(key) else {
                assert!(values.is_empty(), "{key} is missing");
                continue;
            };
            let expected = [values[0], values[(values.len() - 1) / 2], values[values.len() - 1]];
            assert_eq!(
                ["min", "median", "max"].map(|of| found[of].as_f64().expect("a number")),
                expected,
                "{key}"
            );
        }
        let sum: u64 = of.iter().map(|kernel| kernel["warp_instructions"].as_u64().expect("a count")).sum();
        assert_eq!(group["warp_instructions"], sum);
    }
}

#[test]
fn kernels_beyond_the_first_256_share_an_entry() {
    let folder = Folder::new();
    let (record, _) = record(&job(&folder, 600, 300, 1), &["--functional"]);
    assert_eq!(launches(&record), (16, 600));
    let by_kernel = record["by_kernel"].as_array().expect("a list");
    let last = by_kernel.last().expect("an entry");
    assert_eq!((by_kernel.len(), &last["name"], &last["launches"]), (257, &"(others)".into(), &88.into()));
}

/// Processor seconds of a functional run with `lines` lines in all.
fn seconds(folder: &Folder, kernels: u32) -> f64 {
    let (record, _) = record(&job(folder, kernels, kernels, 500), &["--functional"]);
    // Several lines may become one instruction.
    assert!(record["totals"]["lines"].as_array().expect("a list").len() > 300 * kernels as usize);
    record["host"]["cpu_seconds"].as_f64().expect("a number")
}

#[test]
fn the_lines_of_a_long_program_are_found_without_a_search() {
    let folder = Folder::new();
    let (short, long) = (seconds(&folder, 16), seconds(&folder, 160));
    // Ten times the lines, 8,000 and 80,000: a walk through the text for each line would take a hundred times as long.
    assert!(long < 40.0 * short.max(0.02), "{short} s and {long} s");
}
