// SPDX-License-Identifier: MIT OR Apache-2.0
//! Techniques as a person and a script switch them on: the command line, records, reproducers, programs, faults, energy.

use serde_json::Value;

use crate::common::{Folder, command, finish, warpwatt};

const NAME: &str = "warped-compression";

fn run(args: &[&str]) -> crate::common::Ran {
    warpwatt(&[&["run", "vecadd@tiny"], args].concat())
}

/// The record of a run on the paper's machine.
fn record(args: &[&str]) -> Value {
    let mut record = run(&[args, &["--gpu", "gtx480-wc", "--json", "-", "-q"]].concat()).expect(0).json();
    record["host"] = Value::Null;
    record
}

#[test]
fn with_and_set_are_the_same_and_the_record_says_what_was_on() {
    let with = record(&["--with", "warped-compression:compress_cycles=8,gating=off"]);
    let set = record(&[
        "--set",
        "technique.warped-compression.gating=off",
        "--set",
        "technique.warped-compression.compress_cycles=8",
    ]);
    assert_eq!(with, set);
    assert_eq!(with["inputs"]["techniques"][0], "warped-compression:gating=off,compress_cycles=8");
    // The same again from its canonical form, and verified.
    let again = with["inputs"]["techniques"][0].as_str().expect("a text");
    assert_eq!(record(&["--with", again, "--verify-techniques"]), with);
    let counters = &with["totals"]["counters"];
    assert!(counters["wc.compressions.count"].as_u64().is_some_and(|count| count > 0), "{counters}");
    let none = record(&[]);
    assert_eq!(none["inputs"]["techniques"].as_array().map(Vec::len), Some(0));
    assert!(none["totals"]["counters"].get("wc.compressions.count").is_none());
    let said = run(&["--with", NAME]).expect(0).out;
    assert!(said.starts_with("vecadd@tiny, seed 1, on gtx480 with warped-compression: 15 SMs"), "{said}");
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let with = |text: &str| run(&["--with", text]).expect(2);
    with("warped-compresion")
        .says("no technique `warped-compresion`")
        .says("did you mean `warped-compression`?");
    with("zip").says("there are: warped-compression").says("warpwatt list techniques");
    with("warped-compression:gatin=on").says("no parameter `gatin`").says("did you mean `gating`?");
    with("warped-compression:gating=maybe").says("invalid gating = maybe").says("on or off");
    with("warped-compression:compressors=17").says("invalid compressors = 17").says("1–16");
    with("warped-compression:gating")
        .says("`gating` of `warped-compression` is no setting")
        .says("parameter=value");
    with("warped-compression:gating=on,gating=off").says("`gating` of `warped-compression` is given twice");
    run(&["--with", NAME, "--with", NAME])
        .expect(2)
        .says("asked for twice")
        .says("all its parameters at once");
    let set = |text: &str| run(&["--set", text]).expect(2);
    set("technique.warped-compression.gating").says("has no value").says("technique.NAME.parameter=value");
    set("technique.gating=on").says("names no parameter");
    with("warped-compression:gating=off,compression=off").says("does nothing").says("switch one of them on");
    run(&["--with", NAME, "--set", "sm.rf.sub_banks=4"])
        .expect(2)
        .says("`sm.rf.sub_banks` is 4")
        .says("gtx480-wc");
    // The same flags do for a run without any.
    run(&["--verify-techniques"]).expect(0);
    run(&["--inject-fault", "rf"]).expect(2).says("has no effect").says("--with NAME");
    run(&["--with", NAME, "--inject-fault", "l2"]).expect(2).says("l2").says("rf");
    warpwatt(&["gpu", "show", "gtx480", "--set", "technique.warped-compression.gating=on"])
        .expect(2)
        .says("is a setting of a technique, not of a GPU");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let ran = run(&["--with", "zip", "--set", "sm.wraps=1", "--set", "technique.warped-compression.gatin=1"]);
    let ran = ran.expect(2).says("`zip`").says("`sm.wraps`").says("`gatin`");
    assert_eq!(ran.err.matches("error: ").count(), 3, "{}", ran.err);
    assert_eq!(ran.err.matches("help: ").count(), 3, "{}", ran.err);
    run(&["--with", "warped-compression:gating=off,compression=off", "--set", "dram.banks=12"])
        .expect(2)
        .says("does nothing")
        .says("`dram.banks` is 12");
}

