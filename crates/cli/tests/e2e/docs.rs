// SPDX-License-Identifier: MIT OR Apache-2.0
//! The generated parts of the documentation are what the program says today. `WARPWATT_BLESS=1` writes them anew.

use std::fmt::Write;

use clap::CommandFactory;
use warpwatt_cli::launch::SECTIONS;
use warpwatt_testing::golden;

use crate::common::{root, warpwatt};

fn current(path: &str, wanted: &str) {
    golden::check(root().join(path), wanted, "If the change is meant, run the tests with WARPWATT_BLESS=1");
}

#[test]
fn the_command_reference_is_what_help_says() {
    let mut page = String::from("# Commands\n\nGenerated from `warpwatt help`.\n");
    let commands = [
        &[][..],
        &["list"],
        &["gpu", "show"],
        &["gpu", "import"],
        &["launch", "init"],
        &["run"],
        &["exec"],
        &["compile"],
        &["bench"],
        &["characterize"],
        &["verify"],
        &["entropy"],
        &["paper"],
        &["sweep"],
        &["sweep", "status"],
        &["sweep", "cancel"],
        &["point"],
        &["compare"],
        &["report"],
        &["schema"],
        &["replay"],
        &["install"],
        &["completions"],
        &["man"],
    ];
    for command in commands {
        let mut args = command.to_vec();
        args.push("--help");
        let help = warpwatt(&args).expect(0).out;
        let title = std::iter::once("warpwatt").chain(command.iter().copied()).collect::<Vec<_>>().join(" ");
        let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        let _ = write!(page, "\n## {title}\n\n```text\n{}\n```\n", help.trim_end());
    }
    current("docs/reference-cli.md", &page);
}

/// Longer ones are broken by the terminal, or by clap between words, and what stands below them no longer lines up.
#[test]
fn lines_of_help_fit_a_hundred_columns() {
    fn check(command: &clap::Command) {
        for line in command.get_after_help().map(ToString::to_string).unwrap_or_default().lines() {
            assert!(line.chars().count() <= 100, "help of `{}`: {line}", command.get_name());
        }
        command.get_subcommands().for_each(check);
    }
    check(&warpwatt_cli::args::Cli::command());
}

#[test]
fn the_techniques_reference_has_every_parameter_and_counter() {
    let mut page = String::from(
        "# Techniques\n\nGenerated from the declarations of each technique. `--with NAME` switches one on, `--with NAME:key=value,key=value` with \
         other parameters, and `--set technique.NAME.key=value` does the same. Any number of techniques can be on at once unless they exclude each other. \
         [adding-a-technique.md](adding-a-technique.md) leads through the files of one, [papers.md](papers.md) says how its paper is reproduced.\n",
    );
    for info in warpwatt_runtime::Techniques::ALL.iter().filter(|info| !info.is_probe()) {
        let _ = writeln!(
            page,
            "\n## {}\n\n{}\n\nActs in: {}. Described in: {}.",
            info.name,
            info.doc,
            info.places().join(", "),
            info.paper
        );
        page.push_str("\n| parameter | default | unit | legal | meaning |\n|---|---|---|---|---|\n");
        let mut usual = warpwatt_runtime::Techniques::default();
        usual.with(info.name).expect("a technique can be switched on by its name");
        for (parameter, value) in usual.values(info) {
            let legal = warpwatt_runtime::Techniques::legal(parameter.kind);
            let _ = writeln!(
                page,
                "| `{}` | {value} | {} | {legal} | {} |",
                parameter.name, parameter.unit, parameter.doc
            );
        }
        page.push_str("\n| counter, while it is on | what it counts |\n|---|---|\n");
        for counter in info.counters {
            let _ = writeln!(page, "| `{}` | {} |", counter.name, counter.doc);
        }
    }
    current("docs/reference-techniques.md", &page);
}

#[test]
fn the_record_reference_has_every_field_and_counter() {
    let schema = warpwatt(&["schema", "run"]).expect(0).json();
    let mut page = String::from(
        "# The run record\n\nGenerated from the program's own schema, `warpwatt schema run`. Fields marked optional are absent when a run \
         does not produce them: a functional run has no time and no energy. Everything outside of `host` is byte-identical from \
         run to run of the same inputs.\n",
    );
    let mut section = |name: &str, part: &serde_json::Value| {
        let Some(fields) = part["properties"].as_object() else { return };
        let _ = writeln!(page, "\n## {name}\n");
        if let Some(text) = part["description"].as_str() {
            let _ = writeln!(page, "{text}\n");
        }
        let _ = writeln!(page, "| field | | meaning |\n|---|---|---|");
        let required = part["required"].as_array().cloned().unwrap_or_default();
        for (field, rule) in fields {
            let presence = if required.contains(&field.as_str().into()) { "" } else { "optional" };
            let text = rule["description"].as_str().unwrap_or_default();
            let _ = writeln!(page, "| `{field}` | {presence} | {text} |");
        }
    };
    section("The document", &schema);
    for (name, part) in schema["$defs"].as_object().expect("definitions") {
        section(name, part);
    }
    page.push_str("\nCounters are described in [reference-counters.md](reference-counters.md).\n");
    current("docs/reference-run-record.md", &page);
}

