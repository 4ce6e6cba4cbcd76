// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lanes of accesses to blocks of caches, beside Table 3-1 of the drowsy-cache thesis.

use std::collections::BTreeMap;

use super::runs::{BLOCKS, Measured};
use super::sheet::{Cell, Sheet, heading, percent};
use crate::exit::{Exit, Failure};

/// The claim that is the table.
const CLAIM: &str = "cache.block_utilization";
/// As the claim names them.
const CACHES: [&str; 5] = ["l1d", "l2", "shared", "constant", "texture"];

/// Active lanes of an access in percent of 32; nothing for a cache that is not used.
fn measure(one: &Measured, cache: &str) -> Option<f64> {
    let count = |name: String| one.count(BLOCKS, &name).unwrap_or_default();
    let (lanes, accesses) = match cache {
        // Loads that miss are accesses, too.
        "l1d" => (count("l1d.load_lanes.count".to_owned()), count("l1d.reads.count".to_owned())),
        // Stores and atomic operations, too.
        "l2" => {
            let kinds = ["reads", "writes", "atomics"].map(|kind| count(format!("l2.{kind}.count")));
            (count("l2.lanes.count".to_owned()), kinds.iter().sum())
        }
        _ => {
            (count(format!("profile.{cache}_lanes.count")), count(format!("profile.{cache}_accesses.count")))
        }
    };
    percent(lanes / 32.0, accesses)
}

/// The thesis's figures by workload and cache.
fn thesis() -> Result<BTreeMap<(String, String), f64>, Failure> {
    let internal = |error: String| Failure::new(Exit::Internal, error);
    let claims = warpwatt_papers::claims().map_err(|error| internal(error.to_string()))?;
    let claim = claims.iter().find(|claim| claim.id == CLAIM);
    let claim = claim.ok_or_else(|| internal(format!("there is no claim {CLAIM}")))?;
    let suite = warpwatt_papers::suite("caches").map_err(|error| internal(error.to_string()))?;
    let mut figures = BTreeMap::new();
    for (entry, value) in claim.entries() {
        let Some((program, cache)) = entry.rsplit_once('.') else { continue };
        let programs = suite.iter().flat_map(|suite| &suite.programs);
        // The first workload is the program; others stand in for it.
        let ours = programs.filter(|other| other.name == program).filter_map(|other| other.ours.first());
        for workload in ours {
            figures.insert((workload.clone(), cache.to_owned()), value);
        }
    }
    Ok(figures)
}

pub fn utilization(measured: &[Measured]) -> Result<Sheet, Failure> {
    let thesis = thesis()?;
    let row = |one: &Measured| {
        let theirs = |cache: &str| thesis.get(&(one.name().to_owned(), cache.to_owned())).copied();
        let used = |value: Option<f64>| value.filter(|value| *value > 0.0);
        let cells =
            CACHES.iter().flat_map(|cache| [measure(one, cache), used(theirs(cache))].map(Cell::from));
        (one.name(), cells.collect())
    };
    Ok(Sheet {
        key: "block_utilisation",
        title: "Block utilisation (gtx480-thesis)",
        note: "Active lanes of an access to a block of a cache, in percent of 32, and the value of the thesis's Table 3-1 (`ref`) if the workload is one of its programs. No value: the cache is not used.",
        headings: vec![
            heading("l1d", "L1D", 1),
            heading("l1d_thesis", "ref", 1),
            heading("l2", "L2", 1),
            heading("l2_thesis", "ref", 1),
            heading("shared", "shared", 1),
            heading("shared_thesis", "ref", 1),
            heading("constant", "const", 1),
            heading("constant_thesis", "ref", 1),
            heading("texture", "tex", 1),
            heading("texture_thesis", "ref", 1),
        ],
        rows: measured.iter().map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thesis_has_figures_for_our_workloads_by_their_own_names() {
        let thesis = thesis().expect("the claims");
        let names: Vec<_> = warpwatt_workloads::all().iter().map(|workload| workload.info().name).collect();
        let known = thesis.keys().filter(|(workload, _)| names.contains(&workload.as_str())).count();
        assert!(known >= 15 * CACHES.len(), "{known}");
        assert!(thesis.keys().all(|(_, cache)| CACHES.contains(&cache.as_str())));
    }
}
