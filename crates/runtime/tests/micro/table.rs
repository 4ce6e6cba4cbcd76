// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of micro-benchmarks in the documentation is what they say today. `WARPWATT_BLESS=1` writes it anew.

use std::fmt::Write;

use warpwatt_testing::golden;

use crate::figure::Figure;
use crate::{arithmetic, control, known, memory, shared, streams};

const HEAD: &str = "# Validation

Micro-benchmarks with known results, as `cargo test -p warpwatt-runtime --test micro` runs them. The known result follows from
the parameters of the GPU by the given formula, or was measured on the real card by others; the test fails when our result is outside the
tolerance. Cycles are core cycles. Unless stated otherwise, one SM of a GTX 480 is measured; times are differences between two runs, so
that launches and cold caches do not count.

The column \"card\" has the published figures of the real card, all of them if there are several, with their source. \"Published run\" stands for result tables of a well-known
benchmark suite for these cards; they give one figure for each card (two for the GTX 480's streams), so their spread is unknown. Figures cited from memory are marked.

The tests also check conservation in all of these runs and in the fourteen workloads: issue slots and stalls add up
to cycles, instructions issued retire, source lines add up to totals, requests are answered, cache accesses are hits, misses or merges,
memory moves what caches miss, and register accesses are those of the instructions. A test checks that every
key of `warpwatt gpu show` changes a counter. Threads, skipping of idle cycles and vector instructions of the host change no result, also on random
GPUs.
";

/// What is measured elsewhere: `cargo test -p warpwatt-workloads --test bookings`.
const BOOKINGS: &str = include_str!("bookings.md");

fn number(value: f64) -> String {
    match value {
        value if value.fract() == 0.0 => format!("{value}"),
        value if value.abs() < 10.0 => format!("{value:.2}"),
        value => format!("{value:.1}"),
    }
}

fn table(text: &mut String, title: &str, figures: &[Figure]) {
    let _ = writeln!(text, "\n## {title}\n");
    let _ = writeln!(
        text,
        "| what | measured | known | off by | allowed | by | card |\n|---|---:|---:|---:|---:|---|---|"
    );
    for figure in figures {
        let _ = writeln!(
            text,
            "| {} | {} {} | {} | {:+.1} % | {:.1} % | {} | {} |",
            figure.what,
            number(figure.measured),
            figure.unit,
            number(figure.known),
            // Without a sign before zero.
            (1000.0 * figure.error()).round() / 10.0 + 0.0,
            100.0 * figure.tolerance,
            figure.from,
            figure.silicon
        );
    }
}

#[test]
fn the_documentation_says_what_is_measured() {
    let mut text = HEAD.to_owned();
    table(&mut text, "Arithmetic", &arithmetic::figures());
    table(&mut text, "Shared memory", &shared::figures());
    table(&mut text, "Global memory", &memory::figures());
    table(&mut text, "Streams of global memory", &streams::figures());
    text += &streams::attributed();
    table(&mut text, "Blocks, branches and small caches", &control::figures());
    table(&mut text, "GPGPU-Sim on the same algorithms", &known::figures());
    known::attribution(&mut text);
    text += BOOKINGS;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/validation.md");
    golden::check(path, &text, "If the change is meant, run the tests with WARPWATT_BLESS=1");
}
