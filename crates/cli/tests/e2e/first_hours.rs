// SPDX-License-Identifier: MIT OR Apache-2.0
//! What somebody does in the first hours: a launch file for kernels of their own, a GPU from another simulator, files in the wrong place.

use crate::common::{Folder, STORE_PTX, command, finish, root, warpwatt};

#[test]
fn a_launch_file_to_start_from_runs_as_it_is() {
    let folder = Folder::new();
    let ptx = std::fs::read_to_string(root().join("examples/saxpy/saxpy.ptx")).expect("an example");
    let program = folder.file("mine.ptx", &ptx);
    warpwatt(&["run", &program]).expect(2).says("there is no launch file").says("launch init");
    let launch = folder.path("mine.toml");
    warpwatt(&["launch", "init", &program, "--out", &launch]).expect(0);
    let text = std::fs::read_to_string(&launch).expect("it was written");
    for words in
        ["launch = \"saxpy\"", "{ i32 = 1024 }, { f32 = 1.0 }, \"buf:p2\", \"buf:p3\"", "type = \"f32\""]
    {
        assert!(text.contains(words), "`{words}` is not in\n{text}");
    }
    warpwatt(&["run", &program, "--functional"]).expect(0);
    warpwatt(&["run", "--launch", &launch]).expect(0);
    let plain = folder.file("plain.ptx", STORE_PTX);
    let out = warpwatt(&["launch", "init", &plain]).expect(0).out;
    assert!(out.contains("launch = \"store\"") && out.contains("\"buf:p0\", { i32 = 1024 }"), "{out}");
    warpwatt(&["launch", "init", &plain, "--kernel", "stroe"]).expect(2).says("its kernels are store");
}

#[test]
fn cuda_without_its_compiler_says_how_to_get_it() {
    let ran = |library: &str| {
        finish(command().args(["compile", "examples/saxpy/saxpy.cu"]).env("WARPWATT_NVRTC", library))
    };
    ran("/nowhere/libnvrtc.so.12")
        .expect(2)
        .says("cannot be used")
        .says("pip install nvidia-cuda-nvrtc-cu12");
    ran("/tmp").expect(2).says("is not installed").says("pip install");
}

#[test]
fn a_configuration_of_another_simulator_becomes_a_gpu() {
    let folder = Folder::new();
    let config = folder.file(
        "gpgpusim.config",
        "-gpgpu_n_clusters 2\n-gpgpu_n_cores_per_cluster 2\n-gpgpu_scheduler lrr\n-inter_config_file x.icnt\n-unheard_of 1\n",
    );
    let gpu = folder.path("small.toml");
    warpwatt(&["gpu", "import", &config, "--out", &gpu])
        .expect(0)
        .says("gpgpusim.config:5: -unheard_of 1: no counterpart in warpwatt")
        .says("3 options were imported, 2 were not");
    let shown = warpwatt(&["gpu", "show", &gpu, "--json", "-"]).expect(0).json();
    assert_eq!(
        (&shown["parameters"]["gpu.sms"], &shown["parameters"]["sm.scheduler"]),
        (&4.into(), &"lrr".into())
    );
    warpwatt(&["run", "vecadd@tiny", "--gpu", &gpu]).expect(0);
    let empty = folder.file("empty.config", "\n");
    warpwatt(&["gpu", "import", &empty]).expect(3).says("the file contains no option");
}

#[test]
fn gpu_files_inherit_from_files_and_take_sizes() {
    let folder = Folder::new();
    folder.file("base.toml", "inherits = \"gtx580\"\n[gpu]\nsms = 2\n");
    let mine = folder.file("mine.toml", "inherits = \"base.toml\"\n[l2]\nbytes = 1572864\n");
    let shown = warpwatt(&["gpu", "show", &mine, "--json", "-"]).expect(0).json();
    assert_eq!((&shown["parameters"]["gpu.sms"], &shown["parameters"]["l2.sets"]), (&2.into(), &128.into()));
    warpwatt(&["run", "vecadd@tiny", "--gpu", &mine]).expect(0);
    warpwatt(&["run", "vecadd@tiny", "--set", "l2.bytes=5KB"])
        .expect(2)
        .says("l2.bytes = gpu.partitions × l2.sets × l2.ways × 128");
    let copy = folder.file("copy.toml", &warpwatt(&["gpu", "show", &mine, "--toml"]).expect(0).out);
    let copied = warpwatt(&["gpu", "show", &copy, "--json", "-"]).expect(0).json();
    assert_eq!(copied["parameters"], shown["parameters"]);
}

