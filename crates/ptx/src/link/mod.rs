// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several PTX texts as one, as `nvlink` and the driver's `cuLink` functions do with machine code (PTX ISA, "Linking Directives").
//!
//! Texts are joined as they were written, but for what has to change: there is one header, `.extern` declarations whose
//! definition is in another text are gone, of several `.weak` or `.common` definitions one is left, private names that clash are
//! renamed, and files are numbered anew. Debugging sections, which hold offsets into themselves, are left out.

mod edit;
mod split;
mod symbols;

use std::fmt::Write;

use crate::ast::Module;
use crate::diagnostic::{Diagnostic, Severity, line_col};
use crate::parser::parse;

/// One text of those to be linked.
struct Unit<'a> {
    name: &'a str,
    text: &'a str,
    module: Module,
    pieces: Vec<split::Piece>,
}

impl Unit<'_> {
    /// "name:line" of a place.
    fn place(&self, span: warpwatt_base::Span) -> String {
        format!("{}:{}", self.name, line_col(self.text, span).0)
    }
}

/// One PTX text that does what the given ones, each a name and its text, do together. A single text is returned unchanged.
///
/// An error's span is in the text that its message names. Errors inside of functions are none here: the function's kernels are
/// refused when they are launched, as without linking.
pub fn link(texts: &[(&str, &str)]) -> Result<String, Vec<Diagnostic>> {
    if let [(_, text)] = texts {
        return Ok((*text).to_owned());
    }
    let mut errors = Vec::new();
    let units: Vec<Unit> = texts.iter().map(|&(name, text)| unit(name, text, &mut errors)).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let header = header(&units, &mut errors);
    let plan = symbols::resolve(&units, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut files = edit::Files::default();
    let bodies: Vec<String> =
        units.iter().zip(&plan).map(|(unit, plan)| edit::body(unit, plan, &mut files)).collect();
    let mut out = header;
    files.write(&mut out);
    for (unit, body) in units.iter().zip(bodies) {
        // A name is a file's or the program's: it must not end the comment.
        let name: String = unit.name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let _ = write!(out, "\n// {name}\n{}\n", body.trim());
    }
    Ok(out)
}

fn unit<'a>(name: &'a str, text: &'a str, errors: &mut Vec<Diagnostic>) -> Unit<'a> {
    let parsed = parse(name, text);
    let inside = |diagnostic: &Diagnostic| {
        parsed.module.items.iter().any(|item| match item {
            crate::ast::Item::Function(function) => {
                function.extent.start <= diagnostic.span.start && diagnostic.span.end <= function.extent.end
            }
            _ => false,
        })
    };
    for diagnostic in &parsed.diagnostics {
        if diagnostic.severity == Severity::Error && !inside(diagnostic) {
            let (line, column) = line_col(text, diagnostic.span);
            let message = format!("{name}:{line}:{column}: {}", diagnostic.message);
            errors.push(Diagnostic { message, ..diagnostic.clone() });
        }
    }
    Unit { name, text, module: parsed.module, pieces: split::pieces(text) }
}

/// The newest version and target of all, and the options of all.
fn header(units: &[Unit], errors: &mut Vec<Diagnostic>) -> String {
    let modules = || units.iter().map(|unit| &unit.module);
    let (major, minor) = modules().map(|module| module.version).max().unwrap_or_default();
    let target = modules()
        .map(|module| (module.target.sm, module.target.suffix))
        .max_by_key(|&(sm, suffix)| (sm, suffix));
    let (sm, suffix) = target.unwrap_or_default();
    let mut options: Vec<&str> = modules()
        .flat_map(|module| module.target.options.iter().map(|&option| module.names.get(option)))
        .filter(|&option| option != "debug")
        .collect();
    options.sort_unstable();
    options.dedup();
    let sizes: Vec<u32> = modules().map(|module| module.address_size).collect();
    let mut refuse = |what: &str, of: &dyn Fn(&Module) -> String| {
        let all: Vec<_> =
            units.iter().map(|unit| format!("{} has {}", unit.name, of(&unit.module))).collect();
        let message = format!("modules with different {what} cannot be linked: {}", all.join(", "));
        let help = "compile all of them with the same options";
        errors.push(Diagnostic::error("ptx-link", warpwatt_base::Span::default(), message).with_help(help));
    };
    if sizes.iter().any(|&size| size != sizes[0]) {
        refuse("address sizes", &|module| module.address_size.to_string());
    }
    if options.iter().filter(|option| option.starts_with("texmode_")).count() > 1 {
        refuse("texture modes", &|module| {
            let mut options = module.target.options.iter().map(|&option| module.names.get(option));
            options.find(|option| option.starts_with("texmode_")).unwrap_or("none").to_owned()
        });
    }
    let suffix = suffix.map_or(String::new(), String::from);
    let options: String = options.iter().map(|option| format!(", {option}")).collect();
    let size = sizes.first().copied().unwrap_or(64);
    format!(".version {major}.{minor}\n.target sm_{sm}{suffix}{options}\n.address_size {size}\n\n")
}

#[cfg(test)]
mod tests;
