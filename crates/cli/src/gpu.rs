// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gpu show`, `list gpus`, and the GPU that `--gpu` and `--set` select.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Map, Value, json};
use warpwatt_config::{
    Config, Error, GpuFile, PRESETS, Problem, Reason, apply, apply_all, differences, listing, sha256,
    validate, values,
};

use warpwatt_runtime::Techniques;

use crate::args::{GpuArgs, ListArgs, ShowArgs};
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure, UsageProblem};
use crate::table::{Table, paragraph};
use crate::technique;

/// The card that others are compared with.
const REFERENCE: &str = "gtx480";

/// A GPU to be timed.
pub struct Machine {
    pub name: String,
    pub config: Config,
    pub techniques: Techniques,
}

impl Machine {
    /// A built-in GPU or a GPU file, with settings and techniques. All problems with these are reported together.
    pub fn new(args: &GpuArgs) -> Result<Machine, Failure> {
        match args.gpu.as_deref().unwrap_or(REFERENCE) {
            // Its values are the defaults: its file, whose reading every run would pay for, adds only the reasons for them.
            REFERENCE => Machine::with(REFERENCE.to_owned(), Config::default(), args),
            gpu => Machine::of(read(gpu)?, args),
        }
    }

    /// A GPU that was read, with settings and techniques; the GPU of `args` is ignored.
    pub fn of(file: GpuFile, args: &GpuArgs) -> Result<Machine, Failure> {
        Machine::with(file.name, file.config, args)
    }

    fn with(name: String, mut config: Config, args: &GpuArgs) -> Result<Machine, Failure> {
        let own = args.set.iter().map(String::as_str).filter(|setting| technique::setting(setting).is_none());
        let mut refused: Vec<_> = apply_all(&mut config, own).into_iter().map(usage_problem).collect();
        let techniques = technique::choose(args, &mut refused);
        if refused.is_empty() {
            refused.extend(validate(&config).err().unwrap_or_default().into_iter().map(usage_problem));
            technique::check(&techniques, &config, &mut refused);
        }
        if refused.is_empty() {
            Ok(Machine { name, config, techniques })
        } else {
            Err(Failure::several(refused))
        }
    }
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
    let mut table = Table::new(&["gpu", "SMs", "MHz", "GFLOP/s", "GB/s", "L2 KB", "description"]).wrap_last();
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
    let hint = "`warpwatt gpu show NAME` shows all parameters; `warpwatt gpu show NAME --toml > my.toml` writes a file to edit, for `--gpu my.toml`.";
    console.summary(&format!("\n{}", paragraph(hint, 0)));
    Ok(Exit::Ok)
}

/// A GPU by name or file. Combinations are checked once all settings are applied.
fn find(gpu: &str, settings: &[String]) -> Result<GpuFile, Failure> {
    let mut file = read(gpu)?;
    let (techniques, own): (Vec<_>, Vec<_>) =
        settings.iter().map(String::as_str).partition(|setting| technique::setting(setting).is_some());
    for setting in &own {
        // The reason belongs to the previous value.
        file.reasons.remove(setting.split('=').next().unwrap_or_default().trim());
    }
    let about_techniques = techniques.into_iter().map(|setting| UsageProblem {
        message: format!("`{setting}` is a setting of a technique, not of a GPU"),
        help: "give it to `run`, `exec` or `bench`; `warpwatt list techniques --show NAME` shows a technique"
            .to_owned(),
    });
    let refused: Vec<_> =
        about_techniques.chain(apply_all(&mut file.config, own).into_iter().map(usage_problem)).collect();
    if !refused.is_empty() {
        return Err(Failure::several(refused));
    }
    validate(&file.config).map_err(|errors| failure(&errors))?;
    Ok(file)
}

/// A built-in GPU, or that of a file.
pub fn read(gpu: &str) -> Result<GpuFile, Failure> {
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
    let load = |path: &str| std::fs::read_to_string(path).map_err(|error| error.to_string());
    GpuFile::read_with(&text, gpu, &load).map_err(|errors| failure(&errors))
}

/// All that is wrong, in one message.
pub fn failure(errors: &[Error]) -> Failure {
    Failure::several(errors.iter().cloned().map(usage_problem).collect())
}

/// Applies a setting, or returns its problem.
pub fn apply_told(config: &mut Config, setting: &str) -> Result<(), UsageProblem> {
    apply(config, setting).map_err(usage_problem)
}

fn usage_problem(error: Error) -> UsageProblem {
    let place = match &error.place {
        Some(place) => format!("{}:{}:{}: ", place.file, place.line, place.column),
        None => String::new(),
    };
    UsageProblem { message: place + &error.problem.message(), help: error.problem.help() }
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
    let reason = |(key, reason): (&&str, &Reason)| {
        let Reason { basis, text, gpu } = reason;
        ((*key).to_owned(), json!({ "basis": basis.name(), "text": text, "gpu": gpu }))
    };
    json!({
        "name": file.name,
        "description": file.description,
        "inherits": file.inherits,
        "rest": file.rest,
        "reasons": file.reasons.iter().map(reason).collect::<Map<_, _>>(),
        "sha256": sha256(&file.config),
        "differences": changed,
        "parameters": all,
    })
}

