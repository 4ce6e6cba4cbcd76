// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sweeps and single points: what is written, what it is made of, and what is refused.

use std::path::Path;

use serde_json::Value;

use crate::common::{Folder, root, warpwatt};
use crate::validate::violation;

fn read(path: impl AsRef<Path>) -> Value {
    let text =
        std::fs::read_to_string(path.as_ref()).unwrap_or_else(|error| panic!("{error}: {:?}", path.as_ref()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

fn valid(format: &str, document: &Value) {
    let schema = warpwatt(&["schema", format]).expect(0).json();
    assert_eq!(violation(&schema, &schema, document, "$"), None);
}

fn keys(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{error}: {folder:?}"))
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_sweep_ends_in_tables_and_a_front() {
    let folder = Folder::new();
    let out = folder.path("l1");
    let ran = warpwatt(&["sweep", "examples/sweep/l1.toml", "--out", &out, "--csv"]).expect(0);
    let out = Path::new(&out);
    for table in ["points", "kernels", "energy", "histograms", "series"] {
        let bytes = std::fs::read(out.join(format!("data/{table}.parquet"))).expect("a table");
        assert_eq!((&bytes[..4], &bytes[bytes.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
        assert!(out.join(format!("data/{table}.csv")).exists());
    }
    let csv = std::fs::read_to_string(out.join("data/points.csv")).expect("a table");
    let header = csv.lines().next().expect("names");
    assert!(header.starts_with("experiment,configuration,subject,size,seed,gpu,"), "{header}");
    assert!(header.contains(",param.sm.l1d.mshrs,") && header.contains(",sm.issued.count,"), "{header}");
    assert_eq!(csv.lines().count(), 1 + 24);

    // The front is that of the costs, and the costs are those of the points.
    let result = read(out.join("sweep.json"));
    assert_eq!((&result["schema"], &result["name"]), (&"warpwatt.sweep-result/1".into(), &"l1".into()));
    assert_eq!(result["configurations"].as_array().map(Vec::len), Some(12));
    for subject in result["subjects"].as_array().expect("subjects") {
        let costs: Vec<_> = subject["costs"].as_array().expect("costs").iter().collect();
        let pair = |cost: &Value| {
            (cost["seconds"].as_f64().expect("time"), cost["energy_j"].as_f64().expect("energy"))
        };
        for cost in &costs {
            let (time, energy) = pair(cost);
            let beaten = costs
                .iter()
                .map(|other| pair(other))
                .any(|(t, e)| t <= time && e <= energy && (t, e) != (time, energy));
            assert_eq!(cost["front"], Value::Bool(!beaten), "{cost}");
        }
    }
    let first = &result["means"][0];
    assert_eq!((first["time"].as_f64(), first["energy"].as_f64()), (Some(1.0), Some(1.0)));
    assert_eq!(
        ran.out.lines().filter(|line| line.starts_with("none ") || line.starts_with("drowsy ")).count(),
        12
    );
    for figure in ["pareto", "time", "energy"] {
        assert_eq!(read(out.join(format!("figures/{figure}.json")))["axis"], "configuration");
    }
    for key in keys(&out.join("points")) {
        valid("point", &read(out.join("points").join(key)));
    }
    let text = std::fs::read_to_string(root().join("examples/sweep/l1.toml")).expect("the example");
    let file: toml::Value = toml::from_str(&text).expect("TOML");
    valid("sweep", &serde_json::to_value(file).expect("JSON"));
    let page = std::fs::read_to_string(root().join("docs/sweeps.md")).expect("the page");
    let shown =
        page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the example");
    let plain: String =
        text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert_eq!(shown, plain);
}

#[test]
fn a_cluster_can_run_the_points() {
    let folder = Folder::new();
    let out = folder.path("out");
    let file = folder.file("s.toml", "workloads = [\"vecadd@tiny\"]\nseeds = [1, 2]\ntechniques = [\"none\", \"e2mc\"]\ngpu = \"gtx580-e2mc\"\ntechnology = \"e2mc32\"\n");
    let sweep = |more: &[&str]| warpwatt(&[&["sweep", &file, "--out", &out], more].concat());
    let told = sweep(&["--requests"]).expect(0).out;
    assert!(told.starts_with("4 of 4 points are missing"), "{told}");
    let (requests, points) = (Path::new(&out).join("requests"), Path::new(&out).join("points"));
    let names = keys(&requests);
    assert_eq!((names.len(), keys(&points).len()), (4, 0));
    let request = |name: &String| requests.join(name).display().to_string();
    let point = |name: &String| points.join(name).display().to_string();
    for name in &names[..2] {
        valid("request", &read(request(name)));
        warpwatt(&["point", &request(name), &point(name)]).expect(0);
        valid("point", &read(point(name)));
    }
    let before = std::fs::read(point(&names[0])).expect("a point");
    warpwatt(&["point", &request(&names[0]), &point(&names[0])]).expect(0).says("it is not run again");
    assert_eq!(std::fs::read(point(&names[0])).expect("a point"), before);
    let told = sweep(&["--requests"]).expect(0).out;
    assert!(told.starts_with("2 of 4 points are missing"), "{told}");
    assert_eq!(keys(&requests), names[2..]);
    sweep(&[]).expect(0).says("2 of 4 points reused, 2 simulated");
    // What this process runs is what a process of its own runs.
    let alone = folder.path("alone.json");
    warpwatt(&["point", &request(&names[2]), &alone]).expect(0);
    let without_host = |path: String| {
        let mut point = read(path);
        point.as_object_mut().expect("an object").remove("host");
        point
    };
    assert_eq!(without_host(alone), without_host(point(&names[2])));
}

#[test]
fn a_request_that_is_none_is_refused() {
    let folder = Folder::new();
    let out = folder.path("out.json");
    let good = r#"{"schema": "warpwatt.request/1", "workload": "vecadd", "size": "tiny", "gpu": "gtx480", "technology": "gtx480-40nm"}"#;
    let refused = |from: &str, to: &str| {
        let file = folder.file("in.json", &good.replace(from, to));
        warpwatt(&["point", &file, &out])
    };
    refused("", "").expect(0);
    std::fs::remove_file(&out).expect("it is there");
    refused("\"size\"", "\"sise\"").expect(3).says("unknown field `sise`").says("warpwatt schema request");
    refused("request/1", "request/9").expect(3).says("`warpwatt.request/9`");
    refused("vecadd", "vecad").expect(2).says("did you mean `vecadd`?");
    refused("}", "").expect(3).says("cannot be used");
    refused("\"gpu\": \"gtx480\"", "\"gpu\": \"gtx481\"").expect(2).says("gtx481");
    warpwatt(&["point", &folder.path("none.json"), &out]).expect(74).says("cannot read");
    assert!(!Path::new(&out).exists());
    let file = folder.file("in.json", good);
    warpwatt(&["point", &file, "/dev/null/out.json"]).expect(74).says("cannot write");
}

#[test]
fn what_is_wrong_with_a_sweep_is_told_with_its_line() {
    let folder = Folder::new();
    let out = folder.path("out");
    let refused = |text: &str| {
        let file = folder.file("s.toml", text);
        warpwatt(&["sweep", &file, "--out", &out]).expect(2)
    };
    refused("size = \"tiny\"\nworkload = [\"bfs\"]\n").says("s.toml:2:1").says("did you mean `workloads`?");
    refused("workloads = [\"bsf\"]\n")
        .says("s.toml:1:")
        .says("there is no workload `bsf`")
        .says("did you mean `bfs`?");
    refused("workloads = [\"bfs\"]\n[parameters]\nsm.wraps = [1, 2]\n").says("s.toml:3:").says("sm.warps");
    refused("workloads = [\n").says("s.toml:").says("has to be TOML");
    refused("workloads = [\"bfs\"]\ntechniques = [[\"corf\", \"corf++\"]]\n").says("corf");
    assert!(!Path::new(&out).exists(), "nothing is made for nothing");
    warpwatt(&["sweep", &folder.path("none.toml"), "--out", &out]).expect(74).says("cannot read");
}

#[test]
fn folders_and_results_that_cannot_be_written_are_told_and_points_are_kept() {
    let folder = Folder::new();
    let file = folder.file("s.toml", "workloads = [\"vecadd@tiny\"]\n[parameters]\nsm.ctas = [1, 2, 4, 8]\n");
    for out in ["/dev/null/out", "/proc/out"] {
        let ran = warpwatt(&["sweep", &file, "--out", out]);
        assert!([2, 74].contains(&ran.code), "{} {}", ran.code, ran.err);
        assert!(ran.err.contains(out) || ran.err.contains("/dev/null"), "{}", ran.err);
    }
    let out = folder.path("out");
    let args = ["sweep", &file, "--out", &out, "--jobs", "1"];
    // The result cannot be written: all points are kept.
    warpwatt(&args).expect(0);
    std::fs::remove_dir_all(Path::new(&out).join("points")).expect("it is there");
    std::fs::remove_file(Path::new(&out).join("sweep.json")).expect("it is there");
    std::fs::create_dir(Path::new(&out).join("sweep.json")).expect("a folder in its place");
    warpwatt(&args).expect(74).says("cannot write").says("repeat the command to continue");
    assert_eq!(keys(&Path::new(&out).join("points")).len(), 4);
    std::fs::remove_dir(Path::new(&out).join("sweep.json")).expect("it is there");
    warpwatt(&args).expect(0).says("4 of 4 points reused, 0 simulated");
    // A folder of another kind is left alone.
    warpwatt(&["paper", "corf", "--workloads", "vecadd", "--out", &out])
        .expect(2)
        .says("has the results of a sweep");
}
