// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes the data set of a folder: every table as Parquet, and as CSV if requested.

use serde_json::Value;
use warpwatt_dataset::Measured;

use super::folder::{DATA, Folder};
use super::internal;
use crate::exit::Failure;

/// Writes the tables of these points and figures.
pub fn write(
    folder: &Folder,
    points: &[Measured],
    figures: &[(String, Value)],
    csv: bool,
) -> Result<(), Failure> {
    let mut tables = warpwatt_dataset::tables(points);
    tables.push(warpwatt_dataset::figures(figures));
    for table in &tables {
        let bytes = table.to_parquet().map_err(internal)?;
        folder.write(&format!("{DATA}/{}.parquet", table.name), &bytes)?;
        if csv {
            let bytes = table.to_csv().map_err(internal)?;
            folder.write(&format!("{DATA}/{}.csv", table.name), &bytes)?;
        }
    }
    Ok(())
}
