// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is built in: workloads, GPUs, techniques, technologies, as tables.

use pyo3::prelude::*;
use warpwatt_cli::front::{gpu_failure, technology_failure};
use warpwatt_config::{GpuFile, PRESETS};
use warpwatt_dataset::{Column, Table as Columns};
use warpwatt_energy::{TECHNOLOGIES, Technology};
use warpwatt_runtime::Techniques;

use crate::errors::raised;
use crate::table::Table;

/// The built-in workloads.
#[pyfunction]
pub fn workloads() -> Table {
    let all = || warpwatt_workloads::all().iter().map(|workload| workload.info());
    let columns = vec![
        Column::text("name", all().map(|info| Some(info.name))),
        Column::text("suite", all().map(|info| Some(info.suite))),
        Column::text("data", all().map(|info| Some(info.data.name()))),
        Column::text("about", all().map(|info| Some(info.about))),
    ];
    Table::new(Columns { name: "workloads", columns })
}

/// The built-in GPUs.
#[pyfunction]
pub fn gpus(py: Python<'_>) -> PyResult<Table> {
    let files: Result<Vec<_>, _> = PRESETS.iter().map(|preset| GpuFile::preset(preset.name)).collect();
    let files = files.map_err(|errors| raised(py, &gpu_failure(&errors)))?;
    let columns = vec![
        Column::text("name", files.iter().map(|file| Some(&file.name))),
        Column::count("sms", files.iter().map(|file| Some(file.config.gpu.sms.into()))),
        Column::count("core_mhz", files.iter().map(|file| Some(file.config.clock.core_mhz.into()))),
        Column::count("l2_bytes", files.iter().map(|file| Some(file.config.l2_bytes()))),
        Column::text("about", files.iter().map(|file| Some(&file.description))),
    ];
    Ok(Table::new(Columns { name: "gpus", columns }))
}

/// The techniques that can be switched on.
#[pyfunction]
pub fn techniques() -> Table {
    let all = || Techniques::ALL.iter();
    let parameters = |names: Vec<&str>| names.join(" ");
    let columns = vec![
        Column::text("name", all().map(|info| Some(info.name))),
        Column::text(
            "parameters",
            all().map(|info| Some(parameters((info.parameters)().iter().map(|one| one.name).collect()))),
        ),
        Column::text("about", all().map(|info| Some(info.doc))),
    ];
    Table::new(Columns { name: "techniques", columns })
}

/// The technologies that energy can be computed with.
#[pyfunction]
pub fn technologies(py: Python<'_>) -> PyResult<Table> {
    let all: Result<Vec<_>, _> = TECHNOLOGIES.iter().map(|known| Technology::builtin(known.name)).collect();
    let all = all.map_err(|errors| raised(py, &technology_failure(&errors)))?;
    let columns = vec![
        Column::text("name", all.iter().map(|technology| Some(&technology.name))),
        Column::count("structures", all.iter().map(|one| Some(one.structures.len() as u64))),
        Column::text("about", all.iter().map(|technology| Some(&technology.description))),
    ];
    Ok(Table::new(Columns { name: "technologies", columns }))
}
