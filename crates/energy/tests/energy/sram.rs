// SPDX-License-Identifier: MIT OR Apache-2.0
//! The SRAM model against CACTI: the series it was fitted to, and arrays of a GPU. `cargo test -p warpwatt-energy -- --nocapture sram`
//! prints the errors.

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
    line: f64,
    #[serde(default)]
    sequential: bool,
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
        line_bytes: row.line,
        sequential: row.sequential,
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
    assert!(medians[0] < 0.12, "{medians:?}");
    assert!(medians[2] < 0.15, "{medians:?}");
}

#[test]
fn warped_compression_s_bank_is_near_the_model_s() {
    let bank = Sram {
        bytes: 4096.0,
        banks: 1.0,
        width_bits: 128.0,
        ways: 1.0,
        line_bytes: 0.0,
        sequential: false,
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
        ("width", Sram { width_bits: plain.width_bits * 2.0, ..plain }, [true, true, false, true]),
        ("ways", Sram { ways: plain.ways * 2.0, ..plain }, [true, true, false, true]),
        ("tags", Sram { line_bytes: plain.line_bytes / 2.0, ..plain }, [true, true, true, true]),
        ("banks", Sram { banks: 2.0, ..plain }, [true, true, false, true]),
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
    assert!((hot.leakage().0 / cool.leakage().0 - 42.70 / 21.72).abs() < 1e-9);
}

#[derive(Deserialize)]
struct AllSeries {
    series: Vec<Series>,
}

#[derive(Deserialize)]
struct Series {
    name: String,
    #[serde(default)]
    tags: bool,
    /// Arrays of so many bytes and more are read one way at a time.
    sequential: Option<f64>,
    #[serde(default)]
    write_ports: f64,
    points: Vec<[f64; 10]>,
}

impl Series {
    fn array(&self, [bytes, ways, line, port, nm, kelvin, ..]: [f64; 10]) -> Sram {
        Sram {
            bytes,
            banks: 1.0,
            width_bits: port,
            ways,
            line_bytes: if self.tags { line } else { 0.0 },
            sequential: self.sequential.is_some_and(|least| bytes >= least),
            extra_ports: self.write_ports,
            node_nm: nm,
            volts: volts(nm),
            kelvin,
        }
    }
}

/// What CACTI takes for its nodes.
fn volts(nm: f64) -> f64 {
    let known = [(22.0, 0.8), (32.0, 0.9), (40.0, 0.96), (45.0, 1.0), (65.0, 1.1), (90.0, 1.2)];
    known.iter().find(|(node, _)| *node == nm).map_or(f64::NAN, |(_, volts)| *volts)
}

fn all_series() -> Vec<Series> {
    let data: AllSeries = toml::from_str(include_str!("../../data/cacti-series.toml"))
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(data.series.len() >= 8);
    data.series
}

fn figures(array: Sram) -> [f64; 4] {
    [array.read().0, array.write().0, array.leakage().0, array.area_mm2()]
}

const FIGURES: [&str; 4] = ["read", "write", "leakage", "area"];

#[test]
fn the_model_follows_every_series_within_25_percent() {
    let mut worst = [0.0_f64; 4];
    for series in all_series() {
        for point in &series.points {
            let found = figures(series.array(*point));
            let errors: [f64; 4] = std::array::from_fn(|i| found[i] / point[6 + i] - 1.0);
            let [read, write, leakage, area] = errors.map(|error| error * 100.0);
            println!(
                "{:16} {:8} B {:2} ways {:4} B {:4} bit {:3} nm {:3} K: {read:4.0} % {write:4.0} % {leakage:4.0} % {area:4.0} %",
                series.name, point[0], point[1], point[2], point[3], point[4], point[5]
            );
            for ((error, worst), figure) in errors.iter().zip(&mut worst).zip(FIGURES) {
                assert!(error.abs() < 0.25, "{}, {point:?}: {figure} is off by {error}", series.name);
                *worst = worst.max(error.abs());
            }
        }
    }
    println!("worst: {worst:?}");
}

#[test]
fn between_the_points_of_a_series_the_model_is_monotone() {
    for series in all_series() {
        for pair in series.points.windows(2) {
            let [from, to] = [series.array(pair[0]), series.array(pair[1])];
            if from.sequential != to.sequential {
                continue;
            }
            let step = |k: u32| {
                let share = f64::from(k) / 16.0;
                let at = |from: f64, to: f64| if from == to { from } else { from * (to / from).powf(share) };
                figures(Sram {
                    bytes: at(from.bytes, to.bytes),
                    ways: at(from.ways, to.ways),
                    line_bytes: at(from.line_bytes, to.line_bytes),
                    width_bits: at(from.width_bits, to.width_bits),
                    kelvin: at(from.kelvin, to.kelvin),
                    ..from
                })
            };
            for (i, figure) in FIGURES.iter().enumerate() {
                let values: Vec<f64> = (0..=16).map(|k| step(k)[i]).collect();
                let least = |a: f64, b: f64| a <= b * (1.0 + 1e-12);
                let rises = values.windows(2).all(|pair| least(pair[0], pair[1]));
                let falls = values.windows(2).all(|pair| least(pair[1], pair[0]));
                assert!(rises || falls, "{}, {figure}: {values:?}", series.name);
            }
        }
    }
}

/// Nodes have usual voltages of their own between those of the series.
#[test]
fn between_two_nodes_the_figures_lie_between_theirs() {
    let row = &data().row[1];
    let at = |nm: f64, volts: f64| figures(array(row, nm, volts));
    let middle = at(36.0, 0.9 * (0.96_f64 / 0.9).powf((36.0_f64 / 32.0).ln() / (40.0_f64 / 32.0).ln()));
    for ((small, large), middle) in at(32.0, 0.9).iter().zip(at(40.0, 0.96)).zip(middle) {
        assert!(*small < middle && middle < large, "{small} {middle} {large}");
    }
}

#[test]
fn columns_are_a_part_of_a_read_that_grows_with_what_is_read_at_once() {
    let cache = |bytes: f64, ways: f64, sequential: bool| Sram {
        bytes,
        banks: 1.0,
        width_bits: 256.0,
        ways,
        line_bytes: 128.0,
        sequential,
        extra_ports: 0.0,
        node_nm: 40.0,
        volts: 0.96,
        kelvin: 350.0,
    };
    let shares = [
        ("L1 data", cache(16384.0, 4.0, false)),
        ("L2 slice", Sram { width_bits: 512.0, ..cache(131_072.0, 16.0, true) }),
        ("L2 slice, 256 bits", cache(131_072.0, 16.0, true)),
        ("constant", Sram { line_bytes: 64.0, ..cache(8192.0, 2.0, false) }),
        ("texture", cache(12288.0, 24.0, true)),
        ("shared bank", Sram { width_bits: 32.0, line_bytes: 0.0, banks: 32.0, ..cache(1536.0, 1.0, false) }),
    ]
    .map(|(name, array)| (name, array.column_share()));
    println!("columns' part of a read: {shares:.3?}");
    assert!(shares.iter().all(|(_, share)| (0.05..1.0).contains(share)), "{shares:?}");
    let narrow = Sram { width_bits: 128.0, ..cache(16384.0, 4.0, false) };
    assert!(narrow.column_share() > cache(16384.0, 4.0, false).column_share(), "fewer wires");
    assert!(cache(16384.0, 8.0, false).column_share() > cache(16384.0, 4.0, false).column_share());
    assert!(cache(65536.0, 4.0, false).column_share() < cache(16384.0, 4.0, false).column_share());
    let hot = Sram { volts: 0.8, kelvin: 380.0, node_nm: 32.0, ..cache(16384.0, 4.0, false) };
    assert!((hot.column_share() - cache(16384.0, 4.0, false).column_share()).abs() < 1e-12);
}

#[test]
fn the_parts_of_a_read_add_up_to_cacti_s_within_a_fifth() {
    let mut seen = 0;
    for series in all_series().iter().filter(|series| series.tags) {
        for point in series.points.iter().filter(|point| point[0] <= 524_288.0 && point[3] <= 512.0) {
            let [nm, kelvin, read] = [point[4], point[5], point[6]];
            if (nm, kelvin) != (40.0, 350.0) {
                continue;
            }
            let parts = series.array(*point).parts();
            let error = parts.total() / read - 1.0;
            let share = parts.columns / parts.total();
            println!(
                "{:16} {:?}: {:.2}, columns {share:.2}, {:4.0} %",
                series.name,
                &point[..4],
                read,
                100.0 * error
            );
            assert!(error.abs() < 0.21, "{}, {point:?}: {parts:?} for {read}", series.name);
            seen += 1;
        }
    }
    assert!(seen >= 18, "{seen}");
}

/// Steps of CACTI's series in which one part changes: wires by the port, columns by the ways.
#[test]
fn two_steps_of_cacti_agree_about_wires_and_columns() {
    let (port_128, port_256, ways_8) = (30.25, 38.02, 59.71);
    let wires = 2.0 * (port_256 - port_128);
    let side = |area: f64| area.sqrt();
    let wider = wires * (side(0.1937) / side(0.1801) - 1.0);
    let column = (ways_8 - port_256 - wider) / (4.0 * 286.0);
    let columns = 4.0 * 286.0 * column;
    assert!(((wires + columns) / port_256 - 1.0).abs() < 0.05, "{wires} and {columns} of {port_256}");
}
