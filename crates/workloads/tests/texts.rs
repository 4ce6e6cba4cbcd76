// SPDX-License-Identifier: MIT OR Apache-2.0
//! The texts that belong together do: sources, the PTX made from them, and the figures measured on that PTX.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use warpwatt_workloads::{Size, all, find};

const REFERENCE: &str = include_str!("../reference/ptxas.toml");

fn entries(ptx: &str) -> Vec<&str> {
    ptx.lines().filter_map(|line| line.strip_prefix(".visible .entry ")?.strip_suffix('(')).collect()
}

#[test]
fn each_ptx_was_made_from_the_source_beside_it() {
    for workload in all() {
        let name = workload.info().name;
        let digest: String = Sha256::digest(workload.source()).iter().map(|b| format!("{b:02x}")).collect();
        let first = workload.ptx().lines().next();
        assert_eq!(first, Some(format!("// {name}.cu sha256 {digest}").as_str()), "run tools/build-ptx.py");
    }
}

#[test]
fn line_tables_name_the_source_and_nothing_else() {
    for workload in all() {
        let files: Vec<&str> = workload.ptx().lines().filter(|line| line.contains(".file")).collect();
        assert_eq!(files, [format!("\t.file\t1 \"{}.cu\"", workload.info().name)]);
        assert!(workload.ptx().contains("\t.loc\t1 "));
    }
}

#[test]
fn every_kernel_of_the_ptx_is_listed_once() {
    for workload in all() {
        let listed: BTreeSet<&str> = workload.info().kernels.iter().map(|kernel| kernel.name).collect();
        let defined = entries(workload.ptx());
        assert_eq!(listed, defined.iter().copied().collect());
        assert_eq!(listed.len(), defined.len());
    }
}

#[test]
fn the_assembler_reference_covers_exactly_our_kernels() {
    let value = |line: &'static str, key| -> Option<&'static str> {
        line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')
    };
    let workloads = REFERENCE.lines().filter_map(|line| value(line, "workload"));
    let names = REFERENCE.lines().filter_map(|line| value(line, "name"));
    let measured: BTreeSet<(&str, &str)> = workloads.zip(names).collect();
    let ours: BTreeSet<(&str, &str)> = all()
        .iter()
        .flat_map(|w| w.info().kernels.iter().map(|kernel| (w.info().name, kernel.name)))
        .collect();
    assert_eq!(measured, ours, "run tools/ptxas-reference.py");
}

#[test]
fn workloads_are_found_by_name() {
    for workload in all() {
        assert_eq!(find(workload.info().name).map(|found| found.info().name), Some(workload.info().name));
    }
    assert!(find("no such workload").is_none());
}

#[test]
fn problems_grow_with_their_size() {
    for workload in all() {
        let extent = |size| workload.info().dims.iter().map(|dim| u64::from(dim.at(size))).product::<u64>();
        assert!(
            Size::ALL.windows(2).all(|pair| extent(pair[0]) < extent(pair[1])),
            "{}",
            workload.info().name
        );
    }
}