#[test]
fn functional_runs_have_no_techniques() {
    for flags in [&["--with", NAME][..], &["--verify-techniques"], &["--inject-fault", "rf"]] {
        run(&[&["--functional"], flags].concat()).expect(2).says(flags[0]).says("--functional");
    }
    for words in [&["bench", "vecadd", "--functional"][..], &["exec", "--functional"]] {
        warpwatt(&[words, &["--with", NAME, "--", "true"]].concat()).expect(2).says("--functional");
    }
}

#[test]
fn a_bit_that_is_spoilt_is_noticed() {
    let folder = Folder::new();
    let json = folder.path("run.json");
    run(&["--with", NAME, "--inject-fault", "rf", "--json", &json])
        .expect(1)
        .says("error: a technique returned another value than was stored")
        .says("in kernel `vecadd`")
        .says("help: this is the bit that `--inject-fault` flipped: the error was detected");
    let text = std::fs::read_to_string(&json).expect("the record is written");
    let record: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(
        (&record["status"], &record["diagnostics"][0]["code"]),
        (&"failed".into(), &"corrupted".into())
    );
    let every = [
        "warped-compression:window=thread",
        "warped-compression:divergent=merge",
        "warped-compression:compression=off",
    ];
    for technique in every {
        run(&["--with", technique, "--inject-fault", "rf"]).expect(1).says("the error was detected");
    }
}

#[test]
fn a_fault_that_nothing_notices_is_a_failure() {
    let folder = Folder::new();
    folder.file(
        "idle.ptx",
        ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry idle()\n{\nret;\n}\n",
    );
    let launch =
        folder.file("idle.toml", "ptx = \"idle.ptx\"\n[[step]]\nlaunch = \"idle\"\ngrid = 1\nblock = 32\n");
    let base = ["run", "--launch", &launch, "--with", NAME];
    warpwatt(&base).expect(0);
    let ran = warpwatt(&[&base[..], &["--inject-fault", "rf", "--json", "-"]].concat());
    let ran = ran.expect(1).says("was not detected").says("nothing was stored and read back");
    let record = ran.json();
    assert_eq!(
        (&record["status"], &record["diagnostics"][0]["code"]),
        (&"failed".into(), &"unnoticed-fault".into())
    );
}

#[test]
fn techniques_are_listed_and_shown() {
    let list = warpwatt(&["list", "techniques"]).expect(0).out;
    for words in [NAME, "register file", "ISCA 2015", "base and delta", "--show NAME"] {
        assert!(list.contains(words), "{list}");
    }
    let shown = warpwatt(&["list", "techniques", "--show", NAME]).expect(0).out;
    for words in ["compress_cycles = 2 cycles    can be 0–32", "Latency of compression", "wc.moves.count"] {
        assert!(shown.contains(words), "`{words}` is not in\n{shown}");
    }
    let all = warpwatt(&["list", "techniques", "--json", "-"]).expect(0).json();
    let one = &all["techniques"][0];
    assert_eq!((&one["name"], &one["acts_in"][0]), (&NAME.into(), &"register file".into()));
    assert_eq!(one["faults"][0], "rf");
    let gating = one["parameters"].as_array().and_then(|all| all.iter().find(|one| one["name"] == "gating"));
    let gating = gating.expect("a parameter");
    assert_eq!(gating["key"], "technique.warped-compression.gating");
    assert_eq!((&gating["default"], &gating["legal"]), (&"on".into(), &"on or off".into()));
    assert!(one["counters"].as_array().is_some_and(|all| all.len() > 10));
    warpwatt(&["list", "techniques", "--show", "warped"]).expect(2).says("there is no technique `warped`");
    warpwatt(&["list", "gpus", "--show", NAME])
        .expect(2)
        .says("`--show` is for workloads, techniques, technologies and claims");
}

