// SPDX-License-Identifier: MIT OR Apache-2.0
//! The source view: lines of CUDA with time, stalls and energy beside them, and the machine instructions of a line when it is opened.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::json;
use warpwatt_results::{Kernel, Line, LineEnergy, RunRecord};

use crate::html::{escape, meter, script_json};
use crate::number::{count, digits, joules, percent};

use super::compute::REASONS;
use super::scope::Scope;

/// Lines around one with work that are shown where not all of a file is.
const AROUND: u32 = 2;
/// A file with more lines is shown around its work only.
const MOST_LINES: usize = 1500;
/// Machine instructions that a page holds.
const MOST_INSTRUCTIONS: usize = 20_000;

/// What is known of a line.
#[derive(Default)]
struct Work<'a> {
    line: Option<&'a Line>,
    energy: Option<&'a LineEnergy>,
}

impl Work<'_> {
    fn stalled(&self) -> f64 {
        self.line
            .and_then(|line| line.stalls.as_ref())
            .map_or(0.0, |stalls| stalls.values().sum::<u64>() as f64)
    }

    fn issued(&self) -> f64 {
        self.line.map_or(0.0, |line| line.warp_instructions as f64)
    }

    fn is_empty(&self) -> bool {
        self.line.is_none() && self.energy.is_none()
    }
}

/// The share of time of a line.
type TimeShare<'a> = &'a dyn Fn(&Work) -> f64;

type Files<'a> = BTreeMap<&'a str, BTreeMap<u32, Work<'a>>>;

fn files<'a>(scope: &Scope<'a>) -> Files<'a> {
    let mut files = Files::new();
    for line in scope.lines {
        files.entry(&line.file).or_default().entry(line.line).or_default().line = Some(line);
    }
    for energy in scope.energy.iter().flat_map(|energy| &energy.per_line) {
        files.entry(&energy.file).or_default().entry(energy.line).or_default().energy = Some(energy);
    }
    files
}

/// Lines to show: all that have a text, or those around work.
fn shown(texts: Option<&BTreeMap<u32, String>>, work: &BTreeMap<u32, Work>) -> Vec<u32> {
    let numbered: Vec<u32> = texts.map(|texts| texts.keys().copied().collect()).unwrap_or_default();
    let near =
        |line: u32| work.range(line.saturating_sub(AROUND)..=line.saturating_add(AROUND)).next().is_some();
    let all = numbered.len() <= MOST_LINES;
    let mut lines: Vec<u32> = numbered.into_iter().filter(|line| all || near(*line)).collect();
    lines.extend(work.keys());
    lines.sort_unstable();
    lines.dedup();
    lines
}

pub fn html(scope: &Scope, record: &RunRecord) -> String {
    let files = files(scope);
    if files.is_empty() {
        return "<p class=empty>There are no source lines.</p>".to_owned();
    }
    let all = || files.values().flat_map(BTreeMap::values);
    let most = |of: &dyn Fn(&Work) -> f64| all().map(of).fold(0.0, f64::max);
    let slots = scope.slots();
    let time = move |work: &Work| match (work.energy, slots) {
        (Some(energy), _) => energy.time_share,
        (None, Some(slots)) => (work.issued() + work.stalled()) / slots,
        // A functional run: by instructions.
        (None, None) => work.issued() / (scope.warp_instructions.max(1) as f64),
    };
    let spent = |work: &Work| work.energy.map_or(0.0, |energy| energy.energy_j);
    let most = [most(&time), most(&|work| work.stalled()), most(&spent)];
    let total = scope.energy.map_or(f64::NAN, |energy| energy.total_j);
    let mut out = String::new();
    let _ = write!(
        out,
        "<div class=tools><fieldset data-shade=\"{0}-src\"><legend>Shade lines by</legend>\
         <label><input type=radio name=\"{0}-shade\" value=t checked> time</label> <label><input type=radio name=\"{0}-shade\" value=s> stalls</label> \
         <label><input type=radio name=\"{0}-shade\" value=e> energy</label></fieldset><span class=legend>Stalls: ",
        scope.id
    );
    for (name, _, class) in &REASONS[..8] {
        let _ = write!(out, "<span class=key><i class=\"{class}\"></i>{name}</span> ");
    }
    out += "</span></div>";
    let _ = write!(out, "<div id=\"{}-src\">", scope.id);
    for (place, (file, work)) in files.iter().enumerate() {
        let texts = record.sources.get(*file);
        let id = format!("{}-src-{place}", scope.id);
        let _ = write!(
            out,
            "<h5 class=file>{}</h5><div class=\"scroll source\" tabindex=0 role=region aria-label=\"Source {0}\"><table class=\"sortable src\" id=\"{id}\" data-file=\"{0}\">\
             <caption>Source lines of {0}</caption><thead><tr><th scope=col class=n><button type=button>line</button></th><th scope=col><button type=button>source</button></th>\
             <th scope=col class=n title=\"share of all issue slots in which the line issued or stalled\"><button type=button>time</button></th><th scope=col class=n title=\"warp instructions\"><button type=button>issued</button></th>\
             <th scope=col class=n title=\"lanes of an instruction\"><button type=button>lanes</button></th><th scope=col class=n title=\"issue slots lost to stalls\"><button type=button>stalls</button></th>\
             <th scope=col class=n><button type=button>energy</button></th></tr></thead><tbody>",
            escape(file)
        );
        let lines = shown(texts, work);
        let mut before = None::<u32>;
        for line in lines {
            if before.is_some_and(|before| before + 1 < line) && line > 0 {
                out += "<tr class=gap><td class=n data-v=\"\"></td><td colspan=6>⋯</td></tr>";
            }
            before = Some(line);
            let text = texts.and_then(|texts| texts.get(&line)).map_or("", String::as_str);
            row(&mut out, (&id, line), text, work.get(&line), (&time, most), total);
        }
        out += "</tbody></table></div>";
    }
    out += "</div>";
    if let Some(energy) = scope.energy {
        let _ = write!(
            out,
            "<p class=note>{} ({}) belong to no line: mostly time without a resident warp.</p>",
            joules(energy.unattributed_j),
            percent(energy.unattributed_j / energy.total_j)
        );
    }
    out + &instructions(scope, record)
}

