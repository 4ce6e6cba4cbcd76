// SPDX-License-Identifier: MIT OR Apache-2.0
//! `entropy`, profiles, and compression at the memory controllers from the command line.

use serde_json::Value;

use crate::common::{Folder, command, finish, warpwatt};

#[test]
fn entropy_measures_every_codec_and_the_bound() {
    let small_l2 = ["entropy", "vecadd@tiny", "--gpu", "gtx580-e2mc", "--set", "l2.sets=1", "--json", "-"];
    let document = warpwatt(&small_l2).expect(0).json();
    let codecs = document["codecs"].as_array().expect("a list");
    let names: Vec<_> = codecs.iter().filter_map(|codec| codec["name"].as_str()).collect();
    assert!(
        ["bdi", "fpc", "cpack", "e2mc4", "e2mc8", "e2mc16", "e2mc32"].iter().all(|name| names.contains(name)),
        "{names:?}"
    );
    let lines = document["lines"]["read"].as_u64().expect("a number")
        + document["lines"]["written"].as_u64().expect("a number");
    assert!(lines > 0);
    for codec in codecs {
        let sum =
            |key: &str| codec[key].as_array().expect("a list").iter().filter_map(Value::as_u64).sum::<u64>();
        assert_eq!((sum("sizes"), sum("accesses")), (lines, lines), "{codec}");
        let ratio = |key: &str| codec[key].as_f64().expect("a ratio");
        assert!(ratio("raw_ratio") >= ratio("ratio") && ratio("ratio") >= 1.0, "{codec}");
    }
    warpwatt(&["entropy", "vecadd@tiny", "--set", "technique.bdi.compress_clocks=1"]).expect(2);
    warpwatt(&["entropy", "vecadd@tiny", "--with", "bdi"]).expect(2).says("--with");
    let shown = warpwatt(&["entropy", "vecadd@tiny", "--gpu", "gtx580-e2mc"]).expect(0).out;
    assert!(shown.contains("raw ratio") && shown.contains("source coding theorem"), "{shown}");
}

#[test]
fn a_profile_is_written_read_and_refused_when_it_is_damaged() {
    let folder = Folder::new();
    let path = &folder.path("p.profile");
    warpwatt(&["entropy", "vecadd@tiny", "--write-profile", path]).expect(0);
    let with = format!("e2mc:profile={path}");
    let run =
        ["run", "vecadd@tiny", "--gpu", "gtx580-e2mc", "--verify-techniques", "--json", "-", "--with", &with];
    let given = warpwatt(&run).expect(0).json();
    let collected =
        warpwatt(&["run", "vecadd@tiny", "--gpu", "gtx580-e2mc", "--json", "-", "--with", "e2mc"]).expect(0);
    assert!(collected.err.contains("collecting a profile of vecadd@tiny"), "{}", collected.err);
    assert_eq!(given["totals"]["counters"], collected.json()["totals"]["counters"]);
    let text = std::fs::read_to_string(path).expect("it was written");
    // Collected in another way than the technique is told.
    warpwatt(&["run", "vecadd@tiny", "--gpu", "gtx580-e2mc", "--with", &format!("{with},profile_from=dram")])
        .expect(3)
        .says("`profile_from` is dram")
        .says("give `profile_from=loads-stores`");
    warpwatt(&[
        "run",
        "vecadd@tiny",
        "--gpu",
        "gtx580-e2mc",
        "--with",
        &format!("{with},profile_seed=other"),
    ])
    .expect(2)
    .says("leave one of the two out");
    let other = ["run", "vecadd@tiny", "--gpu", "gtx580-e2mc", "--with", "e2mc:profile_seed=other"];
    warpwatt(&other).expect(0).says("collecting a profile of vecadd@tiny, seed 1001");
    std::fs::write(path, text.replacen("rest 0", "rest 1", 1)).expect("it can be written");
    warpwatt(&run).expect(3).says("the profile is damaged");
    std::fs::write(path, "something else\n").expect("it can be written");
    warpwatt(&run).expect(3).says("this is no profile");
    std::fs::remove_file(path).expect("it is there");
    warpwatt(&run).expect(74);
}

#[test]
fn codecs_exclude_each_other_and_a_flipped_bit_is_noticed() {
    warpwatt(&["run", "vecadd@tiny", "--with", "bdi", "--with", "e2mc"]).expect(2).says("exclude each other");
    for with in ["bdi", "fpc", "cpack", "e2mc", "e2mc:symbol_bits=8,ways=8"] {
        warpwatt(&["run", "vecadd@tiny", "--gpu", "gtx580-e2mc", "--with", with, "--inject-fault", "dram"])
            .expect(1)
            .says("the error was detected");
    }
}

#[test]
fn the_traffic_of_a_program_that_uses_no_cuda_cannot_be_measured() {
    let folder = Folder::new();
    let library = folder.file("libwarpwatt_cuda.so", "");
    let run = |args: &[&str]| finish(command().env("WARPWATT_LIB", &library).args(args));
    let with = ["entropy", "--gpu", "gtx580-e2mc", "--"];
    run(&[&with[..], &["true"]].concat()).expect(2).says("no process of the program used CUDA");
    run(&[&with[..], &["sh", "-c", "exit 3"]].concat()).expect(2).says("the program ended with 3");
    run(&[&with[..], &["no-such-program"]].concat()).expect(2).says("no program `no-such-program`");
    run(&["entropy", "vecadd", "--", "true"]).expect(2).says("cannot be used with");
    run(&["entropy"]).expect(2).says("NAME[@SIZE]");
}
