// SPDX-License-Identifier: MIT OR Apache-2.0
//! `list`: what is built in.

use serde_json::json;
use warpwatt_ptx::suggest;
use warpwatt_workloads::{Size, Workload};

use crate::args::{Catalogue, ListArgs};
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::table::Table;

pub fn list(args: &ListArgs, console: &Console) -> Result<Exit, Failure> {
    if args.show.is_some()
        && !matches!(args.what, Catalogue::Techniques | Catalogue::Technologies | Catalogue::Claims)
    {
        return Err(Failure::usage("`--show` is for techniques, technologies and claims")
            .help("`warpwatt gpu show NAME` shows a GPU"));
    }
    match args.what {
        Catalogue::Workloads => workloads(args, console),
        Catalogue::Gpus => crate::gpu::list(args, console),
        Catalogue::Techniques => crate::technique::list(args, console),
        Catalogue::Technologies => crate::energy::list(args, console),
        Catalogue::Claims => crate::paper::list_claims(args, console),
    }
}

fn workloads(args: &ListArgs, console: &Console) -> Result<Exit, Failure> {
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&as_json())
            .map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
        write_result(path, &(text + "\n"), console)?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&[
        "workload",
        "suite",
        "what it computes",
        "dimensions",
        "tiny",
        "small",
        "medium",
        "large",
    ]);
    for column in 1..=3 {
        table = table.left(column);
    }
    for workload in warpwatt_workloads::all() {
        let info = workload.info();
        let names: Vec<_> = info.dims.iter().map(|dim| dim.name).collect();
        let at = |size| {
            let values: Vec<_> = info.dims.iter().map(|dim| dim.at(size).to_string()).collect();
            values.join(" x ")
        };
        table.row([
            info.name.to_owned(),
            info.suite.to_owned(),
            info.about.to_owned(),
            names.join(" x "),
            at(Size::Tiny),
            at(Size::Small),
            at(Size::Medium),
            at(Size::Large),
        ]);
    }
    console.result(&table.render());
    console.summary(
        "\nSizes by thread instructions: tiny at most 1 M, small 3 to 10 M, medium 30 to 60 M, large 250 to 500 M.\n\
         Run one with `warpwatt run NAME@SIZE`.\n",
    );
    Ok(Exit::Ok)
}

fn as_json() -> serde_json::Value {
    let one = |workload: &&dyn Workload| {
        let info = workload.info();
        let sizes: serde_json::Map<_, _> = Size::ALL
            .iter()
            .map(|size| {
                let dims: serde_json::Map<_, _> =
                    info.dims.iter().map(|dim| (dim.name.to_owned(), dim.at(*size).into())).collect();
                (size.to_string(), dims.into())
            })
            .collect();
        json!({
            "name": info.name,
            "about": info.about,
            "domain": info.domain,
            "suite": info.suite,
            "kernels": info.kernels,
            "order_dependent": info.order_dependent,
            "sizes": sizes,
        })
    };
    json!({ "workloads": warpwatt_workloads::all().iter().map(one).collect::<Vec<_>>() })
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