fn row(
    out: &mut String,
    (id, line): (&str, u32),
    text: &str,
    work: Option<&Work>,
    (time, most): (TimeShare, [f64; 3]),
    total: f64,
) {
    let number = if line == 0 { "–".to_owned() } else { line.to_string() };
    let code = highlight(text);
    let Some(work) = work.filter(|work| !work.is_empty()) else {
        let _ = write!(
            out,
            "<tr><td class=n data-v=\"{line}\">{number}</td><td class=code data-v=\"\">{code}</td><td class=n data-v=\"0\"></td><td class=n data-v=\"0\"></td><td class=n data-v=\"0\"></td><td class=n data-v=\"0\"></td><td class=n data-v=\"0\"></td></tr>"
        );
        return;
    };
    let (share, stalled, spent) = (time(work), work.stalled(), work.energy.map(|energy| energy.energy_j));
    let heat = |value: f64, most: f64| {
        if most > 0.0 && value.is_finite() { (value / most).clamp(0.0, 1.0) } else { 0.0 }
    };
    let heats = [heat(share, most[0]), heat(stalled, most[1]), heat(spent.unwrap_or_default(), most[2])];
    let lanes = work
        .line
        .filter(|line| line.warp_instructions > 0)
        .map(|line| line.thread_instructions as f64 / line.warp_instructions as f64);
    let _ = write!(
        out,
        "<tr class=hot id=\"{id}-{line}\" style=\"--t:{:.3};--s:{:.3};--e:{:.3}\"><td class=n data-v=\"{line}\"><button type=button class=open data-line={line} aria-expanded=false title=\"Machine instructions of this line\">{number}</button></td>\
         <td class=code>{code}</td><td class=n data-v=\"{share}\">{}</td><td class=n data-v=\"{}\">{}</td><td class=n data-v=\"{}\">{}</td><td class=n data-v=\"{stalled}\">{}</td><td class=n data-v=\"{}\">{}</td></tr>",
        heats[0],
        heats[1],
        heats[2],
        meter(heats[0], &percent(share), "time"),
        work.issued(),
        count(work.issued()),
        lanes.unwrap_or_default(),
        lanes.map_or(String::new(), |lanes| digits(lanes, 3)),
        stall_bar(work, most[1]),
        spent.unwrap_or_default(),
        spent.map_or(String::new(), |spent| meter(
            heats[2],
            &format!("{}, {}", joules(spent), percent(spent / total)),
            "joules"
        )),
    );
}

/// A bar of a line's stalls by reason.
fn stall_bar(work: &Work, most: f64) -> String {
    let Some(stalls) = work.line.and_then(|line| line.stalls.as_ref()).filter(|stalls| !stalls.is_empty())
    else {
        return String::new();
    };
    let sum = work.stalled();
    let description: Vec<_> =
        stalls.iter().map(|(reason, cycles)| format!("{reason} {}", count(*cycles as f64))).collect();
    let mut out = format!(
        "<span class=stack title=\"{}\"><span class=bars style=\"width:{:.1}%\">",
        escape(&description.join(", ")),
        if most > 0.0 { sum / most * 100.0 } else { 0.0 }
    );
    for (reason, cycles) in stalls {
        let class = REASONS.iter().find(|(name, ..)| name == reason).map_or("c7", |(.., class)| class);
        let _ = write!(out, "<i class=\"{class}\" style=\"flex:{cycles}\"></i>");
    }
    out + &format!("</span><span>{}</span></span>", count(sum))
}

