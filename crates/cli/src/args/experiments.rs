// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of commands that run many things: papers, sweeps, points, measurements of all workloads, and the reports about them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use warpwatt_workloads::Size;

use super::{GpuArgs, parse_size, parse_suite};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt bench                                 all workloads at medium size, functional and timed
  warpwatt bench sgemm bfs --size large --threads 2 --repeat 5
  warpwatt bench --functional                    functional simulation only")]
pub struct BenchArgs {
    /// Workloads to measure; all when none is named
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// Measure functional simulation only
    #[arg(long)]
    pub functional: bool,

    #[command(flatten)]
    pub gpu: GpuArgs,

    /// Host threads of the timed simulation
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "functional", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,

    /// Size of the workloads
    #[arg(long, value_parser = parse_size, default_value = "medium")]
    pub size: Size,

    /// Runs of each workload; the median is reported
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// Write the figures as JSON to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt characterize --size tiny --workloads bfs,sgemm
  warpwatt characterize --markdown workloads.md --json workloads.json

Every workload runs eight times: on a GTX 480, on the GPU of each paper with a technique that
measures what the paper is about, and on E2MC's GPU with one, two, four and eight times the
bandwidth. The figures do not depend on `--jobs`.")]
pub struct CharacterizeArgs {
    /// Size of the workloads
    #[arg(long, value_parser = parse_size, default_value = "small")]
    pub size: Size,

    /// Workloads to measure; all when none is named
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub workloads: Vec<String>,

    /// Seed of the workloads' inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Number of parallel runs, each on one thread [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: Option<u32>,

    /// Write the tables as Markdown to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-")]
    pub markdown: Option<PathBuf>,

    /// Write the figures as JSON to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt verify                                all workloads, sizes and modes, with two seeds
  warpwatt verify lud aes --size medium          two of them at one size
  warpwatt verify --paper corf --size tiny,small --functional

A run is also compared with the table of workloads: the number of thread instructions for its size,
and the share of time in which SMs have warps, as in `list workloads --show NAME` (timed, at medium
and large).")]
pub struct VerifyArgs {
    /// Workloads to verify; all when none is named
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// The workloads of a suite: caches, combined, corf, e2mc or warped-compression
    #[arg(long, value_name = "NAME", value_parser = parse_suite, conflicts_with = "names")]
    pub paper: Option<String>,

    /// Sizes
    #[arg(long = "size", value_name = "SIZE,SIZE", value_parser = parse_size, value_delimiter = ',', default_value = "tiny,small,medium,large")]
    pub sizes: Vec<Size>,

    /// Seeds of the inputs
    #[arg(long = "seed", value_name = "N,N", value_delimiter = ',', default_value = "1,2")]
    pub seeds: Vec<u64>,

    /// Functional runs only
    #[arg(long, conflicts_with = "timed")]
    pub functional: bool,

    /// Timed runs only
    #[arg(long)]
    pub timed: bool,

    #[command(flatten)]
    pub gpu: GpuArgs,

    /// Number of parallel runs, each on one thread [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: Option<u32>,

    /// Write the results as JSON to a file, or to stdout with `-`
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt run sgemm --interval 1000 --json sgemm.json
  warpwatt report sgemm.json                            bottlenecks, memory, stalls, source lines
  warpwatt report a.json b.json --out ab.html           two runs, with a comparison
  warpwatt report warpwatt-out --svg figures            a paper's figures and ledger

The report is one self-contained HTML file. docs/report.md describes it.")]
pub struct ReportArgs {
    /// Run records, from `run` or `exec` with `--json`, and folders from `paper` or `sweep`
    #[arg(value_name = "RESULTS", required = true)]
    pub results: Vec<PathBuf>,

    /// The page
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub out: PathBuf,

    /// Also write the figures of papers as SVG files into this folder
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt paper all --quick                             about two minutes on two cores
  warpwatt paper warped-compression
  warpwatt paper e2mc --size medium --large-where-needed --out e2mc-medium
  warpwatt paper combined                                techniques of all papers together
  warpwatt paper warped-compression --workloads bfs,lib --json -

DIR gets a file for each run (points/), the series of each figure (figures/), the ledger
(ledger.json, ledger.md) with a row for each claim and its measurement, and tables of everything
(data/). With `all`, each paper has a folder for figures and ledger. Existing results are reused if
program, inputs and settings are the same, so an interrupted command continues where it stopped.
docs/papers.md describes the experiments, docs/sweeps.md `--engine slurm`.")]
pub struct PaperArgs {
    /// The paper: warped-compression, corf, e2mc, or caches; combined, for their techniques together; or all
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Quick version: one seed and about half of each suite, without a tally
    #[arg(long, conflicts_with_all = ["workloads", "large_where_needed"])]
    pub quick: bool,

    /// Measure claims that need a larger size at large, instead of scaling their lengths: takes hours
    #[arg(long)]
    pub large_where_needed: bool,

    /// Judge the points that this other build of warpwatt left in DIR, without a simulation: after a change of reasons, readings or figures
    #[arg(long, value_name = "PROGRAM")]
    pub points_of: Option<PathBuf>,

    /// Also write the tables as CSV
    #[arg(long)]
    pub csv: bool,

    /// Size of the workloads
    #[arg(long, value_parser = parse_size, default_value = "small")]
    pub size: Size,

    /// Number of parallel runs, each on one thread [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: Option<u32>,

    /// Folder for the results: new, empty, or created by this command
    #[arg(long, value_name = "DIR", default_value = "warpwatt-out")]
    pub out: PathBuf,