#[test]
fn results_that_cannot_be_written_are_found_before_the_work() {
    let folder = Folder::new();
    let nowhere = folder.path("no/such/folder.json");
    // The work would take minutes.
    for command in [
        &["run", "sgemm@large"][..],
        &["bench"],
        &["verify"],
        &["entropy", "sgemm@large"],
        &["exec", "--", "sleep", "600"],
    ] {
        let (name, rest) = command.split_first().expect("a command");
        let args = [&[*name, "--json", &nowhere], rest].concat();
        let ran = warpwatt(&args);
        assert!(ran.code == 74 || ran.code == 125, "{args:?}: {} {}", ran.code, ran.err);
        assert!(ran.err.contains("cannot write"), "{}", ran.err);
    }
    let record = folder.path("record.json");
    warpwatt(&["run", "vecadd@tiny", "--json", &record]).expect(0);
    let names: Vec<_> = std::fs::read_dir(folder.path(""))
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(names, ["record.json"], "nothing but the record is left");
}

#[test]
fn a_full_standard_output_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device that is full");
    let output = command().args(["list", "gpus"]).stdout(full).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(74));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the result to standard output"));
}

#[test]
fn shells_manuals_editors_and_bug_reports_get_what_they_need() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(warpwatt(&["completions", shell]).expect(0).out.contains("warpwatt"), "{shell}");
    }
    warpwatt(&["man", &folder.path("man1")]).expect(0);
    let page = std::fs::read_to_string(folder.path("man1/warpwatt-run.1")).expect("a page for each command");
    assert!(page.contains(".TH") && page.contains("technology"), "{page}");
    let version = warpwatt(&["--version"]).expect(0).out;
    assert!(
        version.starts_with("warpwatt ") && version.contains('(') && version.trim_end().ends_with(')'),
        "{version}"
    );
    let schema = warpwatt(&["schema", "technology"]).expect(0).json();
    assert_eq!(schema["$id"], "warpwatt.technology/1");
    assert!(
        schema["properties"]["structure"].is_object() && schema["additionalProperties"] == false,
        "{schema}"
    );
}

#[test]
fn tables_fit_the_terminal() {
    let folder = Folder::new();
    let (a, b) = (folder.path("a.json"), folder.path("b.json"));
    warpwatt(&["run", "cfd@tiny", "--json", &a, "-q"]).expect(0);
    warpwatt(&["run", "cfd@tiny", "--json", &b, "-q", "--gpu", "gtx580", "--with", "drowsy"]).expect(0);
    for args in [
        &["list", "workloads"][..],
        &["list", "workloads", "--show", "lud"],
        &["list", "workloads", "--paper", "e2mc"],
        &["list", "gpus"],
        &["list", "techniques"],
        &["list", "technologies"],
        &["gpu", "show", "gtx480"],
        &["compile", "examples/saxpy/saxpy.ptx"],
        &["run", "cfd@tiny", "--energy"],
        &["run", "--launch", "examples/saxpy/saxpy.toml", "--energy"],
        &["run", "--launch", "examples/saxpy/saxpy.toml", "--functional"],
        &["compare", &a, &b],
        &["characterize", "--size", "tiny", "--workloads", "vecadd,mri_gridding"],
    ] {
        for columns in ["80", "100"] {
            let out = finish(command().args(args).env("COLUMNS", columns)).expect(0).out;
            let wide = out.lines().find(|line| line.chars().count() > columns.parse().expect("a number"));
            // The first line names files of the user's.
            assert!(
                wide.is_none_or(|line| Some(line) == out.lines().next()),
                "{args:?} at {columns}: {wide:?}"
            );
        }
    }
}
