// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy on the command line: which technology it is computed with, and the table that `--energy` prints.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use warpwatt_config::Config;
use warpwatt_energy::{DEFAULT, Error, Problem, TECHNOLOGIES, Technology};
use warpwatt_record::{Energies, TechnologyFile};
use warpwatt_results::{Distribution, Energy, LineEnergy, RunRecord, Shares, Silicon};
use warpwatt_runtime::Techniques;

use crate::args::ListArgs;
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::summary::Texts;
use crate::table::{Table, paragraph, shortened};

/// Lines of the source, and kinds of operation, that are shown.
const SHOWN: usize = 10;
/// Characters of a source line that are shown.
const TEXT: usize = 60;

/// A technology that energy is computed with, for a GPU and its techniques.
pub struct Chosen {
    pub file: TechnologyFile,
    pub name: String,
    pub energies: Arc<Energies>,
}

/// The technology of a text.
pub fn choose(file: TechnologyFile, config: &Config, techniques: &Techniques) -> Result<Chosen, Failure> {
    let technology = parsed(&file)?;
    let energies = Energies::new(&technology, config, techniques).map_err(|errors| failure(&errors))?;
    Ok(Chosen { name: technology.name.clone(), energies: Arc::new(energies), file })
}

/// The technology of a file. The last one is remembered: the points of a sweep ask for the same one thousands of times, and reading it is half of what it takes
/// to make a GPU ready.
fn parsed(file: &TechnologyFile) -> Result<Arc<Technology>, Failure> {
    type Last = Option<(String, String, Arc<Technology>)>;
    static LAST: Mutex<Last> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((name, text, technology)) = &*last
        && (name, text) == (&file.name, &file.text)
    {
        return Ok(technology.clone());
    }
    let technology = Technology::read(&file.text, &file.name).map_err(|errors| failure(&errors))?;
    let technology = Arc::new(technology);
    *last = Some((file.name.clone(), file.text.clone(), technology.clone()));
    Ok(technology)
}

/// A built-in technology, or that of a file.
pub fn read(name: &str) -> Result<TechnologyFile, Failure> {
    if let Some(builtin) = TECHNOLOGIES.iter().find(|technology| technology.name == name) {
        return Ok(TechnologyFile { name: name.to_owned(), text: builtin.text.to_owned() });
    }
    let path = Path::new(name);
    let looks_like_a_file = name.ends_with(".toml") || name.contains(std::path::is_separator);
    if !looks_like_a_file && !path.exists() {
        let error = Technology::builtin(name).err().and_then(|errors| errors.into_iter().next());
        let Some(Error { problem, .. }) = error else {
            return Err(Failure::usage(format!("there is no technology `{name}`")));
        };
        let help = match &problem {
            Problem::UnknownTechnology { nearest: Some(_), .. } => {
                format!("{} `warpwatt list technologies` shows all of them", problem.help())
            }
            _ => format!("{}; or give a TOML file", problem.help()),
        };
        return Err(Failure::usage(format!("{}, and no file of that name", problem.message())).help(help));
    }
    let bytes = std::fs::read(path).map_err(|error| Failure::io("read", path, &error))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::usage(format!("{name} is not a text file")).help("a technology file is TOML in UTF-8")
    })?;
    Ok(TechnologyFile { name: name.to_owned(), text })
}

/// All that is wrong with a technology, a line each.
pub fn failure(errors: &[Error]) -> Failure {
    match errors {
        [error] => {
            let place = error.place.as_ref();
            let place = place.map_or(String::new(), |at| format!("{}:{}:{}: ", at.file, at.line, at.column));
            Failure::usage(format!("{place}{}", error.problem.message())).help(error.problem.help())
        }
        errors => {
            let lines: Vec<_> = errors.iter().map(|error| format!("\n  {error}")).collect();
            Failure::usage(format!("the technology cannot be used:{}", lines.concat()))
        }
    }
}

/// `list technologies`.
pub fn list(args: &ListArgs, console: &Console) -> Result<Exit, Failure> {
    if let Some(name) = &args.show {
        console.result(&read(name)?.text);
        return Ok(Exit::Ok);
    }
    let all = TECHNOLOGIES.iter().map(|builtin| Technology::builtin(builtin.name));
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(|errors| failure(&errors))?;
    if let Some(path) = &args.json {
        let one = |technology: &Technology| {
            let structures: Vec<_> =
                technology.structures.iter().map(|(_, structure)| &*structure.name.value).collect();
            json!({
                "name": technology.name,
                "description": technology.description,
                "inherits": technology.inherits,
                "structures": structures,
            })
        };
        let document = json!({ "technologies": all.iter().map(one).collect::<Vec<_>>() });
        let text = serde_json::to_string_pretty(&document)
            .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
        write_result(path, &(text + "\n"), console)?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&["technology", "structures", "description"]).wrap_last();
    for technology in &all {
        let count = technology.structures.len().to_string();
        table.row([technology.name.clone(), count, technology.description.clone()]);
    }
    console.result(&table.render());
    let hint = format!(
        "{DEFAULT} is the default; `--technology` selects another. `--show NAME` prints a file to start from; docs/energy.md describes the format."
    );
    console.summary(&format!("\n{}", paragraph(&hint, 0)));
    Ok(Exit::Ok)
}

