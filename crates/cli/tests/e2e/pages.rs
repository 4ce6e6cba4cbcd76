// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stranger's first day: the commands of the README, the tutorials and other pages are run top to bottom, by a user who has an empty home
//! folder, the examples and the program on the PATH. `WARPWATT_LONG=1` adds the commands that take minutes, builds and runs the
//! technique of docs/adding-a-technique.md from the code on the page, and installs the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::common::{Folder, Ran, STORE_PTX, finish, make_program, root};

/// Commands that end with another exit code than 0, by how they begin.
const EXPECTED: &[(&str, i32)] = &[
    ("warpwatt run --launch examples/faults/", 4),
    ("warpwatt run bfs --set sm.scheduler=fifo", 2),
    ("warpwatt run bfs --set sm.l1.mshrs=64", 2),
];

/// Commands that take minutes: run with `WARPWATT_LONG` only.
const LONG: &[&str] = &["warpwatt paper all", "warpwatt paper caches"];

/// Commands that a test cannot run, by how they begin, and what runs them instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("./test", "it runs this test"),
    (INSTALL, "the long test below runs it; `exec` tests `install`"),
    ("warpwatt sweep big.toml --engine slurm", "`slurm` and tests/slurm run sweeps on a cluster"),
    ("nvcc ", "the compiler is the reader's; tests/clients compiles programs"),
    ("clang++ ", "the compiler is the reader's; tests/clients compiles programs"),
    ("cargo run --release -- run sgemm@tiny --with NAME", "the long test below runs it"),
    (
        "warpwatt exec --json run.json -- ./program &&",
        "it needs a program that uses CUDA; tests/clients has them",
    ),
];

/// How the command begins that installs the program.
const INSTALL: &str = "cargo build --release && target/release/warpwatt install";

fn long() -> bool {
    std::env::var_os("WARPWATT_LONG").is_some()
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The fenced blocks of a page with the word behind the fence.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let mut parts = text.split("\n```");
    parts.next();
    let mut found = Vec::new();
    while let (Some(block), Some(_)) = (parts.next(), parts.next()) {
        found.push(block.split_once('\n').unwrap_or((block, "")));
    }
    found
}

/// Commands of a page: lines of console blocks and indented lines that begin with `$ `, and indented lines that begin with a program's name.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut console, mut other) = (false, false);
    for line in text.lines() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            (console, other) =
                (!console && !other && fence == "console", !console && !other && fence != "console");
            continue;
        }
        let indented = line.strip_prefix("    ").filter(|_| !other);
        let command = match (console, indented) {
            (true, _) => line.trim_start().strip_prefix("$ "),
            (false, Some(code)) => code.strip_prefix("$ ").or_else(|| {
                ["warpwatt ", "cargo ", "nvcc ", "clang++ ", "./test"]
                    .iter()
                    .any(|name| code.starts_with(name))
                    .then_some(code)
            }),
            _ => None,
        };
        found.extend(command.map(str::to_owned));
    }
    found
}

/// A user's folder with the examples, programs to run and an empty home.
struct Stranger {
    folder: Folder,
    path: String,
}

impl Stranger {
    fn new() -> Stranger {
        let folder = Folder::new();
        let copied =
            Command::new("cp").arg("-r").arg(root().join("examples")).arg(folder.path("examples")).status();
        assert!(copied.is_ok_and(|status| status.success()), "the examples can be copied");
        std::fs::create_dir(folder.path("home")).expect("an empty home");
        // Stand for programs of the reader's; real CUDA programs are run by tests/clients.
        for name in ["saxpy", "program"] {
            make_program(&folder.path(name), b"#!/bin/sh\necho done\n");
        }
        folder.file("libwarpwatt_cuda.so", "");
        let bin = Path::new(env!("CARGO_BIN_EXE_warpwatt")).parent().expect("a folder").display().to_string();
        Stranger { folder, path: format!("{bin}:/usr/bin:/bin") }
    }

    fn runs(&self, command: &str) -> Ran {
        let library = self.folder.path("libwarpwatt_cuda.so");
        finish(
            Command::new("sh")
                .args(["-c", command])
                .current_dir(self.folder.path(""))
                .env_clear()
                .env("PATH", &self.path)
                .env("HOME", self.folder.path("home"))
                .env("WARPWATT_LIB", library)
                .stdin(std::process::Stdio::null()),
        )
    }
}

