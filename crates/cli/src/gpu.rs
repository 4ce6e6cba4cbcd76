// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gpu show`, `list gpus`, and the GPU that `--gpu` and `--set` ask for.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Map, Value, json};
use warpwatt_config::{
    Config, Error, GpuFile, PRESETS, Problem, apply, differences, listing, sha256, validate, values,
};

use crate::args::{ListArgs, ShowArgs};
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::table::Table;

/// The card that others are compared with.
const REFERENCE: &str = "gtx480";

/// The name and parameters of a built-in GPU or a GPU file, with settings applied.
pub fn resolve(gpu: &str, settings: &[String]) -> Result<(String, Config), Failure> {
    find(gpu, settings).map(|file| (file.name, file.config))
}

pub fn show(args: &ShowArgs, console: &Console) -> Result<Exit, Failure> {
    let file = find(&args.gpu, &args.set)?;
    if args.toml {
        // A file to edit: its copy is another GPU, with a name of its own.
        console.result(&GpuFile { name: String::new(), ..file }.to_toml(true));
    } else if let Some(path) = &args.json {
        write_json(path, &as_json(&file), console)?;
    } else {
        console.result(&table(&file));
    }
    Ok(Exit::Ok)
}

pub fn list(args: &ListArgs, console: &Console) -> Result<Exit, Failure> {
    let files: Vec<GpuFile> = PRESETS
        .iter()
        .map(|preset| GpuFile::preset(preset.name).map_err(|errors| failure(&errors)))
        .collect::<Result<_, _>>()?;
    if let Some(path) = &args.json {
        let one = |file: &GpuFile| {
            json!({
                "name": file.name,
                "description": file.description,
                "inherits": file.inherits,
                "sha256": sha256(&file.config),
            })
        };
        write_json(path, &json!({ "gpus": files.iter().map(one).collect::<Vec<_>>() }), console)?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&["gpu", "SMs", "MHz", "GFLOP/s", "GB/s", "L2 KB", "what it is"]).left(6);
    for GpuFile { name, description, config, .. } in files {
        table.row([
            name,
            config.gpu.sms.to_string(),
            config.clock.core_mhz.to_string(),
            (config.peak_flops() / 1_000_000_000).to_string(),
            tenths(config.dram_peak_bytes_per_second()),
            (config.l2_bytes() >> 10).to_string(),
            description,
        ]);
    }
    console.result(&table.render());
    console.summary(
        "\nAll parameters: `warpwatt gpu show NAME`. A file to edit: `warpwatt gpu show NAME --toml > my.toml`, then `--gpu my.toml`.\n",
    );
    Ok(Exit::Ok)
}

/// A GPU by name or file. What is not possible together is looked for once all settings are made.
fn find(gpu: &str, settings: &[String]) -> Result<GpuFile, Failure> {
    let mut file = read(gpu)?;
    let refused: Vec<Error> =
        settings.iter().filter_map(|setting| apply(&mut file.config, setting).err()).collect();
    if !refused.is_empty() {
        return Err(failure(&refused));
    }
    validate(&file.config).map_err(|errors| failure(&errors))?;
    Ok(file)
}

fn read(gpu: &str) -> Result<GpuFile, Failure> {
    if PRESETS.iter().any(|preset| preset.name == gpu) {
        return GpuFile::preset(gpu).map_err(|errors| failure(&errors));
    }
    let path = Path::new(gpu);
    let looks_like_a_file = gpu.ends_with(".toml") || gpu.contains(std::path::is_separator);
    if !looks_like_a_file && !path.exists() {
        let error = GpuFile::preset(gpu).err().and_then(|errors| errors.into_iter().next());
        let Some(Error { problem, .. }) = error else {
            return Err(Failure::usage(format!("there is no GPU `{gpu}`")));
        };
        let help = match &problem {
            Problem::UnknownPreset { nearest: Some(_), .. } => {
                format!("{} `warpwatt list gpus` shows all of them", problem.help())
            }
            _ => format!("{}; or give a TOML file", problem.help()),
        };
        return Err(Failure::usage(format!("{}, and no file of that name", problem.message())).help(help));
    }
    let bytes = std::fs::read(path).map_err(|error| Failure::io("read", path, &error))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::usage(format!("{gpu} is not a text file")).help("a GPU file is TOML in UTF-8")
    })?;
    GpuFile::read(&text, gpu).map_err(|errors| failure(&errors))
}

/// All that is wrong, in one message.
fn failure(errors: &[Error]) -> Failure {
    let place = |error: &Error| match &error.place {
        Some(place) => format!("{}:{}:{}: ", place.file, place.line, place.column),
        None => String::new(),
    };
    if let [error] = errors {
        return Failure::usage(place(error) + &error.problem.message()).help(error.problem.help());
    }
    let mut text = String::new();
    for error in errors {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = write!(
            text,
            "{gap}error: {}{}\nhelp: {}",
            place(error),
            error.problem.message(),
            error.problem.help()
        );
    }
    Failure::rendered(Exit::Usage, text)
}

fn write_json(path: &Path, document: &Value, console: &Console) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(document).map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
    write_result(path, &(text + "\n"), console)
}