    /// Seeds of the workloads' inputs: three or more give a spread and a tally, one is faster
    #[arg(long, visible_alias = "seed", value_delimiter = ',', default_values_t = [1, 2, 3], value_name = "N,N")]
    pub seeds: Vec<u64>,

    /// These workloads instead of the paper's suite, or `all`; `warpwatt list workloads` shows them
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub workloads: Vec<String>,

    /// Also write the ledger (schema warpwatt.ledger/2; a list with `all`) to a file, or to stdout with `-` instead of the table
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub engine: EngineArgs,
}

/// What runs the points of papers and sweeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Engine {
    // Plain comments: described values would turn the whole help into its long form.
    #[default]
    Local,
    Slurm,
}

#[derive(Args, Clone, Debug, Default)]
pub struct EngineArgs {
    /// What runs the points: threads of this process, or array tasks of a Slurm cluster
    #[arg(long, value_enum, value_name = "ENGINE", default_value = "local")]
    pub engine: Engine,

    /// With `--engine slurm`: leave the tasks in the queue and return; repeat the command to collect the results
    #[arg(long)]
    pub detach: bool,

    /// With `--engine slurm`: take the table `[slurm]` (partition, time, memory and so on) of this file
    #[arg(long, value_name = "FILE.toml")]
    pub slurm: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt sweep examples/sweep/l1.toml --out l1
  warpwatt sweep examples/sweep/l1.toml --out l1 --csv
  warpwatt sweep big.toml --out big --engine slurm       as array tasks of a Slurm cluster
  warpwatt sweep status big                              done, running, failed, lost, time left
  warpwatt sweep cancel big                              cancel its tasks
  warpwatt sweep big.toml --out big --requests           a file for each missing point

DIR gets a file for each run (points/), tables of everything (data/), and the energy and time of
each configuration with the Pareto front (sweep.json, figures/). Existing results are reused.
docs/sweeps.md describes the file, and how to run the points on a cluster.")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct SweepArgs {
    #[command(subcommand)]
    pub command: Option<SweepCommand>,

    /// The sweep file; `warpwatt schema sweep` prints its schema
    #[arg(value_name = "FILE.toml", required = true)]
    pub file: Option<PathBuf>,

    /// Number of parallel runs, each on one thread [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: Option<u32>,

    /// Folder for the results: new, empty, or created by this command
    #[arg(long, value_name = "DIR", default_value = "warpwatt-sweep")]
    pub out: PathBuf,

    /// Also write the tables as CSV
    #[arg(long)]
    pub csv: bool,

    /// Simulate nothing: write a request for each missing point to DIR/requests, for `warpwatt point`
    #[arg(long, conflicts_with_all = ["jobs", "csv"])]
    pub requests: bool,

    /// Also write the result (schema warpwatt.sweep-result/1) to a file, or to stdout with `-` instead of the table
    #[arg(long, value_name = "FILE|-", conflicts_with = "requests")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub engine: EngineArgs,
}

impl EngineArgs {
    /// As on a command line, for messages that suggest how to continue.
    pub fn words(&self) -> String {
        let mut text = String::new();
        if self.engine == Engine::Slurm {
            text += " --engine slurm";
        }
        if let Some(path) = &self.slurm {
            text += &format!(" --slurm {}", path.display());
        }
        text
    }
}

#[derive(Subcommand, Debug)]
pub enum SweepCommand {
    /// Show which points of a folder are done, running, waiting, failed or lost, and the time left
    Status(SweepStatusArgs),
    /// Cancel the waiting and running Slurm tasks of a folder; finished points are kept
    Cancel(SweepCancelArgs),
    /// Run the points of an array task: what the script of a batch calls
    #[command(hide = true)]
    Work(SweepWorkArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  warpwatt sweep status big                              of a folder that `--engine slurm` made
  warpwatt sweep status big.toml --out big               of any sweep, by its file
  warpwatt sweep status big --json -

done: the result exists. waiting: in a task that waits or runs. late: its task is over, and the
result may still appear. lost: its task ended without it. unsubmitted: in no task. The command of
the sweep runs what is lost, failed or unsubmitted, and waits for the rest.")]
pub struct SweepStatusArgs {
    /// The folder of results, of a sweep or of a paper; or the sweep file
    #[arg(value_name = "DIR|FILE.toml")]
    pub what: PathBuf,

    /// Folder for the results, where the sweep file is named
    #[arg(long, value_name = "DIR", default_value = "warpwatt-sweep")]
    pub out: PathBuf,

    /// Write the status (schema warpwatt.sweep-status/1) to a file, or to stdout with `-` instead of the text
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  warpwatt sweep cancel big")]
pub struct SweepCancelArgs {
    /// The folder of results
    #[arg(value_name = "DIR")]
    pub out: PathBuf,
}

#[derive(Args, Debug)]
pub struct SweepWorkArgs {
    /// The folder of the batch
    #[arg(value_name = "BATCH")]
    pub batch: PathBuf,

    /// The place of the task in the array
    #[arg(value_name = "TASK")]
    pub task: usize,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  warpwatt point requests/KEY.json points/KEY.json

The result is what `paper` and `sweep` keep of a run. An existing output of this point is not
replaced.")]
pub struct PointArgs {
    /// What to run (schema warpwatt.request/1)
    #[arg(value_name = "IN.json")]
    pub input: PathBuf,

    /// Where the result goes (schema warpwatt.point/1)
    #[arg(value_name = "OUT.json")]
    pub output: PathBuf,
}
