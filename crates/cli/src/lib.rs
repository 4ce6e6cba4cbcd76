// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line: raw arguments are turned into validated ones once, a command is carried out, and its end becomes an exit
//! code. stdout is the result, stderr the rest.

pub mod args;
mod bench;
mod characterize;
mod compare;
mod compile;
mod console;
mod documents;
mod energy;
mod entropy;
mod exec;
mod exit;
pub mod front;
mod gpu;
mod gpu_import;
pub mod heap;
mod install;
mod interrupt;
mod job;
pub mod launch;
mod list;
mod paper;
mod points;
mod profile;
mod report;
mod reproducer;
mod run;
mod schema;
mod session;
mod slurm;
mod summary;
mod sweep;
mod table;
mod technique;
mod verify;
mod workloads;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command, GpuCommand, LaunchCommand};
use console::Console;
pub use exit::Exit;
pub use slurm::settings::SLURM as SLURM_KEYS;

/// The command of these words, the first of which is the program, or what is wrong with them.
pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Cli, String> {
    Cli::try_parse_from(words).map_err(|error| error.render().to_string().trim().to_owned())
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    heap::prepare();
    ExitCode::from(run_words(std::env::args_os()))
}

/// Runs the command of these words, the first of which is the program, and gives the exit code of the process.
pub fn run_words(words: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            // clap's own exit code for help and version is 0, and 2 for everything else, which is ours too.
            let code = error.exit_code();
            let _ = error.print();
            return u8::try_from(code).unwrap_or(2);
        }
    };
    session::quiet_panics();
    let console = match Console::new(cli.quiet, cli.verbose) {
        Ok(console) => console,
        Err(failure) => {
            Console::plain().failure(&failure);
            return failure.exit as u8;
        }
    };
    let outcome = match &cli.command {
        Command::Gpu(GpuCommand::Show(args)) => gpu::show(args, &console),
        Command::Gpu(GpuCommand::Import(args)) => gpu_import::import(args, &console),
        Command::Launch(LaunchCommand::Init(args)) => launch::init(args, &console),
        Command::Completions(args) => documents::completions(args, &console),
        Command::Man(args) => documents::man(args, &console),
        Command::List(args) => list::list(args, &console),
        Command::Run(args) => run::run(args, &console),
        // Its exit code is that of the program.
        Command::Exec(args) => return exec::exec(args, &console),
        Command::Install(args) => install::install(args, &console),
        Command::Compile(args) => compile::compile(args, &console),
        Command::Bench(args) => bench::bench(args, &console),
        Command::Characterize(args) => characterize::characterize(args, &console),
        Command::Verify(args) => verify::verify(args, &console),
        Command::Schema(args) => schema::schema(args, &console),
        Command::Entropy(args) => entropy::entropy(args, &console),
        Command::Compare(args) => compare::compare(args, &console),
        Command::Report(args) => report::report(args, &console),
        Command::Paper(args) => paper::paper(args, &console),
        Command::Sweep(args) => sweep::sweep(args, &console),
        Command::Point(args) => points::point(args, &console),
        Command::Replay(args) => reproducer::replay(args, &console),
    };
    let exit = outcome.unwrap_or_else(|failure| {
        console.failure(&failure);
        failure.exit
    });
    let exit = match console.stdout_failure() {
        Some(failure) if exit == Exit::Ok => {
            console.failure(&failure);
            failure.exit
        }
        _ => exit,
    };
    // What a signal ended has its number, as shells have it.
    let signal = interrupt::signalled().filter(|_| exit == Exit::Interrupted);
    signal.map_or(exit as u8, |signal| 128 + signal as u8)
}
