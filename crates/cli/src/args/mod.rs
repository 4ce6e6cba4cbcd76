// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arguments of every command, and the help that teaches them.

mod experiments;

pub use experiments::*;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use regex::Regex;
use warpwatt_runtime::CheckOptions;
use warpwatt_workloads::Size;

#[derive(Parser, Debug)]
#[command(
    name = "warpwatt",
    version = warpwatt_record::VERSION,
    about = "A GPU simulator: runs real PTX and reports time and energy",
    after_help = "\
Examples:
  warpwatt list workloads                        the built-in workloads
  warpwatt run sgemm                             cycles of a workload, with a check of its result
  warpwatt run sgemm --functional                results only, without timing: much faster
  warpwatt run sgemm@medium --gpu gtx580 --set sm.scheduler=lrr --json -
  warpwatt run --ptx k.ptx --launch k.toml
  warpwatt exec -- ./program --its arguments     a CUDA program, or Python that uses CUDA
  warpwatt gpu show gtx480                       every parameter of a GPU
  warpwatt compile k.ptx                         registers, spills and instructions per kernel
  warpwatt compare a.json b.json                 cycles, energy and counters of two runs
  warpwatt paper all --quick                     reproduce papers: claims and measurements
  warpwatt sweep sweep.toml                      parameters x workloads x techniques, into tables
  warpwatt bench                                 simulation speed

