// SPDX-License-Identifier: MIT OR Apache-2.0
//! `entropy`: how far the lines that move between L2 and DRAM can be compressed, by every codec, from one functional run.

use serde_json::{Value, json};
use warpwatt_codecs::block::bdi::Bdi;
use warpwatt_codecs::block::cpack::CPack;
use warpwatt_codecs::block::fpc::Fpc;
use warpwatt_codecs::block::{BlockCodec, Encoded, LARGEST};
use warpwatt_codecs::huffman::{Huffman, SymbolBits};
use warpwatt_runtime::{Collected, SymbolProfile, Traffic};

use crate::args::{EntropyArgs, GpuArgs};
use crate::console::{Console, check_writable, write_result};
use crate::exec;
use crate::exit::{Exit, Failure};
use crate::gpu::Machine;
use crate::interrupt;
use crate::profile;
use crate::run::workload;
use crate::table::{Table, grouped, paragraph};

/// Steps of the distribution of sizes, in bytes.
const STEP: usize = 8;

/// What a codec makes of the traffic.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    pub name: String,
    /// Bytes that lines are encoded as, at most those of a line.
    encoded: u64,
    /// Bytes that are moved in whole accesses.
    moved: u64,
    lines: u64,
    /// Lines by the bytes that they are encoded as.
    sizes: [u64; LARGEST / STEP],
    /// Lines by accesses.
    accesses: Vec<u64>,
}

impl Measured {
    fn ratio(&self, bytes: u64) -> Option<f64> {
        (bytes > 0).then(|| (self.lines * LARGEST as u64) as f64 / bytes as f64)
    }
}

/// The traffic of a job by all codecs.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    read: u64,
    written: u64,
    untouched: u64,
    granularity: usize,
    codecs: Vec<Measured>,
    /// The best ratio of any code for symbols of a length, by the source coding theorem.
    bounds: Vec<(u32, Option<f64>)>,
}

/// Measures traffic with accesses of so many bytes, with entropy codes from a profile.
pub fn measure(traffic: &Traffic, granularity: usize, values: usize, from: &SymbolProfile) -> Report {
    let mut codecs: Vec<(String, Box<dyn BlockCodec>)> = vec![
        ("bdi".to_owned(), Box::new(Bdi)),
        ("fpc".to_owned(), Box::new(Fpc)),
        ("cpack".to_owned(), Box::new(CPack)),
    ];
    for width in SymbolBits::ALL {
        let huffman = Huffman::new(from.of_width(width), values, 1);
        codecs.push((format!("e2mc{}", width.bits()), Box::new(huffman)));
    }
    for ways in [2, 4, 8] {
        let huffman = Huffman::new(from.of_width(SymbolBits::Sixteen), values, ways);
        codecs.push((format!("e2mc16, {ways} ways"), Box::new(huffman)));
    }
    let lines = traffic.lines();
    Report {
        read: lines.iter().map(|(_, [read, _])| read).sum(),
        written: lines.iter().map(|(_, [_, written])| written).sum(),
        untouched: traffic.untouched,
        granularity,
        codecs: codecs
            .iter()
            .map(|(name, codec)| encode(name, codec.as_ref(), &lines, granularity))
            .collect(),
        bounds: SymbolBits::ALL.into_iter().map(|width| (width.bits(), traffic.bound(width))).collect(),
    }
}

fn encode(
    name: &str,
    codec: &dyn BlockCodec,
    lines: &[(&[u8; LARGEST], [u64; 2])],
    granularity: usize,
) -> Measured {
    let mut measured = Measured {
        name: name.to_owned(),
        encoded: 0,
        moved: 0,
        lines: 0,
        sizes: [0; LARGEST / STEP],
        accesses: vec![0; LARGEST / granularity],
    };
    let mut out = Encoded::default();
    for (bytes, [read, written]) in lines {
        let count = read + written;
        let size = if codec.encode(*bytes, &mut out) { out.bytes().len() } else { LARGEST };
        // A line is stored encoded if that saves an access.
        let accesses =
            if size <= LARGEST - granularity { size.div_ceil(granularity) } else { LARGEST / granularity };
        measured.lines += count;
        measured.encoded += count * size as u64;
        measured.moved += count * (accesses * granularity) as u64;
        measured.sizes[size.div_ceil(STEP) - 1] += count;
        measured.accesses[accesses - 1] += count;
    }
    measured
}