/// One line about the whole run.
pub fn headline(record: &RunRecord) -> Option<String> {
    let energy = record.energy.as_ref()?;
    let technology = record.inputs.technology.as_deref().unwrap_or_default();
    Some(format!("energy {} at {} ({technology})\n", joules(energy.total_j), watts(energy.average_w)))
}

/// Where the energy of a run went.
pub fn table(record: &RunRecord, texts: &Texts) -> Option<String> {
    let energy = record.energy.as_ref()?;
    let mut out = format!("\n{}", headline(record)?);
    out += &format!("energy-delay {:.4e} J s, energy-delay^2 {:.4e} J s^2\n", energy.edp_js, energy.ed2p_js2);
    out += &energy.silicon.as_ref().map_or(String::new(), silicon);
    out += &format!("\n{}", components(energy));
    let timed = record.by_kernel.iter().filter(|group| group.energy.is_some());
    if timed.map(|group| group.launches).sum::<u64>() > 1 {
        out += &format!("\n{}", kernels(record));
    }
    out += &format!("\nenergy by kind of instruction, memory accesses included\n\n{}", classes(energy));
    out += &format!("\nenergy by source line (time: share of issue slots)\n\n{}", lines(energy, texts));
    let unattributed = format!(
        "{} is not attributed to lines: power while schedulers had no warps, and activity that no instruction caused",
        percent(energy.unattributed_j, energy.total_j)
    );
    out += &format!("\n{}", paragraph(&unattributed, 0));
    Some(out)
}

fn components(energy: &Energy) -> String {
    let seconds = if energy.average_w > 0.0 { energy.total_j / energy.average_w } else { 0.0 };
    let power = |joules: f64| if seconds > 0.0 { watts(joules / seconds) } else { watts(0.0) };
    let mut table = Table::new(&[
        "component",
        "dynamic",
        "static",
        "total",
        "power",
        "share",
        "on chip",
        "with warps",
        "both",
    ])
    .optional(4)
    .optional(6)
    .optional(7)
    .optional(8);
    let mut row = |name: &str, dynamic: f64, static_: f64, shares: Option<Shares>| {
        let total = dynamic + static_;
        let share = |of: fn(Shares) -> f64| shares.map_or(String::new(), |shares| percent(of(shares), 1.0));
        table.row([
            name.to_owned(),
            joules(dynamic),
            joules(static_),
            joules(total),
            power(total),
            if shares.is_some() { share(|shares| shares.all) } else { percent(total, energy.total_j) },
            share(|shares| shares.on_chip),
            share(|shares| shares.with_warps),
            share(|shares| shares.with_warps_on_chip),
        ]);
    };
    let known = builtin_structures();
    for part in &energy.components {
        row(&part.name, part.dynamic_j, part.static_j, Some(part.shares));
        let structures = energy.structures.iter().filter(|structure| structure.component == part.name);
        // Structures of the user's own technology file, unless they are all of their component.
        if structures.clone().count() > 1 {
            for own in structures.filter(|structure| !known.contains(&structure.name)) {
                row(&format!("  {}", own.name), own.dynamic_j, own.static_j, None);
            }
        }
    }
    let whole =
        Shares { all: 1.0, on_chip: 1.0, with_warps: 1.0, with_warps_on_chip: 1.0, dynamic_on_chip: 1.0 };
    row("total", energy.dynamic_j, energy.static_j, Some(whole));
    let legend = format!(
        "share: of the total; on chip: without memory chips and their interface; with warps: of the energy in the {} of time in which SMs had warps; both: on chip and with warps",
        percent(energy.with_warps_share, 1.0)
    );
    format!("{}\n{}", table.render(), paragraph(&legend, 0))
}

/// Names of the structures that built-in technologies declare.
fn builtin_structures() -> BTreeSet<String> {
    let technologies = TECHNOLOGIES.iter().filter_map(|builtin| Technology::builtin(builtin.name).ok());
    technologies
        .flat_map(|technology| technology.structures)
        .map(|(_, own)| own.name.value.into_owned())
        .collect()
}

