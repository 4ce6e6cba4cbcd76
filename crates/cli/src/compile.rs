// SPDX-License-Identifier: MIT OR Apache-2.0
//! `compile`: what each kernel of a PTX file needs, or why it is refused.

use serde::Serialize;
use warpwatt_ptx::suggest;
use warpwatt_results::Diagnostic;
use warpwatt_runtime::{Device, Error, ModuleId, Nobody, Options, demangle, find_kernel, problems};

use crate::args::{CompileArgs, Stage};
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::job::read_program;
use crate::session::isolated;
use crate::table::{Table, grouped};
use warpwatt_record as record;

/// One kernel in the result.
#[derive(Serialize)]
struct Row {
    name: String,
    demangled: String,
    #[serde(flatten)]
    needs: Option<Needs>,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Serialize)]
struct Needs {
    registers: u32,
    predicates: u32,
    spill_bytes: u32,
    spill_stores: u32,
    spill_loads: u32,
    /// Static count of micro-ops.
    instructions: usize,
    shared_bytes: u32,
    local_bytes: u32,
    param_bytes: u32,
}

pub fn compile(args: &CompileArgs, console: &Console) -> Result<Exit, Failure> {
    let text = read_program(&args.file)?;
    isolated(|| compile_text(args, &text, console)).unwrap_or_else(|message| {
        let failure = Failure::new(Exit::Internal, format!("a bug in warpwatt: {message}"));
        Err(failure.help(format!("please report it with {}, which shows it", args.file.display())))
    })
}

fn compile_text(args: &CompileArgs, text: &str, console: &Console) -> Result<Exit, Failure> {
    let options = Options { max_registers: args.max_registers, ..Options::default() };
    let internal = |error: Error| Failure::device(&error, console.color);
    let mut device = Device::with(options, Box::new(Nobody)).map_err(internal)?;
    let file = args.file.display().to_string();
    let module = device.load_module(&file, text).map_err(internal)?;
    let warnings = device.warnings(module).map_err(internal)?;
    if !console.quiet {
        for warning in &warnings {
            eprintln!("{}\n", warning.render(&file, text, console.color));
        }
    }
    let names = kernels(args, &device, module)?;
    let (mut rows, mut refused) = (Vec::new(), 0);
    for name in &names {
        let mut row =
            Row { name: name.clone(), demangled: demangle(name), needs: None, diagnostics: Vec::new() };
        match device.compile(module, name, args.emit.is_some()) {
            Ok(compiled) => {
                let notes = problems(&file, text, &compiled.diagnostics);
                row.diagnostics = notes.into_iter().map(record::problem).collect();
                if let (Some(stage), Some(stages)) = (args.emit, &compiled.stages) {
                    console.result(match stage {
                        Stage::Cfg => &stages.cfg,
                        Stage::Ir => &stages.ir,
                        Stage::Asm => &stages.asm,
                    });
                }
                let program = compiled.program;
                row.needs = Some(Needs {
                    registers: program.registers,
                    predicates: program.predicates,
                    spill_bytes: program.spill_bytes,
                    spill_stores: program.spill_stores,
                    spill_loads: program.spill_loads,
                    instructions: program.uops.len(),
                    shared_bytes: program.shared_bytes,
                    local_bytes: program.local_bytes,
                    param_bytes: program.param_bytes,
                });
            }
            Err(error) => {
                refused += 1;
                row.diagnostics = record::diagnostics(&error);
                console.failure(&internal(error));
            }
        }
        rows.push(row);
    }
    if let Some(path) = &args.json {
        let document = serde_json::json!({
            "schema": "warpwatt.compile/1",
            "tool": record::tool(),
            "file": file,
            "kernels": rows,
            "diagnostics": problems(&file, text, &warnings).into_iter().map(record::problem).collect::<Vec<_>>(),
        });
        let text = serde_json::to_string_pretty(&document)
            .map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
        write_result(path, &(text + "\n"), console)?;
    } else if args.emit.is_none() {
        console.result(&table(&rows));
    }
    Ok(if refused > 0 { Exit::BadInput } else { Exit::Ok })
}

/// The kernels to compile: all, or the one that was named.
fn kernels(args: &CompileArgs, device: &Device, module: ModuleId) -> Result<Vec<String>, Failure> {
    let all = device.kernels(module).map_err(|error| Failure::device(&error, false))?;
    let Some(wanted) = &args.kernel else { return Ok(all) };
    let alike = match find_kernel(&all, wanted) {
        Ok(name) => return Ok(vec![name.to_owned()]),
        Err(alike) => alike,
    };
    let names: Vec<_> = all.iter().map(String::as_str).collect();
    let failure = Failure::usage(format!("{} has no kernel `{wanted}`", args.file.display()));
    Err(failure.help(match suggest::nearest(wanted, &names) {
        _ if !alike.is_empty() => format!("several kernels match: {}", alike.join(", ")),
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("its kernels are {}", names.join(", ")),
    }))
}

fn table(rows: &[Row]) -> String {
    let mut table = Table::new(&[
        "kernel",
        "registers",
        "predicates",
        "instructions",
        "spill B",
        "stores",
        "loads",
        "shared B",
        "local B",
    ])
    .cut(0)
    .optional(2)
    .optional(8);
    for row in rows {
        let cells = match &row.needs {
            Some(needs) => [
                needs.registers.to_string(),
                needs.predicates.to_string(),
                grouped(needs.instructions as u64),
                grouped(needs.spill_bytes.into()),
                grouped(needs.spill_stores.into()),
                grouped(needs.spill_loads.into()),
                grouped(needs.shared_bytes.into()),
                grouped(needs.local_bytes.into()),
            ],
            None => {
                let mut cells = [const { String::new() }; 8];
                cells[0] = "refused".to_owned();
                cells
            }
        };
        let [a, b, c, d, e, f, g, h] = cells;
        table.row([row.demangled.clone(), a, b, c, d, e, f, g, h]);
    }
    table.render()
}