pub fn entropy(args: &EntropyArgs, console: &Console) -> Result<Exit, Failure> {
    check_writable(args.json.as_deref())?;
    let gpu = GpuArgs { gpu: args.gpu.clone(), set: args.set.clone(), ..GpuArgs::default() };
    let machine = Machine::new(&gpu)?;
    if let [name, ..] = machine.techniques.canonical().as_slice() {
        let message =
            format!("every codec is measured on uncompressed lines, so `{name}` would have no effect");
        return Err(Failure::usage(message).help("leave the technique out"));
    }
    let config = &machine.config;
    let granularity = (config.dram.bus_bytes * config.dram.burst) as usize;
    if granularity >= LARGEST {
        let message = format!(
            "a line of {LARGEST} bytes is one access to memory on this GPU: there is nothing to save"
        );
        return Err(Failure::usage(message).help("choose another GPU, such as gtx580-e2mc"));
    }
    let collected = if args.from_dram { Collected::Dram } else { Collected::LoadsStores };
    let look = |traffic: &Traffic| {
        let profile = traffic.profile(collected);
        (measure(traffic, granularity, args.values as usize, &profile), profile)
    };
    let (name, (report, profile)) = match &args.workload {
        Some(name) => {
            let job = workload(name, args.size, args.seed)?;
            (job.name(), profile::collect(&job, config, &interrupt::flag(), look)?)
        }
        None => exec::traffic(&args.command, &machine, console, look)?,
    };
    if let Some(path) = &args.write_profile {
        write_result(path, &profile.to_text(), console)?;
    }
    match &args.json {
        Some(path) => {
            let document = document(&name, &machine.name, collected, &report);
            let text = serde_json::to_string_pretty(&document)
                .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
            write_result(path, &(text + "\n"), console)?;
        }
        None => console.result(&table(&name, &machine.name, collected, &report)),
    }
    Ok(Exit::Ok)
}

fn document(job: &str, gpu: &str, collected: Collected, report: &Report) -> Value {
    let one = |codec: &Measured| {
        json!({
            "name": codec.name,
            "raw_ratio": codec.ratio(codec.encoded),
            "ratio": codec.ratio(codec.moved),
            "encoded_bytes": codec.encoded,
            "moved_bytes": codec.moved,
            "sizes": codec.sizes,
            "accesses": codec.accesses,
        })
    };
    let codecs: Vec<_> = report.codecs.iter().map(one).collect();
    let bounds: Vec<_> =
        report.bounds.iter().map(|(bits, ratio)| json!({ "symbol_bits": bits, "ratio": ratio })).collect();
    json!({
        "schema": "warpwatt.entropy/1",
        "job": job,
        "gpu": gpu,
        "profile_from": collected.name(),
        "lines": { "read": report.read, "written": report.written, "untouched": report.untouched },
        "granularity_bytes": report.granularity,
        "codecs": codecs,
        "bounds": bounds,
    })
}

fn table(job: &str, gpu: &str, collected: Collected, report: &Report) -> String {
    let shown = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    let places = LARGEST / report.granularity;
    let mut titles =
        vec!["codec".to_owned(), "raw ratio".to_owned(), format!("ratio at {} B", report.granularity)];
    titles.extend((1..=places).map(|place| format!("{} B %", place * report.granularity)));
    let mut table = Table::new(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    for codec in &report.codecs {
        let mut row =
            vec![codec.name.clone(), shown(codec.ratio(codec.encoded)), shown(codec.ratio(codec.moved))];
        let share = |count: &u64| format!("{:.1}", 100.0 * *count as f64 / codec.lines.max(1) as f64);
        row.extend(codec.accesses.iter().map(share));
        table.cells(row);
    }
    let mut bounds = Table::new(&["bits of a symbol", "bound of the ratio"]);
    for (bits, ratio) in &report.bounds {
        bounds.row([bits.to_string(), shown(*ratio)]);
    }
    format!(
        "{}entropy codes from {}\n\n{}\nbest possible codes, symbol by symbol (source coding theorem)\n\n{}",
        paragraph(
            &format!(
                "{job}: lines between L2 and DRAM of {gpu}: {} read, {} written back; {} more read that were never written",
                grouped(report.read),
                grouped(report.written),
                grouped(report.untouched)
            ),
            0
        ),
        match collected {
            Collected::LoadsStores => "the data of all loads and stores",
            Collected::Dram => "these lines",
        },
        table.render(),
        bounds.render()
    )
}
