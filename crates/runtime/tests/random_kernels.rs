// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random kernels, compiled to 16, 63 and 255 registers, leave the same memory as a plain interpreter of their PTX. So they do on a timed
//! GPU whose registers a technique keeps, which gives back what it was given.
//!
//! `WARPWATT_RANDOM_KERNELS` says how many (by default 300 functional and 400 timed), `WARPWATT_RANDOM_SEED` from which seed on. A kernel
//! that differs is made as small as it gets and shown.

use warpwatt_config::GpuFile;
use warpwatt_oracle::random::{Kernel, OUTPUT_BYTES};
use warpwatt_oracle::{Launch, Memory};
use warpwatt_runtime::{Args, Device, DevicePtr, Error, LaunchConfig, Mode, Nobody, Options, Timed};
use warpwatt_testing::ways::{WAYS, with};

const BUDGETS: [u32; 3] = [16, 63, 255];
const N: u32 = 5;
/// Failing kernels after which there is enough to look at.
const SHOWN: usize = 3;

/// Input, output and accumulators after a run.
type Buffers = [Vec<u8>; 3];

fn initial(kernel: &Kernel) -> Buffers {
    [kernel.input.clone(), vec![0xa5; kernel.threads() * OUTPUT_BYTES], kernel.sums.clone()]
}

fn interpret(kernel: &Kernel) -> Result<Buffers, String> {
    let parsed = warpwatt_ptx::parse("random.ptx", &kernel.text());
    if let Some(first) = parsed.diagnostics.first() {
        return Err(format!("the generator wrote illegal PTX: {}", first.message));
    }
    let mut memory = Memory::new();
    let at = [0x100_0000_0000, 0x110_0000_0000, 0x120_0000_0000];
    for (address, bytes) in at.into_iter().zip(initial(kernel)) {
        memory.map(address, bytes);
    }
    let mut params: Vec<u8> = at.iter().flat_map(|address: &u64| address.to_le_bytes()).collect();
    params.extend_from_slice(&N.to_le_bytes());
    let launch = Launch {
        kernel: "kernel",
        grid: kernel.grid,
        block: kernel.block,
        dynamic_shared: kernel.dynamic_shared,
        params: &params,
    };
    warpwatt_oracle::run(&parsed.module, &launch, &mut memory)?;
    Ok(at.map(|address| memory.buffer(address).expect("it was mapped").to_vec()))
}

/// How a kernel is run: with how many registers, and with which technique on a timed GPU.
#[derive(Clone, Copy, Debug)]
struct How {
    budget: u32,
    technique: Option<&'static str>,
}

fn execute(kernel: &Kernel, how: How) -> Result<Buffers, String> {
    let mode = how.technique.map_or(Mode::Functional, |technique| {
        let config = GpuFile::preset("gtx480-wc").expect("a preset").config;
        Mode::Timed(Box::new(Timed { techniques: with(technique), ..Timed::new(config) }))
    });
    let (max_registers, memory_bytes) = (Some(how.budget), Some(64 << 20));
    let options = Options { max_registers, verify: true, memory_bytes, mode, ..Options::default() };
    let run = || -> Result<Buffers, Error> {
        let mut device = Device::with(options, Box::new(Nobody))?;
        let module = device.load_module("random.ptx", &kernel.text())?;
        let mut buffers = initial(kernel);
        let mut at = Vec::new();
        for bytes in &buffers {
            let pointer: DevicePtr = device.alloc(bytes.len() as u64)?;
            device.write(pointer, bytes)?;
            at.push(pointer);
        }
        let config = LaunchConfig::new(kernel.grid, kernel.block).shared(kernel.dynamic_shared);
        let args = Args::new().ptr(at[0]).ptr(at[1]).ptr(at[2]).u32(N);
        device.launch(module, "kernel", &config, &args)?;
        for (pointer, bytes) in at.into_iter().zip(&mut buffers) {
            device.read(pointer, bytes)?;
        }
        Ok(buffers)
    };
    // A panic of ours is a difference like any other, to be made small.
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    match caught {
        Ok(result) => result.map_err(|error| match error {
            Error::Ptx(refusal) => refusal.render(false),
            other => other.to_string(),
        }),
        Err(_) => Err("panic".to_owned()),
    }
}

/// What is wrong with the kernel if it is run in some way, if anything.
fn difference(kernel: &Kernel, how: How) -> Option<String> {
    let expected = match interpret(kernel) {
        Ok(expected) => expected,
        Err(error) => return Some(format!("the interpreter: {error}")),
    };
    let found = match execute(kernel, how) {
        Ok(found) => found,
        Err(error) => return Some(error),
    };
    for (name, (expected, found)) in ["input", "output", "sums"].iter().zip(expected.iter().zip(&found)) {
        if let Some(at) = expected.iter().zip(found).position(|(a, b)| a != b) {
            let word = |bytes: &[u8]| {
                let start = at / 4 * 4;
                u32::from_le_bytes(bytes[start..start + 4].try_into().expect("four bytes"))
            };
            let (thread, offset) = (at / OUTPUT_BYTES, at % OUTPUT_BYTES);
            return Some(format!(
                "{name} of thread {thread} at {offset}: {:#010x}, not {:#010x}",
                word(found),
                word(expected)
            ));
        }
    }
    None
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs random kernels, each in the ways that are wanted for its seed.
fn compare(kernels: u64, ways: impl Fn(u64) -> Vec<How>) {
    let first = number("WARPWATT_RANDOM_SEED", 1);
    let mut failures = Vec::new();
    for seed in first..first + number("WARPWATT_RANDOM_KERNELS", kernels) {
        let kernel = Kernel::random(seed);
        for how in ways(seed) {
            let Some(problem) = difference(&kernel, how) else { continue };
            let small = kernel.shrink(|kernel| difference(kernel, how).is_some());
            let now = difference(&small, how).unwrap_or_default();
            failures.push(format!("seed {seed}, {how:?}: {problem}\nmade small: {now}\n{}", small.text()));
            break;
        }
        if failures.len() == SHOWN {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn random_kernels_leave_the_memory_that_the_interpreter_leaves() {
    compare(300, |_| BUDGETS.map(|budget| How { budget, technique: None }).into());
}

#[test]
fn random_kernels_get_back_from_registers_what_they_put_there() {
    compare(400, |seed| {
        let budget = BUDGETS[(seed / WAYS.len() as u64 % 3) as usize];
        let technique = Some(WAYS[(seed % WAYS.len() as u64) as usize]);
        vec![How { budget, technique }]
    });
}