#[test]
fn the_reference_of_counters_has_them_all() {
    let mut page = String::from(
        "# Counters\n\nGenerated from the declarations beside what is counted. The last word of a name is its unit: `count`, `cycles` (of the core), \
         `clocks` (of the component), `bytes`, `ratio`, `gbs` (10^9 bytes per second) or `histogram`. Histograms list occurrences by bucket; those of \
         cycles and clocks count zeros in bucket 0 and values from 2^(n-1) to 2^n - 1 in bucket n. A functional run has those that begin with `exec` only.\n\n\
         Counters of SMs and memory partitions are sums over all of them. Ratios are worked out from the sums, so those of a whole run are \
         not averages of those of its kernels.\n\n## Why schedulers do not issue\n\nEvery issue slot (a cycle of a scheduler) either issues or is charged to one reason: the first that \
         holds, in this order, of the first warp in the scheduler's own order of priority. Issued and charged slots are cycles x schedulers x SMs.\n",
    );
    // The technique that declares a counter, if one does. Probes are there in test builds only.
    let owner = |name: &str| {
        let techniques = warpwatt_runtime::Techniques::ALL.iter();
        techniques.copied().find(|technique| technique.counters.iter().any(|info| info.name == name))
    };
    let mut registry = warpwatt_results::registry(&warpwatt_runtime::Counters::infos());
    registry.retain(|info| owner(info.name).is_none_or(|technique| !technique.is_probe()));
    let is_stall = |name: &str| name.starts_with("sm.stall.");
    page.push_str("\n| reason | what it is |\n|---|---|\n");
    for stall in warpwatt_runtime::Stall::ALL {
        let name = format!("sm.stall.{}.count", stall.name());
        let doc = registry.iter().find(|info| info.name == name).expect("a counter of the reason").doc;
        let _ = writeln!(page, "| `{}` | {doc} |", stall.name());
    }
    let mut group = "";
    for info in registry.iter().filter(|info| !is_stall(info.name)) {
        let first = info.name.split('.').next().unwrap_or_default();
        if first != group {
            group = first;
            let title = match group {
                "constant" => "Constant caches",
                "dram" => "Memory controllers and memory",
                "exec" => "Execution",
                "icache" => "Instruction caches and fetch",
                "l1d" => "L1 data caches",
                "l2" => "L2 slices",
                "lsu" => "Load/store units",
                "noc" => "Network",
                "ops" => "Operations",
                "rf" => "Register files",
                "second" => "Second-level caches of instructions and constants",
                "shared" => "Shared memory",
                "sm" => "Streaming multiprocessors",
                "texture" => "Texture caches",
                "units" => "Execution units",
                other => match owner(info.name) {
                    Some(technique) => &format!("{}, while it is on", technique.name),
                    None => panic!("`{other}` needs a title here"),
                },
            };
            let _ = writeln!(page, "\n## {title}\n\n| counter | what it counts |\n|---|---|");
        }
        let _ = writeln!(page, "| `{}` | {} |", info.name, info.doc);
    }
    current("docs/reference-counters.md", &page);
}

#[test]
fn the_page_about_energy_lists_figures_and_technologies() {
    let mut tables = String::from("\n| figure | what it is |\n|---|---|\n");
    for figure in warpwatt_energy::FIGURES {
        let _ = writeln!(tables, "| `{}` | {} |", figure.name, figure.doc);
    }
    let page = std::fs::read_to_string(root().join("docs/energy.md")).expect("the page");
    let (before, rest) = page.split_once("<!-- figures -->\n").expect("the place of the table");
    let (_, after) = rest.split_once("<!-- end -->").expect("the end of the table");
    current("docs/energy.md", &format!("{before}<!-- figures -->\n{tables}\n<!-- end -->{after}"));
    for technology in warpwatt_energy::TECHNOLOGIES {
        assert!(page.contains(&format!("`{}`", technology.name)), "{} is not described", technology.name);
    }
}

#[test]
fn the_reference_of_parameters_has_them_all() {
    current("docs/reference-parameters.md", &warpwatt_config::reference());
}

#[test]
fn the_launch_file_guide_lists_every_key() {
    let mut tables = String::new();
    for section in SECTIONS {
        let _ = writeln!(tables, "\n### {}\n\n{}\n\n| key | meaning |\n|---|---|", section.name, section.doc);
        for key in section.keys {
            let _ = writeln!(tables, "| `{}` | {} |", key.name, key.doc);
        }
    }
    let guide = std::fs::read_to_string(root().join("docs/launch-file.md")).expect("the guide");
    let (before, rest) = guide.split_once("<!-- keys -->\n").expect("the place of the tables");
    let (_, after) = rest.split_once("<!-- end -->").expect("the end of the tables");
    current("docs/launch-file.md", &format!("{before}<!-- keys -->\n{tables}\n<!-- end -->{after}"));
}

#[test]
fn the_page_about_sweeps_lists_the_keys_of_slurm() {
    let mut table = String::from("\n| key | what it is |\n|---|---|\n");
    for key in warpwatt_cli::SLURM_KEYS.keys {
        let _ = writeln!(table, "| `{}` | {} |", key.name, key.doc);
    }
    let page = std::fs::read_to_string(root().join("docs/sweeps.md")).expect("the page");
    let (before, rest) = page.split_once("<!-- slurm -->\n").expect("the place of the table");
    let (_, after) = rest.split_once("<!-- end -->").expect("the end of the table");
    current("docs/sweeps.md", &format!("{before}<!-- slurm -->\n{table}\n<!-- end -->{after}"));
}

#[test]
fn the_guide_and_the_example_show_the_same_file() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect("the file");
    let strip = |text: &str| -> Vec<String> {
        let code = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim_end().to_owned());
        code.filter(|line| !line.is_empty()).collect()
    };
    let guide = read("docs/launch-file.md");
    let shown =
        guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the example");
    assert_eq!(strip(shown), strip(&read("examples/saxpy/saxpy.toml")));
}