/// Every parameter by section, with the reference's value where that is another one, and under it what the value rests on.
fn table(file: &GpuFile) -> String {
    let GpuFile { name, description, config, .. } = file;
    let mut table = Table::new(&["parameter", "value", "unit", REFERENCE, "meaning"]).left(2).wrap_last();
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
    let rows = table.render_rows();
    out += &rows[0];
    let mut section = "";
    for (parameter, line) in Config::parameters().iter().zip(&rows[1..]) {
        if parameter.section != section {
            section = parameter.section;
            let doc =
                Config::SECTIONS.iter().find(|known| known.key == section).map_or("", |known| known.doc);
            out += &format!("\n{}", paragraph(&format!("# {doc}"), 0));
        }
        out += line;
        if let Some(reason) = file.reasons.get(parameter.key) {
            out += &paragraph(&format!("{}: {reason}", reason.gpu), 4);
        }
    }
    if let Some(rest) = &file.rest {
        let text = format!("Parameters that {name} does not list are those of {}: {rest}.", file.inherits);
        out += &format!("\n{}", paragraph(&text, 0));
    }
    match differences(&reference, config).len() {
        0 => {}
        1 => out.push_str("\n1 parameter differs"),
        many => {
            let _ = write!(out, "\n{many} parameters differ");
        }
    }
    if *config != reference {
        let _ = writeln!(out, " from {REFERENCE}, whose values are listed beside them.");
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

    fn machine(gpu: &str, set: &[&str], with: &[&str]) -> Result<Machine, Failure> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let args =
            GpuArgs { gpu: Some(gpu.to_owned()), set: owned(set), with: owned(with), ..GpuArgs::default() };
        Machine::new(&args)
    }

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
        assert!(text.contains("\n    gtx480-wc: Table 2: 1.4 GHz"), "{text}");
        assert!(text.contains("\n    gtx480-gpgpusim: simulator: none; 1 is the least here\n"), "{text}");
        let changed = table(&find("gtx480-wc", &["clock.core_mhz=1000".to_owned()]).expect("legal"));
        assert!(!changed.contains("Table 2: 1.4 GHz"), "{changed}");
    }

    #[test]
    fn settings_make_another_gpu_or_a_message() {
        let set = |settings: &[&str]| machine("gtx580", settings, &[]);
        let Machine { name, config, techniques } =
            set(&["sm.warps=32", "sm.onchip_bytes=128KB", "sm.shared.bytes=96KB"]).expect("legal");
        assert_eq!((name.as_str(), config.sm.warps, config.gpu.sms), ("gtx580", 32, 16));
        assert!(techniques.is_empty());
        let refused = set(&["sm.wraps=32"]).err().expect("a misspelt key");
        assert_eq!(
            (refused.exit, refused.message.as_str()),
            (Exit::Usage, "there is no parameter `sm.wraps`")
        );
        assert_eq!(refused.help.as_deref(), Some("did you mean `sm.warps`?"));
        let both = set(&["sm.wraps=32", "gpu.sms=0"]).err().expect("two mistakes");
        assert_eq!(both.message.lines().count(), 4);
        let refused = set(&["dram.banks=12"]).err().expect("no power of two");
        assert!(refused.message.contains("`dram.banks` is 12"));
    }

    #[test]
    fn a_gpu_that_is_neither_built_in_nor_a_file() {
        let refused = machine("gtx408", &[], &[]).err().expect("no such GPU");
        assert_eq!(refused.message, "there is no GPU `gtx408`, and no file of that name");
        assert!(refused.help.is_some_and(|help| help.starts_with("did you mean `gtx480`?")));
        assert_eq!(machine("nowhere/my.toml", &[], &[]).err().expect("no such file").exit, Exit::Io);
    }

    #[test]
    fn mistakes_about_the_gpu_and_about_techniques_are_told_together() {
        let set = ["sm.wraps=32", "technique.warped-compression.gatin=off"];
        let refused = machine("gtx480", &set, &["worped-compression"]).err().expect("three mistakes");
        for words in ["`sm.wraps`", "did you mean `gating`?", "did you mean `warped-compression`?"] {
            assert!(refused.message.contains(words), "{}", refused.message);
        }
        let both = machine("gtx480", &["dram.banks=12", "sm.rf.sub_banks=4"], &["warped-compression"]);
        let both = both.err().expect("two that are not possible").message;
        assert!(both.contains("`dram.banks` is 12") && both.contains("`sm.rf.sub_banks` is 4"), "{both}");
        assert!(find("gtx480", &["technique.warped-compression.gating=off".to_owned()]).is_err());
    }
}