#[test]
fn reproducers_keep_techniques() {
    let folder = Folder::new();
    let saved = folder.path("saved");
    let technique = "warped-compression:wake_cycles=3,encodings=4-0+4-1";
    let args = ["--gpu", "gtx480-wc", "--with", technique, "--save-reproducer", &saved, "--json", "-"];
    let record = run(&args).expect(0).json();
    let replayed = warpwatt(&["replay", &saved, "--json", "-"]).expect(0).json();
    assert_eq!(replayed["inputs"]["techniques"], record["inputs"]["techniques"]);
    assert_eq!(replayed["inputs"]["techniques"][0], "warped-compression:encodings=4-0+4-1,wake_cycles=3");
    // What was written is the same, though memory is not quite as it was in the middle of a run.
    for counter in ["wc.stored.histogram", "wc.compressions.count", "rf.sub_bank_reads.count"] {
        let of = |record: &Value| record["kernels"][0]["counters"][counter].clone();
        assert!(!of(&record).is_null() && of(&replayed) == of(&record), "{counter}");
    }
    let about = folder.path("saved/reproducer.toml");
    let text = std::fs::read_to_string(&about).expect("it is there");
    std::fs::write(&about, text.replace("warped-compression", "wrapped-compression"))
        .expect("it can be written");
    warpwatt(&["replay", &saved]).expect(3).says("wrapped-compression").says("did you mean");
}

#[test]
fn programs_run_with_techniques() {
    let folder = Folder::new();
    let library = folder.file("libwarpwatt_cuda.so", "");
    let exec = |args: &[&str]| finish(command().arg("exec").env("WARPWATT_LIB", &library).args(args));
    let script = ["--", "sh", "-c", "cat $WARPWATT_SESSION"];
    let technique = "warped-compression:gating=off";
    let flags = ["--with", technique, "--technology", "wc45", "--verify-techniques"];
    let told: Value = exec(&[&flags[..], &script].concat()).expect(0).json();
    assert_eq!(told["techniques"]["on"][0], "warped-compression:gating=off");
    assert_eq!((&told["techniques"]["verify"], told["techniques"].get("inject")), (&true.into(), None));
    let json = folder.path("run.json");
    exec(&[&flags[..], &["--json", &json, "--", "true"]].concat()).expect(0);
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(&json).expect("the record")).expect("it is JSON");
    assert_eq!(record["inputs"]["techniques"][0], "warped-compression:gating=off");
    // Nothing was run that could have noticed.
    exec(&["--with", technique, "--inject-fault", "rf", "--", "true"]).expect(1).says("was not detected");
    exec(&["--with", "zip", "--", "true"]).expect(125).says("no technique `zip`");
}

#[test]
fn speed_is_measured_with_a_technique() {
    let args = ["bench", "vecadd", "--size", "tiny", "--repeat", "1", "--with", NAME];
    let figures = warpwatt(&[&args[..], &["--json", "-"]].concat()).expect(0).json();
    assert_eq!(figures["techniques"][0], NAME);
    let said = warpwatt(&args).expect(0).out;
    assert!(said.contains("gtx480 with warped-compression, one core"), "{said}");
}

