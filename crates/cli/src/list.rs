// SPDX-License-Identifier: MIT OR Apache-2.0
//! `list`: what is built in.

use warpwatt_ptx::suggest;
use warpwatt_workloads::Workload;

use crate::args::{Catalogue, ListArgs};
use crate::console::Console;
use crate::exit::{Exit, Failure};

pub fn list(args: &ListArgs, console: &Console) -> Result<Exit, Failure> {
    use Catalogue::{Claims, Techniques, Technologies, Workloads};
    if args.show.is_some() && !matches!(args.what, Workloads | Techniques | Technologies | Claims) {
        return Err(Failure::usage("`--show` is for workloads, techniques, technologies and claims")
            .help("`warpwatt gpu show NAME` shows a GPU"));
    }
    if args.paper.is_some() && args.what != Workloads {
        return Err(Failure::usage("`--paper` is for workloads").help("warpwatt list workloads --paper e2mc"));
    }
    match args.what {
        Catalogue::Workloads => crate::workloads::list(args, console),
        Catalogue::Gpus => crate::gpu::list(args, console),
        Catalogue::Techniques => crate::technique::list(args, console),
        Catalogue::Technologies => crate::energy::list(args, console),
        Catalogue::Claims => crate::paper::list_claims(args, console),
    }
}

/// The workload of that name, or advice.
pub fn find_workload(name: &str) -> Result<&'static dyn Workload, Failure> {
    warpwatt_workloads::find(name).ok_or_else(|| {
        let names: Vec<_> = warpwatt_workloads::all().iter().map(|workload| workload.info().name).collect();
        let failure = Failure::usage(format!("there is no workload `{name}`"));
        failure.help(match suggest::nearest(name, &names) {
            Some(nearest) => format!("did you mean `{nearest}`? `warpwatt list workloads` shows all of them"),
            None => format!("there are {}", names.join(", ")),
        })
    })
}