/// What the energy was worked out for, in a line.
fn silicon(silicon: &Silicon) -> String {
    let volts = silicon.volts.iter().map(|(clock, volts)| format!("{volts:.3} V for {clock}"));
    let volts: Vec<_> = volts.collect();
    let die = silicon.die_mm2.map_or(String::new(), |area| format!(", die of {area:.0} mm2"));
    paragraph(&format!("silicon: {} nm, {} K, {}{die}", silicon.node_nm, silicon.kelvin, volts.join(", ")), 0)
}

/// By kernel, in order of first launch.
fn kernels(record: &RunRecord) -> String {
    let mut table = Table::new(&["kernel", "launches", "energy", "power", "least", "median", "most"]).cut(0);
    for group in &record.by_kernel {
        let Some(energy) = &group.energy else { continue };
        let spread = group.distributions.get("energy_j");
        let of =
            |value: fn(&Distribution) -> f64| spread.map_or(String::new(), |spread| joules(value(spread)));
        table.row([
            shortened(&group.demangled, 60),
            group.launches.to_string(),
            joules(energy.total_j),
            watts(energy.average_w),
            of(|spread| spread.min),
            of(|spread| spread.median),
            of(|spread| spread.max),
        ]);
    }
    table.render()
}

fn classes(energy: &Energy) -> String {
    let mut order: Vec<_> = energy.per_class.iter().collect();
    order.sort_by(|a, b| b.energy_j.total_cmp(&a.energy_j));
    let mut table = Table::new(&["kind", "instructions", "energy", "share", "each"]);
    for class in order.into_iter().take(SHOWN) {
        table.row([
            class.name.clone(),
            crate::table::grouped(class.warp_instructions),
            joules(class.energy_j),
            percent(class.energy_j, energy.total_j),
            joules(class.energy_j / (class.warp_instructions.max(1) as f64)),
        ]);
    }
    table.render()
}

fn lines(energy: &Energy, texts: &Texts) -> String {
    let mut order: Vec<&LineEnergy> = energy.per_line.iter().collect();
    // Instructions without a line come last, as in the table of issue slots.
    order.sort_by(|a, b| (a.line == 0).cmp(&(b.line == 0)).then(b.energy_j.total_cmp(&a.energy_j)));
    let (lines, rest) = order.split_at(order.partition_point(|line| line.line != 0));
    let mut table = Table::new(&["line", "energy", "share", "dynamic", "time", ""]).left(5).cut(5);
    for line in lines.iter().take(SHOWN).chain(rest) {
        let file = line.file.rsplit(['/', '\\']).next().unwrap_or(&line.file);
        let text = texts.get(&(line.file.clone(), line.line)).map_or("", String::as_str);
        table.row([
            match line.line {
                0 => format!("{file}, no line"),
                number => format!("{file}:{number}"),
            },
            joules(line.energy_j),
            percent(line.energy_j, energy.total_j),
            joules(line.dynamic_j),
            percent(line.time_share, 1.0),
            shortened(text, TEXT),
        ]);
    }
    table.render()
}

/// Joules in the unit that suits them.
pub fn joules(value: f64) -> String {
    let units = [(1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"), (1e-9, "nJ"), (1e-12, "pJ")];
    let unit = units.iter().find(|(size, _)| value.abs() >= *size);
    match unit {
        Some((size, name)) => format!("{:.2} {name}", value / size),
        None => "0".to_owned(),
    }
}

pub fn watts(value: f64) -> String {
    format!("{value:.2} W")
}

fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", part * 100.0 / whole) } else { "-".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energies_are_in_a_unit_that_suits_them() {
        assert_eq!(joules(0.0), "0");
        assert_eq!(joules(1.5), "1.50 J");
        assert_eq!(joules(2.346e-3), "2.35 mJ");
        assert_eq!(joules(99e-12), "99.00 pJ");
        assert_eq!(percent(1.0, 0.0), "-");
    }

    #[test]
    fn unknown_technologies_are_named_with_what_was_meant() {
        let (config, none) = (Config::default(), Techniques::default());
        let said = read("wc54").err().map(|failure| (failure.message, failure.help));
        let (message, help) = said.unwrap_or_default();
        assert!(message.contains("there is no technology `wc54`"), "{message}");
        assert!(help.unwrap_or_default().contains("did you mean `wc45`?"));
        let usual = read(DEFAULT).and_then(|file| choose(file, &config, &none));
        assert!(usual.is_ok());
    }
}