#[test]
fn a_technique_s_units_take_energy_and_gated_banks_less() {
    for (technology, gpu) in
        [("wc45", "gtx480-wc"), ("gtx480-40nm", "gtx480"), ("combined-40nm", "gtx480-wc")]
    {
        let energy = |with: &[&str]| {
            let args = [&["--technology", technology, "--gpu", gpu, "--json", "-", "-q"], with].concat();
            let record = run(&args).expect(0).json();
            let mut energy = record["energy"].clone();
            energy["cycles"] = record["totals"]["cycles"].clone();
            energy
        };
        let part = |energy: &Value, name: &str, field: &str| -> Option<f64> {
            let all = energy["structures"].as_array().expect("structures");
            all.iter().find(|part| part["name"] == name).and_then(|part| part[field].as_f64())
        };
        let (off, on) = (energy(&[]), energy(&["--with", NAME]));
        assert_eq!(part(&off, "compressors", "dynamic_j"), None, "{technology}");
        for unit in ["compressors", "decompressors"] {
            for field in ["dynamic_j", "static_j"] {
                assert!(
                    part(&on, unit, field).is_some_and(|joules| joules > 0.0),
                    "{technology}: {unit} {field}"
                );
            }
        }
        // By cycle, since the technique changes the time as well.
        let leakage = |energy: &Value| {
            let cycles = energy["cycles"].as_f64().expect("a timed run");
            part(energy, "register banks", "static_j").expect("the banks are there") / cycles
        };
        assert!(leakage(&on) > 0.0 && leakage(&on) < 0.9 * leakage(&off), "{technology}");
        let leaky = energy(&["--with", "warped-compression:gated_leakage=100,wake_pj=50"]);
        assert!(leakage(&leaky) > 0.99 * leakage(&off), "{technology}");
        assert!(
            part(&leaky, "bank switches", "dynamic_j").is_some_and(|joules| joules > 0.0),
            "{technology}"
        );
        assert_eq!(part(&on, "bank switches", "dynamic_j"), Some(0.0), "{technology}");
        let sum: f64 = on["per_line"]
            .as_array()
            .expect("lines")
            .iter()
            .filter_map(|line| line["energy_j"].as_f64())
            .sum();
        let (total, rest) =
            (on["total_j"].as_f64().unwrap_or_default(), on["unattributed_j"].as_f64().unwrap_or_default());
        assert!((sum + rest - total).abs() < 1e-9 * total, "{technology}");
    }
}

#[test]
fn hints_come_from_a_profile_that_is_saved_or_made_first() {
    let folder = Folder::new();
    let path = &folder.path("bfs.counts");
    let corf = |more: &[&str]| warpwatt(&[&["run", "bfs@tiny", "--gpu", "gtx480-corf"], more].concat());
    let hidden = |mut record: Value| {
        record["host"] = Value::Null;
        record["inputs"]["techniques"] = Value::Null;
        record
    };
    corf(&["--write-profile", path]).expect(2).says("--functional");
    corf(&["--functional", "--write-profile", path, "-q"]).expect(0);
    let with = &format!("corf:pairs=profile,profile={path}");
    let given = hidden(corf(&["--with", with, "--json", "-"]).expect(0).json());
    // The counts of the same run, which are what the file has.
    let perfect = corf(&["--with", "corf:pairs=perfect", "--json", "-"]).expect(0);
    assert!(perfect.err.contains("counting the instructions of bfs@tiny, seed 1 "), "{}", perfect.err);
    assert_eq!(hidden(perfect.json()), given);
    let other = corf(&["--with", "corf++:hints=profile"]).expect(0).err;
    assert!(other.contains("counting the instructions of bfs@tiny, seed 1001 by"), "{other}");
    corf(&["--with", &format!("corf:profile={path}")]).expect(2).says("`pairs` is not `profile`");
    // Counts are for the code that was counted.
    corf(&["--with", with, "--no-predication"]).expect(3).says("other code of this kernel");
    warpwatt(&["run", "vecadd@tiny", "--gpu", "gtx480-corf", "--with", with])
        .expect(3)
        .says("no counts of this kernel");
    let text = std::fs::read_to_string(path).expect("it was written");
    std::fs::write(path, text.replacen("kernel ", "kernel x", 1)).expect("it can be written");
    corf(&["--with", with]).expect(3).says("damaged").says("--write-profile");
    std::fs::write(path, "warpwatt.profile/1\n").expect("it can be written");
    corf(&["--with", with]).expect(3).says("`warpwatt.counts/1`");
    std::fs::remove_file(path).expect("it is there");
    corf(&["--with", with]).expect(74);
    let exec = warpwatt(&["exec", "--gpu", "gtx480-corf", "--with", "corf:pairs=perfect", "--", "true"]);
    exec.expect(125).says("needs instruction counts from an earlier run");
}