Exit codes: 0 ok, 1 a check failed, 2 usage or configuration, 3 bad PTX or launch file,
4 simulated fault, 5 a limit was reached, 70 internal error, 74 input/output error,
130 interrupted. `exec` returns the exit code of the program.
WARPWATT_LOG=error|warn|info|debug sets the level of messages on stderr."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    /// Print only results
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// Print details
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// List built-in workloads, GPUs, techniques, technologies and claims
    List(ListArgs),
    /// Show the parameters of a GPU, or import one from GPGPU-Sim
    #[command(subcommand)]
    Gpu(GpuCommand),
    /// Write a launch file for kernels of your own
    #[command(subcommand)]
    Launch(LaunchCommand),
    /// Run a workload, or kernels of a PTX file
    Run(Box<RunArgs>),
    /// Run a CUDA program on the simulated GPU
    Exec(Box<ExecArgs>),
    /// Compile a PTX file and show the resources of each kernel
    Compile(CompileArgs),
    /// Measure simulation speed
    Bench(BenchArgs),
    /// Characterize workloads: instructions, occupancy, values, caches
    Characterize(CharacterizeArgs),
    /// Check the results of workloads against their references, at every size
    Verify(VerifyArgs),
    /// Print the JSON schema of a file format
    Schema(SchemaArgs),
    /// Measure how well the memory traffic of a workload compresses
    Entropy(EntropyArgs),
    /// Compare the records of two runs
    Compare(CompareArgs),
    /// Make an HTML report of run records and of `paper` and `sweep` folders
    Report(ReportArgs),
    /// Reproduce a paper's experiments and compare its claims with the measurements
    Paper(PaperArgs),
    /// Run all combinations of parameters, workloads and techniques, and write tables
    Sweep(SweepArgs),
    /// Run one point of a sweep: one file in, one file out
    Point(PointArgs),
    /// Run a reproducer written by `--save-reproducer` or after a crash
    Replay(ReplayArgs),
    /// Install the program and its CUDA libraries into a folder
    Install(InstallArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages to a folder
    Man(ManArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt completions bash > ~/.local/share/bash-completion/completions/warpwatt
  warpwatt completions zsh > ~/.zfunc/_warpwatt")]
pub struct CompletionsArgs {
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  warpwatt man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Folder for the pages; created if it does not exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Subcommand, Debug)]
pub enum LaunchCommand {
    /// Write a launch file to start from, with a buffer for each pointer
    Init(InitArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt launch init saxpy.ptx > saxpy.toml    then edit it, and: warpwatt run saxpy.ptx
  warpwatt launch init lib.cu --kernel axpy --out axpy.toml")]
pub struct InitArgs {
    /// A PTX file, or a CUDA C++ file if NVRTC is installed
    #[arg(value_name = "FILE.ptx|FILE.cu")]
    pub file: PathBuf,

    /// Only this kernel, by its name in the source or in the PTX
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,

    /// File to write [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Catalogue {
    /// The built-in workloads with their sizes
    Workloads,
    /// The built-in GPUs
    Gpus,
    /// The techniques for `--with`
    Techniques,
    /// The built-in technologies (energy coefficients)
    Technologies,
    /// The papers' claims, with readings and rules
    Claims,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt list workloads --json -
  warpwatt list workloads --paper e2mc                   programs of a paper and workloads
  warpwatt list workloads --show lud                     sizes, kernels, origin of the inputs
  warpwatt list techniques --show warped-compression     its parameters and counters")]
pub struct ListArgs {
    #[arg(value_enum)]
    pub what: Catalogue,

    /// Print details of a workload, the parameters and counters of a technique, or the file of a technology
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    pub show: Option<String>,

    /// Only the workloads of a suite: caches, combined, corf, e2mc or warped-compression
    #[arg(long, value_name = "NAME", value_parser = parse_suite, conflicts_with = "show")]
    pub paper: Option<String>,

    /// Write the list as JSON to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
A functional run with a model of the GPU's L2 tags. For every codec it reports the compression
ratio of the lines between L2 and DRAM, in bytes and in whole memory accesses, and the bound of the
source coding theorem.

Examples:
  warpwatt entropy scan@medium --gpu gtx580-e2mc
  warpwatt entropy spmv --write-profile spmv.profile     for `--with e2mc:profile=spmv.profile`
  warpwatt entropy --gpu gtx580-e2mc -- ./program        of a CUDA program")]
pub struct EntropyArgs {
    /// A built-in workload, with or without a size: NAME or NAME@tiny|small|medium|large
    #[arg(value_name = "NAME[@SIZE]", required_unless_present = "command")]
    pub workload: Option<String>,

    /// Size of the workload [default: small]
    #[arg(long, value_parser = parse_size)]
    pub size: Option<Size>,

    /// Seed of the workload's inputs
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    /// The GPU: a built-in one, or a TOML file [default: gtx480]
    #[arg(long, value_name = "NAME|FILE")]
    pub gpu: Option<String>,

    /// Change a parameter of the GPU; can be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// A CUDA program and its arguments, as for `exec`, instead of a workload
    #[arg(value_name = "PROGRAM", last = true, conflicts_with_all = ["workload", "size", "seed"])]
    pub command: Vec<OsString>,

    /// Number of values with codewords, for symbols longer than 8 bits
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=16384))]
    pub values: u32,

    /// Take symbol frequencies from the lines between L2 and DRAM instead of from loads and stores
    #[arg(long)]
    pub from_dram: bool,

    /// Write the frequencies of symbols to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-")]
    pub write_profile: Option<PathBuf>,

    /// Write the result as JSON to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub enum GpuCommand {
    /// Show every parameter of a GPU
    Show(ShowArgs),
    /// Convert a configuration of GPGPU-Sim to a GPU file
    Import(ImportArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Options with a counterpart become parameters, with the option in a comment; all others are listed
on stderr and at the top of the file, with the reason.

Example:
  warpwatt gpu import gpgpusim.config --out my.toml && warpwatt run sgemm --gpu my.toml")]
pub struct ImportArgs {
    /// The configuration: gpgpusim.config of GPGPU-Sim 3.x or 4.x
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// GPU file to write [default: stdout]
    #[arg(long, value_name = "FILE.toml")]
    pub out: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt gpu show gtx480
  warpwatt gpu show gtx480 --toml > my.toml      a file to edit, for `--gpu my.toml`
  warpwatt gpu show my.toml --set sm.warps=32 --json -")]
pub struct ShowArgs {
    /// A built-in GPU, or a TOML file
    #[arg(value_name = "NAME|FILE")]
    pub gpu: String,

    /// Change a parameter first; can be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Print a complete GPU file, with comments
    #[arg(long, conflicts_with = "json")]
    pub toml: bool,

    /// Write the parameters as JSON to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

/// The GPU that is simulated.
#[derive(Args, Clone, Debug, Default)]
pub struct GpuArgs {
    /// The GPU: a built-in one, or a TOML file [default: gtx480]
    #[arg(long, value_name = "NAME|FILE")]
    pub gpu: Option<String>,

    /// Change a parameter of the GPU; can be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Enable a technique; can be given several times. `--set technique.NAME.KEY=VALUE` is equivalent
    #[arg(long = "with", value_name = "NAME[:KEY=VALUE{,KEY=VALUE}]", conflicts_with = "functional")]
    pub with: Vec<String>,

    /// Compare everything that techniques store bit for bit with what they return: slower, same result
    #[arg(long, conflicts_with = "functional")]
    pub verify_techniques: bool,
}

/// How time is simulated, and of what.
#[derive(Args, Clone, Debug, Default)]
pub struct Timing {
    #[command(flatten)]
    pub gpu: GpuArgs,

    /// Host threads; the result does not depend on them [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Option<u32>,

    /// Simulate every idle cycle instead of skipping idle time: slower, same result
    #[arg(long, conflicts_with = "functional")]
    pub step_every_cycle: bool,

    /// Stop after about this many cycles of kernels, with partial results
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with = "functional")]
    pub limit_cycles: Option<u64>,

    /// Simulate timing only for kernels whose name matches; the others run functionally
    #[arg(long, value_name = "REGEX", value_parser = parse_regex, conflicts_with = "functional")]
    pub kernels: Option<Regex>,

    /// Run the first N launches of these kernels functionally
    #[arg(long, value_name = "N", conflicts_with = "functional")]
    pub skip: Option<u64>,

    /// Record all counters at about this interval
    #[arg(long, value_name = "CYCLES", value_parser = parse_count, conflicts_with = "functional")]
    pub interval: Option<u64>,

    /// Technology (energy coefficients): a built-in one, or a TOML file [default: gtx480-40nm]
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "functional")]
    pub technology: Option<String>,

    /// Write a trace for Perfetto: kernels, blocks on SMs, copies, and with `--interval` power, of the launches kept in detail
    #[arg(long, value_name = "FILE", conflicts_with = "functional")]
    pub trace: Option<PathBuf>,

    /// Print the energy by component, kind of instruction and source line
    #[arg(long, conflicts_with = "functional")]
    pub energy: bool,

    /// Flip one bit that a technique stores, to test that `--verify-techniques` (implied) detects it
    #[arg(long, value_enum, value_name = "rf|cache|dram", conflicts_with = "functional")]
    pub inject_fault: Option<FaultPlace>,
}

/// Where `--inject-fault` flips a bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FaultPlace {
    /// In the register file
    Rf,
    /// In a cache or in shared memory
    Cache,
    /// In memory
    Dram,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt run vecadd                                   at size small, on a gtx480
  warpwatt run bfs@large --seed 2 --json run.json
  warpwatt run sgemm --gpu my.toml --set sm.l1d.mshrs=64
  warpwatt run hotspot --interval 5000 --json run.json  counters and power over time
  warpwatt run sgemm --energy                           by component, kind of instruction and line
  warpwatt run sgemm --with warped-compression:gating=off --gpu gtx480-wc --technology wc45
  warpwatt run saxpy.cu                                 with saxpy.toml; compiled by NVRTC
  warpwatt run bfs --functional --gpu gtx480-corf --write-profile bfs.counts
  warpwatt run bfs --gpu gtx480-corf --with corf:pairs=profile,profile=bfs.counts
  warpwatt run --ptx saxpy.ptx --launch saxpy.toml
  warpwatt run scan --functional --check races,uninit   detect races and uninitialised reads

A launch file gives buffers and steps; docs/launch-file.md describes it.")]
pub struct RunArgs {
    /// A built-in workload, with or without a size (NAME or NAME@tiny|small|medium|large); or a PTX or CUDA C++ file, whose launch
    /// file is `--launch` or the .toml file beside it
    #[arg(value_name = "NAME[@SIZE]|FILE.ptx|FILE.cu", required_unless_present_any = ["ptx", "launch"], conflicts_with = "ptx")]
    pub workload: Option<String>,

    /// Size of the workload [default: small]
    #[arg(long, value_parser = parse_size, conflicts_with_all = ["ptx", "launch"])]
    pub size: Option<Size>,

    /// A PTX file to take kernels from
    #[arg(long, value_name = "FILE", requires = "launch")]
    pub ptx: Option<PathBuf>,

    /// A launch file: buffers, launches, comparisons
    #[arg(long, value_name = "FILE")]
    pub launch: Option<PathBuf>,

    /// Values only, without time: much faster
    #[arg(long)]
    pub functional: bool,

    #[command(flatten)]
    pub timing: Timing,

    /// Seed of the workload's inputs
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    #[command(flatten)]
    pub execution: Execution,

    /// Write the run record (schema warpwatt.run/2) to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// Write how often each instruction was executed, for `--with corf:pairs=profile,profile=FILE`, to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-", requires = "functional")]
    pub write_profile: Option<PathBuf>,

    /// Also save the last launch of the run, with its memory, for `replay`
    #[arg(long, value_name = "DIR")]
    pub save_reproducer: Option<PathBuf>,

    /// Fail inside of launch N, to try out reproducers
    #[arg(long, value_name = "N", hide = true)]
    pub inject_panic: Option<u64>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt exec -- ./saxpy 1000000                     timed on a gtx480, with a summary at the end
  warpwatt exec --functional -- python3 train.py       results only, without timing: much faster
  warpwatt exec --gpu gtx580 --kernels 'scan' --skip 2 --json run.json -- ./program
  warpwatt exec --capability 8.0 -- ./program          compute capability that the program sees

The program must be linked to the shared CUDA runtime (`nvcc -cudart shared`) and contain PTX. Its
own output is left as it is. Exit codes: the program's own, 128 + n if signal n ended it; 5 a limit
was reached; 125 exec failed, 126 the program cannot be executed, 127 it was not found.
docs/cuda-programs.md has the details.")]
pub struct ExecArgs {
    /// Values only, without time: much faster
    #[arg(long)]
    pub functional: bool,

    #[command(flatten)]
    pub timing: Timing,

    #[command(flatten)]
    pub execution: Execution,

    /// Compute capability that the program sees
    #[arg(long, value_name = "M.N", default_value = "7.5", value_parser = parse_capability)]
    pub capability: u32,

    /// Exit with 4 if a kernel failed, also if the program itself ends with 0
    #[arg(long)]
    pub fail_on_fault: bool,

    /// Write the run record (schema warpwatt.run/2) to a file, or to stdout with `-`, instead of a summary to stderr
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// Write how often each instruction was executed, in all processes, for `--with corf:pairs=profile,profile=FILE`, to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-", requires = "functional")]
    pub write_profile: Option<PathBuf>,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  warpwatt install --prefix ~/.local")]
pub struct InstallArgs {
    /// Where to: the program goes to DIR/bin, the libraries to DIR/lib/warpwatt
    #[arg(long, value_name = "DIR")]
    pub prefix: PathBuf,
}

/// How kernels are executed.
#[derive(Args, Clone, Debug, Default)]
pub struct Execution {
    /// Stop after about this many thread instructions, with partial results
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub limit_instructions: Option<u64>,

    /// Keep the first N launches in detail in the run record; all launches are added up by kernel
    #[arg(long, value_name = "N", default_value_t = warpwatt_record::PER_LAUNCH)]
    pub per_launch: u64,

    /// Stop after this many seconds, with partial results
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<f64>,

    /// Look for more errors: races, uninit, shuffles, arrays, leaks, or all of them; bounds=exact|page|warn says how loads beyond
    /// an allocation are treated [default: bounds=page]
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = parse_check)]
    pub check: Vec<String>,

    /// Warp instructions without a barrier opening or a warp ending after which warps are examined for being stuck
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub watchdog: Option<u64>,

    /// Stop a kernel, with partial results, when none of its warps has ended for this many warp instructions (if timed: or cycles): a
    /// loop without end [default: 20000000000, or 2000000000 if timed]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub limit_loop: Option<u64>,

    /// Registers per thread, 16 to 255 [default: 63 for targets below sm_35, else 255]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(16..=255))]
    pub max_registers: Option<u32>,

    /// Keep short branches as branches; by default they become guarded instructions, as by ptxas
    #[arg(long)]
    pub no_predication: bool,
}

impl Execution {
    /// The checks that are on.
    pub fn checks(&self) -> CheckOptions {
        let mut checks = CheckOptions::default();
        // The names were read before.
        self.check.iter().for_each(|name| drop(checks.add(name)));
        checks
    }
}

fn parse_check(name: &str) -> Result<String, String> {
    CheckOptions::default().add(name).map(|()| name.to_owned())
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Stage {
    /// The control-flow graph with dominators
    Cfg,
    /// The intermediate form after optimisation
    Ir,
    /// The machine code
    Asm,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt compile k.ptx
  warpwatt compile k.ptx --kernel saxpy --emit asm
  warpwatt compile k.ptx --max-registers 32 --json -")]
pub struct CompileArgs {
    /// The PTX file, or CUDA C++ where NVRTC is installed
    #[arg(value_name = "FILE.ptx|FILE.cu")]
    pub file: PathBuf,

    /// Only this kernel, by its name in the source or in the PTX
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,

    /// Print a stage of compilation instead of the table
    #[arg(long, value_enum)]
    pub emit: Option<Stage>,

    /// Registers per thread, 16 to 255 [default: 63 for targets below sm_35, else 255]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(16..=255))]
    pub max_registers: Option<u32>,

    /// Write the table as JSON to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-", conflicts_with = "emit")]
    pub json: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// The run record, warpwatt.run/2
    Run,
    /// The GPU file, warpwatt.gpu/1
    Gpu,
    /// The launch file, warpwatt.launch/1
    Launch,
    /// The technology file, warpwatt.technology/1
    Technology,
    /// The sweep file, warpwatt.sweep/1
    Sweep,
    /// What `point` reads, warpwatt.request/1
    Request,
    /// What is kept of a point, warpwatt.point/1
    Point,
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  warpwatt schema run > run.schema.json")]
pub struct SchemaArgs {
    #[arg(value_enum)]
    pub format: Format,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt run sgemm --gpu gtx480-wc --json a.json
  warpwatt run sgemm --gpu gtx480-wc --with warped-compression --json b.json
  warpwatt compare a.json b.json

Counters are sorted by their change, |ln((B + w) / (A + w))|, where w is a hundredth of the warp
instructions of the smaller run. Increase and decrease by the same factor rank equally, and small
counters do not come first. Ratios and histograms are omitted; counters of only one run are listed
separately.")]
pub struct CompareArgs {
    /// Run record of the baseline, from `run` or `exec` with `--json`
    #[arg(value_name = "A.json")]
    pub a: PathBuf,

    /// Run record to compare with the baseline
    #[arg(value_name = "B.json")]
    pub b: PathBuf,

    /// Counters to list
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub top: usize,

    /// Write the comparison as JSON to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// Write an HTML page that shows both runs
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  warpwatt replay warpwatt-reproducer")]
pub struct ReplayArgs {
    /// The folder of the reproducer
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Write the run record to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

fn parse_size(text: &str) -> Result<Size, String> {
    text.parse().map_err(|error: warpwatt_workloads::UnknownSize| error.to_string())
}

/// A paper that has a suite of programs.
fn parse_suite(text: &str) -> Result<String, String> {
    let suites = warpwatt_papers::suites().map_err(|error| error.to_string())?;
    match suites.contains_key(text) {
        true => Ok(text.to_owned()),
        false => {
            let names: Vec<_> = suites.keys().map(String::as_str).collect();
            Err(format!("there is no such paper: the papers are {}", names.join(", ")))
        }
    }
}

/// A whole number above 0, with underscores or a suffix k, M or G.
fn parse_count(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    match digits.replace('_', "").parse::<u64>().ok().and_then(|count| count.checked_mul(factor)) {
        Some(count) if count > 0 => Ok(count),
        _ => Err("give a whole number above 0, such as 5000000, 5_000_000 or 5M".to_owned()),
    }
}

/// `7.5` as 75.
fn parse_capability(text: &str) -> Result<u32, String> {
    let number = text.split_once('.').and_then(|(major, minor)| {
        let (major, minor) = (major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
        ((2..=12).contains(&major) && minor <= 9).then_some(major * 10 + minor)
    });
    number.ok_or_else(|| "give a compute capability from 2.0 to 12.9, such as 7.5".to_owned())
}

fn parse_regex(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| format!("this is not a regular expression: {error}"))
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e9 => Ok(seconds),
        _ => Err("give seconds above 0, such as 30 or 0.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn capabilities_are_two_numbers() {
        assert_eq!(parse_capability("7.5"), Ok(75));
        assert_eq!(parse_capability("12.1"), Ok(121));
        for bad in ["", "7", "75", "1.3", "7.10", "13.0", "a.b", "7.5.1", "-7.5"] {
            assert!(parse_capability(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn counts_take_suffixes() {
        assert_eq!(parse_count("5M"), Ok(5_000_000));
        assert_eq!(parse_count("1_000"), Ok(1000));
        for bad in ["", "0", "-1", "5X", "M", "99999999999G"] {
            assert!(parse_count(bad).is_err(), "{bad}");
        }
    }
}