fn as_json(file: &GpuFile) -> Value {
    let changed = differences(&Config::default(), &file.config);
    let all = values(&file.config);
    let changed: Map<_, _> = changed
        .iter()
        .map(|difference| (difference.parameter.key.to_owned(), all[difference.parameter.key].clone()))
        .collect();
    json!({
        "name": file.name,
        "description": file.description,
        "inherits": file.inherits,
        "sha256": sha256(&file.config),
        "differences": changed,
        "parameters": all,
    })
}

/// Every parameter by section, with the reference's value where that is another one.
fn table(file: &GpuFile) -> String {
    let GpuFile { name, description, config, .. } = file;
    let mut table = Table::new(&["parameter", "value", "unit", REFERENCE, "meaning"]).left(2).left(4);
    let reference = Config::default();
    for (parameter, ((_, value), (_, usual))) in
        Config::parameters().iter().zip(listing(config).into_iter().zip(listing(&reference)))
    {
        let usual = if usual == value { String::new() } else { usual };
        table.row([
            parameter.key.to_owned(),
            value,
            parameter.unit.to_owned(),
            usual,
            parameter.doc.to_owned(),
        ]);
    }
    let mut out = name.clone();
    if !description.is_empty() {
        let _ = write!(out, ": {description}");
    }
    let _ = write!(
        out,
        "\n{} SMs at {} MHz, {} GFLOP/s; {} memory partitions, {} KB of L2, {} GB/s\n\n",
        config.gpu.sms,
        config.clock.core_mhz,
        config.peak_flops() / 1_000_000_000,
        config.gpu.partitions,
        config.l2_bytes() >> 10,
        tenths(config.dram_peak_bytes_per_second()),
    );
    let rendered = table.render();
    let mut lines = rendered.lines();
    let _ = writeln!(out, "{}", lines.next().unwrap_or_default());
    let mut section = "";
    for (parameter, line) in Config::parameters().iter().zip(lines) {
        if parameter.section != section {
            section = parameter.section;
            let doc =
                Config::SECTIONS.iter().find(|known| known.key == section).map_or("", |known| known.doc);
            let _ = writeln!(out, "\n# {doc}");
        }
        let _ = writeln!(out, "{line}");
    }
    match differences(&reference, config).len() {
        0 => {}
        1 => out.push_str("\n1 parameter differs"),
        many => {
            let _ = write!(out, "\n{many} parameters differ");
        }
    }
    if *config != reference {
        let _ = writeln!(out, " from {REFERENCE}, whose values stand beside.");
    }
    out
}

/// Billions with one decimal.
fn tenths(number: u64) -> String {
    let tenths = (number + 50_000_000) / 100_000_000;
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_parameter_under_its_section() {
        let file = GpuFile::preset("gtx480-wc").expect("a preset");
        let text = table(&file);
        for (key, value) in listing(&file.config) {
            let mut lines = text.lines().filter(|line| line.split_whitespace().next() == Some(key));
            let line = lines.next().unwrap_or_else(|| panic!("{key}"));
            assert_eq!(line.split_whitespace().nth(1), Some(value.as_str()), "{line}");
            assert_eq!(lines.next(), None);
        }
        let core = text.lines().find(|line| line.starts_with("clock.core_mhz")).expect("the core clock");
        assert_eq!(core.split_whitespace().collect::<Vec<_>>()[1..4], ["1400", "MHz", "700"]);
        assert!(text.contains("\n# Shared memory.\nsm.shared.bytes"), "{text}");
    }

    #[test]
    fn settings_make_another_gpu_or_a_message() {
        let set = |settings: &[&str]| {
            let settings: Vec<_> = settings.iter().map(|text| (*text).to_owned()).collect();
            resolve("gtx580", &settings)
        };
        let (name, config) =
            set(&["sm.warps=32", "sm.onchip_bytes=128KB", "sm.shared.bytes=96KB"]).expect("legal");
        assert_eq!((name.as_str(), config.sm.warps, config.gpu.sms), ("gtx580", 32, 16));
        let refused = set(&["sm.wraps=32"]).expect_err("a misspelt key");
        assert_eq!(
            (refused.exit, refused.message.as_str()),
            (Exit::Usage, "there is no parameter `sm.wraps`")
        );
        assert_eq!(refused.help.as_deref(), Some("did you mean `sm.warps`?"));
        let both = set(&["sm.wraps=32", "gpu.sms=0"]).expect_err("two mistakes");
        assert_eq!(both.message.lines().count(), 4);
        assert!(set(&["dram.banks=12"]).expect_err("no power of two").message.contains("`dram.banks` is 12"));
    }

    #[test]
    fn a_gpu_that_is_neither_built_in_nor_a_file() {
        let refused = resolve("gtx408", &[]).expect_err("no such GPU");
        assert_eq!(refused.message, "there is no GPU `gtx408`, and no file of that name");
        assert!(refused.help.is_some_and(|help| help.starts_with("did you mean `gtx480`?")));
        assert_eq!(resolve("nowhere/my.toml", &[]).expect_err("no such file").exit, Exit::Io);
    }
}