/// Runs the commands of a page in their order, after writing the TOML files that it shows with a name in their first line.
fn follow(name: &str, least: usize) {
    let text = page(name);
    let stranger = Stranger::new();
    for (language, block) in blocks(&text) {
        let first = block.lines().next().unwrap_or_default();
        if let Some(file) =
            first.strip_prefix("# ").filter(|file| language == "toml" && file.ends_with(".toml"))
        {
            stranger.folder.file(file, block);
        }
    }
    let all = commands(&text);
    assert!(
        all.len() >= least,
        "{name} has {} commands, which is fewer than {least}: are they still found?",
        all.len()
    );
    for command in &all {
        let begins = |start: &str| command.starts_with(start);
        if ELSEWHERE.iter().any(|(start, _)| begins(start)) {
            continue;
        }
        let command = &command.replacen("cargo run --release -- ", "warpwatt ", 1);
        let begins = |start: &str| command.starts_with(start);
        if LONG.iter().any(|start| begins(start)) && !long() {
            continue;
        }
        let expected = EXPECTED.iter().find(|(start, _)| begins(start)).map_or(0, |(_, code)| *code);
        let ran = stranger.runs(command);
        assert_eq!(ran.code, expected, "{name}: {command}\n{}\n{}", ran.out, ran.err);
        assert!(!ran.err.contains("panicked"), "{name}: {command}\n{}", ran.err);
    }
    let home: Vec<_> = std::fs::read_dir(stranger.folder.path("home")).expect("a home").collect();
    assert!(home.is_empty(), "{name}: commands write nothing to the home folder: {home:?}");
}

#[test]
fn the_readme_can_be_followed() {
    follow("README.md", 14);
}

#[test]
fn the_tutorial_for_kernel_authors_can_be_followed() {
    follow("docs/tutorial-kernel-author.md", 9);
}

#[test]
fn the_tutorial_for_architects_can_be_followed() {
    follow("docs/tutorial-architect.md", 17);
}

#[test]
fn the_pages_about_energy_caches_and_reports_can_be_followed() {
    follow("docs/energy.md", 6);
    follow("docs/caches.md", 3);
    follow("docs/report.md", 6);
}

/// Code without comments and without spaces at the ends of lines.
fn plain(code: &str) -> Vec<String> {
    let lines = code.lines().map(|line| match line.split_once("//") {
        Some((before, after)) if !after.starts_with('/') => before.trim_end().to_owned(),
        _ => line.trim_end().to_owned(),
    });
    lines.filter(|line| !line.is_empty()).collect()
}

/// The file that the page about techniques goes through.
fn technique() -> String {
    let text = page("docs/adding-a-technique.md");
    let code = blocks(&text).into_iter().filter(|(language, _)| *language == "rust").map(|(_, block)| block);
    code.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_technique_of_the_page_is_a_file_that_is_compiled() {
    let file = page("crates/model/src/techniques/probes/merge/mod.rs");
    assert_eq!(plain(&technique()), plain(&file), "docs/adding-a-technique.md shows this file");
}

/// A copy of the sources with the technique of docs/adding-a-technique.md, added as the page says: the folder and the two lines. Its
/// builds are kept, so that the next run of the tests compiles our crates only.
fn sources() -> &'static Path {
    static SOURCES: OnceLock<PathBuf> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let tree = root().canonicalize().expect("the repository");
        let temporary = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let (copy, target) = (temporary.join("sources"), temporary.join("sources-target"));
        let _ = std::fs::remove_dir_all(&copy);
        std::fs::create_dir_all(&copy).expect("a folder");
        std::fs::create_dir_all(&target).expect("a folder for builds");
        std::os::unix::fs::symlink(&target, copy.join("target")).expect("a link to the builds");
        let names = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "crates", "examples", "docs"];
        let copied = Command::new("cp").arg("-r").args(names.map(|name| tree.join(name))).arg(&copy).status();
        assert!(copied.is_ok_and(|status| status.success()), "the sources can be copied");
        add_technique(&copy.join("crates/model/src/techniques"));
        copy
    })
}

fn add_technique(techniques: &Path) {
    std::fs::create_dir(techniques.join("merge")).expect("a folder for the technique");
    let code = technique().replace("probe-merge", "my-merge").replace("probe_merge", "my_merge");
    std::fs::write(techniques.join("merge/mod.rs"), code).expect("the technique");
    let list = std::fs::read_to_string(techniques.join("mod.rs")).expect("the list of techniques");
    let text = page("docs/adding-a-technique.md");
    let (_, lines) =
        blocks(&text).into_iter().find(|(language, _)| *language == "text").expect("the two lines");
    let [module, entry] = lines.lines().collect::<Vec<_>>()[..] else { panic!("two lines: {lines}") };
    let list = list.replacen("mod choose;", &format!("{module}\nmod choose;"), 1);
    let first = "&warped_compression::TECHNIQUE,\n";
    assert!(list.contains(first), "{list}");
    let list = list.replacen(first, &format!("{first}{entry}\n"), 1);
    std::fs::write(techniques.join("mod.rs"), list).expect("the list of techniques");
}