/// Machine instructions by file and line, for lines that are opened. They are those of launches in detail, one for each kernel.
fn instructions(scope: &Scope, record: &RunRecord) -> String {
    let mut seen = Vec::<&str>::new();
    let mut found = serde_json::Map::new();
    let mut number = 0;
    let all: Vec<&Kernel> = match scope.kernel {
        Some(kernel) => vec![kernel],
        None => record.kernels.iter().collect(),
    };
    for kernel in all {
        let Some(energy) = &kernel.energy else { continue };
        let Some(columns) = &energy.per_instruction else { continue };
        if seen.contains(&kernel.name.as_str()) {
            continue;
        }
        seen.push(&kernel.name);
        for place in 0..columns.pc.len() {
            let (Some(line), true) = (
                columns.line.get(place).and_then(|line| energy.per_line.get(*line as usize)),
                number < MOST_INSTRUCTIONS,
            ) else {
                continue;
            };
            number += 1;
            let entry = json!([
                columns.pc[place],
                columns.op.get(place),
                columns.issues.get(place),
                columns.energy_j.get(place).map(|value| joules(*value)),
                kernel.index
            ]);
            let list = found.entry(format!("{}:{}", line.file, line.line)).or_insert_with(|| json!([]));
            if let Some(list) = list.as_array_mut() {
                list.push(entry);
            }
        }
    }
    format!(
        "<script type=\"application/json\" data-instructions=\"{}-src\">{}</script>",
        scope.id,
        script_json(&found.into())
    )
}

/// Comments, strings, numbers and words of CUDA, marked.
fn highlight(text: &str) -> String {
    const WORDS: [&str; 34] = [
        "__global__",
        "__device__",
        "__shared__",
        "__constant__",
        "__restrict__",
        "__syncthreads",
        "extern",
        "const",
        "static",
        "unsigned",
        "int",
        "float",
        "double",
        "void",
        "char",
        "short",
        "long",
        "bool",
        "if",
        "else",
        "for",
        "while",
        "do",
        "return",
        "break",
        "continue",
        "struct",
        "template",
        "typename",
        "inline",
        "blockIdx",
        "threadIdx",
        "blockDim",
        "gridDim",
    ];
    let mut out = String::new();
    let letters: Vec<char> = text.chars().collect();
    let mut at = 0;
    let part = |from: usize, to: usize| letters[from..to].iter().collect::<String>();
    while at < letters.len() {
        let rest = |next: char| letters.get(at + 1) == Some(&next);
        let (end, class) = match letters[at] {
            '/' if rest('/') => (letters.len(), "k-c"),
            '/' if rest('*') => {
                let close = (at + 2..letters.len())
                    .find(|place| letters[*place - 1] == '*' && letters[*place] == '/' && *place > at + 2);
                (close.map_or(letters.len(), |place| place + 1), "k-c")
            }
            quote @ ('"' | '\'') => {
                let close = (at + 1..letters.len())
                    .find(|place| letters[*place] == quote && letters[*place - 1] != '\\');
                (close.map_or(letters.len(), |place| place + 1), "k-s")
            }
            letter if letter.is_ascii_alphabetic() || letter == '_' => {
                let end = (at..letters.len())
                    .find(|place| !letters[*place].is_ascii_alphanumeric() && letters[*place] != '_')
                    .unwrap_or(letters.len());
                (end, if WORDS.contains(&part(at, end).as_str()) { "k-w" } else { "" })
            }
            letter if letter.is_ascii_digit() => {
                let end = (at..letters.len())
                    .find(|place| !letters[*place].is_ascii_alphanumeric() && letters[*place] != '.')
                    .unwrap_or(letters.len());
                (end, "k-n")
            }
            _ => (at + 1, ""),
        };
        let piece = escape(&part(at, end));
        match class {
            "" => out.push_str(&piece),
            class => drop(write!(out, "<span class={class}>{piece}</span>")),
        }
        at = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays_the_same_text() {
        let cases = [
            "",
            "int x = a<b ? 1.5f : \"</b>\"[0]; // it's & done",
            "/* a */ y /* open",
            "'\\'' + 'x",
            "α＜β",
        ];
        for text in cases {
            let marked = highlight(text);
            let mut plain = String::new();
            let mut inside = false;
            for letter in marked.chars() {
                match letter {
                    '<' => inside = true,
                    '>' => inside = false,
                    other if !inside => plain.push(other),
                    _ => {}
                }
            }
            assert_eq!(plain, escape(text), "{marked}");
        }
    }

    #[test]
    fn lines_without_text_are_shown_and_long_files_around_work_only() {
        let work = BTreeMap::from([(10, Work::default()), (5000, Work::default())]);
        assert_eq!(shown(None, &work), [10, 5000]);
        let texts: BTreeMap<u32, String> = (1..=20_000).map(|line| (line, String::new())).collect();
        assert_eq!(shown(Some(&texts), &work), [8, 9, 10, 11, 12, 4998, 4999, 5000, 5001, 5002]);
    }
}
