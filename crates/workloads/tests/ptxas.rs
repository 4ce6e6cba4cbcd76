// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers and static instructions of every kernel beside what NVIDIA's assembler makes of the same PTX
//! (`reference/ptxas.toml`, which says how its figures were obtained).

use serde::Deserialize;
use warpwatt_runtime::Device;
use warpwatt_workloads as workloads;

#[derive(Deserialize)]
struct Reference {
    kernel: Vec<Kernel>,
}

#[derive(Deserialize)]
struct Kernel {
    workload: String,
    name: String,
    registers_sm50: u32,
    sass_sm75: u32,
}

struct Row {
    name: String,
    registers: f64,
    instructions: f64,
}

/// Relative difference of what we make from what ptxas makes.
fn rows() -> Vec<Row> {
    let reference: Reference =
        toml::from_str(include_str!("../reference/ptxas.toml")).expect("reference figures");
    let mut rows = Vec::new();
    for workload in workloads::all() {
        let mut device = Device::new().expect("a device");
        let name = workload.info().name;
        let module = device.load_module(&format!("{name}.ptx"), workload.ptx()).expect("our PTX loads");
        for kernel in device.kernels(module).expect("a module") {
            let program = device.compile(module, &kernel, false).expect("our PTX compiles").program;
            let theirs =
                reference.kernel.iter().find(|k| k.workload == name && k.name == kernel).unwrap_or_else(
                    || panic!("no reference figures for {name}/{kernel}: run tools/ptxas-reference.py"),
                );
            let off = |ours: u32, theirs: u32| f64::from(ours) / f64::from(theirs) - 1.0;
            println!(
                "{name:<11} {kernel:<15} registers {:>3} (ptxas {:>3}, {:>+4.0} %)  instructions {:>4} (SASS {:>4}, {:>+4.0} %)",
                program.registers,
                theirs.registers_sm50,
                100.0 * off(program.registers, theirs.registers_sm50),
                program.uops.len(),
                theirs.sass_sm75,
                100.0 * off(program.uops.len() as u32, theirs.sass_sm75),
            );
            rows.push(Row {
                name: format!("{name}/{kernel}"),
                registers: off(program.registers, theirs.registers_sm50),
                instructions: off(program.uops.len() as u32, theirs.sass_sm75),
            });
        }
    }
    assert_eq!(rows.len(), reference.kernel.len(), "every reference kernel was compiled");
    rows
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[test]
fn registers_and_instructions_are_close_to_what_ptxas_makes() {
    let rows = rows();
    let registers = median(rows.iter().map(|r| r.registers.abs()));
    let instructions = median(rows.iter().map(|r| r.instructions.abs()));
    println!(
        "median difference: registers {:.1} %, instructions {:.1} %",
        100.0 * registers,
        100.0 * instructions
    );
    assert!(registers <= 0.10, "registers are off by {:.1} % in the median", 100.0 * registers);
    assert!(
        instructions <= 0.25,
        "static instructions are off by {:.1} % in the median",
        100.0 * instructions
    );
    let far: Vec<&str> = rows.iter().filter(|r| r.registers.abs() > 0.401).map(|r| r.name.as_str()).collect();
    assert!(far.is_empty(), "registers off by more than 40 %: {far:?}");
}