/// A command in the copy of the sources, for a user whose home is `home`. The toolchain stays where it is.
fn in_sources(command: &str, home: &str) -> Ran {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(sources()).env("HOME", home).env_remove("CARGO_TARGET_DIR");
    for (variable, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        if std::env::var_os(variable).is_none()
            && let Some(home) = std::env::home_dir()
        {
            shell.env(variable, home.join(folder));
        }
    }
    finish(&mut shell)
}

/// Follows docs/adding-a-technique.md: after the folder and the two lines, a build and a run.
#[test]
fn a_technique_is_added_as_the_page_says() {
    if !long() {
        return;
    }
    let run = |arguments: &[&str]| {
        let mut cargo = Command::new("cargo");
        cargo.args(["run", "--release", "--quiet", "-p", "warpwatt-cli", "--"]).args(arguments);
        finish(cargo.current_dir(sources()).env_remove("CARGO_TARGET_DIR")).expect(0)
    };
    let record = |with: &[&str]| {
        run(&[&["run", "sgemm@tiny", "--json", "-", "-q", "--verify-techniques"], with].concat()).json()
    };
    let (with, without) = (record(&["--with", "my-merge"]), record(&["--with", "my-merge:merge=off"]));
    let count = |record: &serde_json::Value, name: &str| record["totals"]["counters"][name].as_u64();
    assert!(count(&with, "my_merge.merged.count") > Some(0), "{with}");
    assert_eq!(count(&without, "my_merge.merged.count"), Some(0));
    assert_eq!(with["check"]["passed"], true);
    assert!(run(&["list", "techniques", "--show", "my-merge"]).out.contains("my_merge.merged.count"));
}

/// The README's way to install the program gives one whose `exec` works, from any folder; `cargo install` gives one whose `exec` and `install`
/// say how to get the libraries, and that does everything else.
#[test]
fn the_program_is_installed_as_the_readme_says() {
    if !long() {
        return;
    }
    let stranger = Stranger::new();
    let home = stranger.folder.path("home");
    let install = commands(&page("README.md")).into_iter().find(|command| command.starts_with(INSTALL));
    in_sources(&install.expect("a command to install the program"), &home).expect(0);
    let runs = |command: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(stranger.folder.path("")).env_clear().env("HOME", &home);
        finish(shell.env("PATH", format!("{home}/.local/bin:/usr/bin:/bin")))
    };
    stranger.folder.file("store.ptx", STORE_PTX);
    stranger.folder.file("store.c", include_str!("store.c"));
    runs("cc store.c -o store -ldl").expect(0);
    let ran = runs("warpwatt exec -- ./store store.ptx").expect(0).says("store");
    assert_eq!(ran.out, "1006\n");

    let alone = stranger.folder.path("alone");
    in_sources(&format!("cargo install --quiet --path crates/cli --locked --root {alone}"), &home).expect(0);
    runs("alone/bin/warpwatt run vecadd@tiny -q").expect(0);
    for (command, code) in [("exec -- ./store store.ptx", 125), ("install --prefix elsewhere", 2)] {
        let refused = runs(&format!("alone/bin/warpwatt {command}")).expect(code);
        refused.says("`cargo install` leaves it out").says(INSTALL);
    }
    assert!(!Path::new(&stranger.folder.path("elsewhere")).exists(), "nothing is installed by halves");
}

/// Every page that the README and the pages themselves link to is there.
#[test]
fn links_between_pages_lead_somewhere() {
    let mut pages = BTreeMap::new();
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        pages.insert(name.to_owned(), page(name));
    }
    for entry in std::fs::read_dir(root().join("docs")).expect("docs").flatten() {
        let name = format!("docs/{}", entry.file_name().to_string_lossy());
        if name.ends_with(".md") {
            pages.insert(name.clone(), page(&name));
        }
    }
    for (name, text) in &pages {
        let folder = root().join(name).parent().expect("a folder").to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            // Not `kernel[grid, block](arguments)` of a program.
            if !file.is_empty() && !file.contains("://") && !file.contains([' ', ',', '"']) {
                assert!(folder.join(file).exists(), "{name} links to {target}");
            }
        }
    }
}
