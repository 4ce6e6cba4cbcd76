// SPDX-License-Identifier: MIT OR Apache-2.0
//! The SRAM model against the table it was fitted to. `cargo test -p warpwatt-energy -- --nocapture sram` prints the errors.

use serde::Deserialize;
use warpwatt_energy::Sram;

#[derive(Deserialize)]
struct Data {
    nodes: Nodes,
    row: Vec<Row>,
}

#[derive(Deserialize)]
struct Nodes {
    nm: Vec<f64>,
    volts: Vec<f64>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    bytes: f64,
    #[serde(default = "one")]
    banks: f64,
    width: f64,
    #[serde(default = "one")]
    ways: f64,
    #[serde(default)]
    read_ports: f64,
    #[serde(default)]
    write_ports: f64,
    nodes: Vec<[f64; 3]>,
    c65: [f64; 3],
}

fn one() -> f64 {
    1.0
}

fn data() -> Data {
    toml::from_str(include_str!("../../data/cacti.toml")).unwrap_or_else(|error| panic!("{error}"))
}

fn array(row: &Row, node_nm: f64, volts: f64) -> Sram {
    Sram {
        bytes: row.bytes,
        banks: row.banks,
        width_bits: row.width,
        ways: row.ways,
        extra_ports: (row.read_ports + row.write_ports - 1.0).max(0.0),
        node_nm,
        volts,
        kelvin: 350.0,
    }
}

fn median(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

#[test]
fn the_model_is_within_15_percent_of_cacti_in_the_median() {
    let data = data();
    let (mut fitted, mut other) = (Vec::new(), Vec::new());
    println!("{:44} {:>6} {:>7} {:>7} {:>7}", "error of the SRAM model", "nm", "read", "write", "leakage");
    for row in &data.row {
        let columns = data.nodes.nm.iter().zip(&data.nodes.volts).zip(&row.nodes);
        let nodes = columns.map(|((nm, volts), values)| (*nm, *volts, *values, true));
        for (nm, volts, [read, write, leakage], is_fitted) in nodes.chain([(45.0, 1.0, row.c65, false)]) {
            let array = array(row, nm, volts);
            let errors = [array.read().0 / read, array.write().0 / write, array.leakage().0 / leakage]
                .map(|ratio| ratio - 1.0);
            let [r, w, l] = errors.map(|error| error * 100.0);
            let node = if is_fitted { format!("{nm}") } else { format!("{nm} C65") };
            println!("{:44} {node:>6} {r:>6.0}% {w:>6.0}% {l:>6.0}%", row.name);
            if is_fitted { &mut fitted } else { &mut other }.extend(errors.map(f64::abs));
        }
    }
    let all: Vec<_> = fitted.iter().chain(&other).copied().collect();
    let medians = [fitted, other, all].map(median);
    println!("medians: CACTI 7 {:.3}, C65 {:.3}, both {:.3}", medians[0], medians[1], medians[2]);
    assert!(medians[0] < 0.05, "{medians:?}");
    assert!(medians[2] < 0.15, "{medians:?}");
}

#[test]
fn warped_compression_s_bank_is_near_the_model_s() {
    let bank = Sram {
        bytes: 4096.0,
        banks: 1.0,
        width_bits: 128.0,
        ways: 1.0,
        extra_ports: 1.0,
        node_nm: 45.0,
        volts: 1.0,
        kelvin: 350.0,
    };
    let mean = (bank.read().0 + bank.write().0) / 2.0;
    assert!((mean / 7.0 - 1.0).abs() < 0.15, "{mean}");
    assert!((bank.leakage().0 / 5.8 - 1.0).abs() < 0.15, "{}", bank.leakage().0);
}

#[test]
fn more_of_anything_costs_more() {
    let row = &data().row[1];
    let plain = array(row, 40.0, 0.96);
    let figures = |array: Sram| {
        [array.read().0, array.write().0, array.leakage().0, array.area_mm2()].map(|figure| figure)
    };
    let changes = [
        ("bytes", Sram { bytes: plain.bytes * 2.0, ..plain }, [true, true, true, true]),
        ("width", Sram { width_bits: plain.width_bits * 2.0, ..plain }, [true, true, false, false]),
        ("ports", Sram { extra_ports: 2.0, ..plain }, [true, true, true, true]),
        ("node", Sram { node_nm: 45.0, ..plain }, [true, true, true, true]),
        ("voltage", Sram { volts: 1.0, ..plain }, [true, true, true, false]),
        ("temperature", Sram { kelvin: 380.0, ..plain }, [false, false, true, false]),
    ];
    for (what, changed, more) in changes {
        for ((before, after), more) in figures(plain).iter().zip(figures(changed)).zip(more) {
            assert_eq!(after > *before, more, "{what}: {before} to {after}");
        }
    }
}

#[test]
fn leakage_doubles_from_300_to_350_kelvin() {
    let row = &data().row[0];
    let hot = array(row, 40.0, 0.96);
    let cool = Sram { kelvin: 300.0, ..hot };
    assert!((hot.leakage().0 / cool.leakage().0 - 2.0).abs() < 1e-12);
}
