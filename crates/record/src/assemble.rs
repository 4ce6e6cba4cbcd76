// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one place where a run record is put together, whichever command or process ran the launches.

use warpwatt_results::{Host, Inputs, Kernel, RunRecord, Sums};

use crate::energy::Energies;
use crate::launch::{Whole, tool};

/// The record of a run: the launches that are kept, the sums over all of them, what the device did as a whole and, where it was timed with a technology, energy.
pub fn assemble(
    inputs: Inputs,
    kernels: Vec<Kernel>,
    sums: &Sums,
    whole: Option<&Whole>,
    energies: Option<&Energies>,
    host: Host,
) -> RunRecord {
    let mut record = RunRecord::new(tool(), inputs, kernels, sums, whole.map(Whole::elapsed), host);
    if let Some(energies) = energies {
        energies.totals(&mut record, sums);
    }
    record
}
