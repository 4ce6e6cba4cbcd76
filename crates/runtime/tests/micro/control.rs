// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is not about one instruction: barriers, occupancy, divergence, launches, streams, and the small caches.

use std::sync::LazyLock;

use warpwatt_config::Config;
use warpwatt_runtime::texture::{ChannelKind, Format, Image, Sampler, Storage};
use warpwatt_runtime::{Args, LaunchConfig};

use crate::bench::{Bench, Ran, gpu, one_sm};
use crate::figure::{Figure, all_hold};
use crate::kernels::{looped, straight};
use crate::memory::l2_latency;

fn run(config: &Config, ptx: &str, launch: LaunchConfig, n: u32) -> Ran {
    let mut bench = Bench::new(config, ptx);
    let out = bench.alloc(4 * launch.grid.count() * launch.block.count());
    bench.run(launch, &Args::new().ptr(out).u32(n).u32(3).u32(5))
}

/// Cycles that one more iteration takes.
fn iteration(config: &Config, ptx: &str, launch: LaunchConfig) -> f64 {
    (run(config, ptx, launch, 60).cycles - run(config, ptx, launch, 20).cycles) as f64 / 40.0
}

const STORE: &str = "    st.global.u32 [%rd2], %r10;\n";

/// The last of the warps comes to a barrier `warps / schedulers - 1` cycles after the first, and the barrier opens `barrier_cycles` after
/// that. What the warps had fetched is still there; now and then one waits for its fetch.
fn barriers() -> Vec<Figure> {
    let config = one_sm();
    let (few, many) = (8, 24);
    let one = |warps: u32| {
        let kernel =
            |count: usize| looped("", "    mov.u32 %r10, 0;", &"    bar.sync 0;\n".repeat(count), STORE);
        let launch = LaunchConfig::new(1, 32 * warps);
        let added = iteration(&config, &kernel(many), launch) - iteration(&config, &kernel(few), launch);
        let open = config.sm.barrier_cycles + warps.div_ceil(config.sm.schedulers) - 1;
        Figure::new(
            format!("barrier, warps of a block: {warps}"),
            f64::from(open),
            added / (many - few) as f64,
            "cycles",
            0.02,
        )
        .from("sm.barrier_cycles + warps / sm.schedulers − 1")
    };
    [1, 2, 4, 8, 16, 32].map(one).to_vec()
}

/// The most blocks that run beside each other: those that take hardly longer than one.
fn side_by_side(config: &Config, ptx: &str, launch: LaunchConfig, at_most: u32) -> u32 {
    let launch = |blocks: u32| LaunchConfig { grid: blocks.into(), ..launch };
    let time = |blocks: u32| {
        run(config, ptx, launch(blocks), 40).cycles - u64::from(config.gpu.kernel_launch_cycles)
    };
    let one = time(1);
    (1..=at_most).take_while(|&blocks| 2 * time(blocks) < 3 * one).last().unwrap_or(0)
}

/// Blocks that wait most of the time fill an SM until something runs out.
fn occupancy() -> Vec<Figure> {
    let config = one_sm();
    // The first warp of a block goes through a chain of loads, the others wait for it at a barrier.
    let waits = |registers: usize| {
        let start: String =
            (0..registers).map(|i| format!("    add.u32 %r{}, %r3, {i};\n", 10 + i)).collect();
        let rotate = |i: usize| format!("    sub.u32 %r{}, %r9, %r{};\n", 10 + i, 10 + i);
        let loads = format!(
            "    ld.volatile.global.u32 %r9, [%rd2];\n{}",
            (0..registers).map(rotate).collect::<String>()
        );
        let sums: String =
            (1..registers).map(|i| format!("    xor.b32 %r10, %r10, %r{};\n", 10 + i)).collect();
        let skip = "    setp.gt.u32 %p1, %r3, 31;\n    @%p1 bra DONE;\n";
        looped("", &format!("{start}{skip}"), &loads, &format!("DONE:\n    bar.sync 0;\n{sums}{STORE}"))
    };
    let sm = &config.sm;
    let mut figures = Vec::new();
    let mut add = |what: &str, from: &str, known: u32, ptx: &str, launch: LaunchConfig| {
        let measured = side_by_side(&config, ptx, launch, known + 2);
        figures.push(
            Figure::new(format!("blocks side by side: {what}"), known.into(), measured.into(), "blocks", 0.0)
                .from(from),
        );
    };
    let plain = waits(1);
    add("32 threads", "sm.ctas", sm.ctas, &plain, LaunchConfig::new(1, 32));
    add("512 threads", "sm.threads / threads", sm.threads / 512, &plain, LaunchConfig::new(1, 512));
    add("321 threads", "sm.warps / ⌈threads / 32⌉", sm.warps / 11, &plain, LaunchConfig::new(1, 321));
    let shared = LaunchConfig::new(1, 32).shared(12000);
    add(
        "12000 bytes of shared memory",
        "sm.shared.bytes / bytes, in units of 128",
        config.shared.bytes / 12032,
        &plain,
        shared,
    );
    let wide = waits(40);
    let registers = {
        let mut bench = Bench::new(&config, &wide);
        bench.device.attributes(bench.module, "k").expect("it compiles").registers
    };
    let of_warp = (32 * registers).next_multiple_of(sm.register_unit);
    add(
        &format!("256 threads of {registers} registers"),
        "sm.registers / (warps × registers of a warp, in units of sm.register_unit)",
        sm.registers / (8 * of_warp),
        &wide,
        LaunchConfig::new(1, 256),
    );
    figures
}

/// Both sides of a branch are taken one after the other when lanes disagree.
fn divergence() -> Vec<Figure> {
    let config = one_sm();
    let kernel = |pivot: u32, steps: usize| {
        let body = format!(
            "    setp.lt.u32 %p1, %r3, {pivot};
    @%p1 bra LEFT;
{}    bra MEET;
LEFT:
{}MEET:",
            "    sub.u32 %r10, %r3, %r10;\n".repeat(steps),
            "    sub.u32 %r10, %r6, %r10;\n".repeat(steps),
        );
        looped("", "    mov.u32 %r10, 0;", &body, STORE)
    };
    let step = f64::from(2 + config.latency.int_add);
    let one = |what: &str, pivot: u32, sides: f64| {
        let time = |steps| iteration(&config, &kernel(pivot, steps), LaunchConfig::new(1, 32));
        let measured = (time(48) - time(16)) / 32.0;
        Figure::new(format!("branch with sides of one step: {what}"), sides * step, measured, "cycles", 0.0)
            .from("(2 + sm.latency.int_add) × sides taken")
    };
    vec![one("all lanes left", 32, 1.0), one("all lanes right", 0, 1.0), one("lanes on both sides", 16, 2.0)]
}

fn launches() -> Vec<Figure> {
    let config = one_sm();
    let known = f64::from(config.gpu.kernel_launch_cycles + config.gpu.cta_launch_cycles);
    let mut bench = Bench::new(&config, &straight("", ""));
    let out = bench.alloc(4);
    let args = Args::new().ptr(out).u32(1).u32(1).u32(1);
    bench.run(LaunchConfig::new(1, 32), &args);
    let again = bench.run(LaunchConfig::new(1, 32), &args).cycles as f64;
    vec![
        Figure::new("launch of an empty kernel", known + l2_latency(&config), again, "cycles", 0.05)
            .from("gpu.kernel_launch_cycles + gpu.cta_launch_cycles + a fetch from L2"),
        back_to_back(&config),
        waited_for(&config),
    ]
}

/// Ten empty kernels that are launched on a stream before the host waits.
fn back_to_back(config: &Config) -> Figure {
    let time = |launches: u32| {
        let mut bench = Bench::new(config, &straight("", ""));
        let args = Args::new().ptr(bench.alloc(4)).u32(1).u32(1).u32(1);
        let start = bench.device.now_cycles().expect("a clock");
        for _ in 0..launches {
            let launch = LaunchConfig::new(1, 32).stream(1);
            bench.device.launch(bench.module, "k", &launch, &args).expect("it is queued");
        }
        bench.device.synchronize().expect("they run");
        (bench.device.now_cycles().expect("a clock") - start) as f64
    };
    let known = f64::from(config.gpu.kernel_launch_cycles) / f64::from(config.clock.core_mhz);
    let measured = (time(11) - time(1)) / 10.0 / f64::from(config.clock.core_mhz);
    Figure::new("launches of empty kernels on a stream, each", known, measured, "µs", 0.05)
        .from("gpu.kernel_launch_cycles: the host launches no faster")
        .silicon("3.0 at the least, of four cards of the generations before (334,000 launches a second: Boyer, CUDA Kernel Overhead, University of Virginia); 3 to 7 (Volkov and Demmel, SC 2008; cited from memory, the text was not at hand)")
}

/// The host waits for each of some empty kernels.
fn waited_for(config: &Config) -> Figure {
    let mut bench = Bench::new(config, &straight("", ""));
    let args = Args::new().ptr(bench.alloc(4)).u32(1).u32(1).u32(1);
    let mut launch = || {
        bench.device.launch(bench.module, "k", &LaunchConfig::new(1, 32), &args).expect("it runs");
        bench.device.now_cycles().expect("a clock") as f64
    };
    let (first, second) = (launch(), launch());
    let cycles = f64::from(config.gpu.kernel_launch_cycles + config.gpu.cta_launch_cycles)
        + l2_latency(config)
        + f64::from(config.gpu.host_wait_cycles);
    let us = f64::from(config.clock.core_mhz);
    Figure::new(
        "launch of an empty kernel that the host waits for",
        cycles / us,
        (second - first) / us,
        "µs",
        0.05,
    )
    .from("gpu.kernel_launch_cycles + gpu.cta_launch_cycles + a fetch from L2 + gpu.host_wait_cycles")
    .silicon("about three times an asynchronous launch, 9 at the least (Boyer, as above); 10 to 14 (Volkov and Demmel, SC 2008; cited from memory, the text was not at hand)")
}

/// Two kernels of one block on two streams, and on one.
fn streams() -> Vec<Figure> {
    let config = gpu("gtx480", &["gpu.sms=2"]);
    let ptx = looped("", "    mov.u32 %r10, 0;", &"    sub.u32 %r10, %r3, %r10;\n".repeat(32), STORE);
    let total = |streams: &[u32]| {
        let mut bench = Bench::new(&config, &ptx);
        let out = bench.alloc(256);
        let args = Args::new().ptr(out).u32(400).u32(1).u32(1);
        let start = bench.device.now_cycles().expect("a clock");
        for &stream in streams {
            let launch = LaunchConfig::new(1, 32).stream(stream);
            bench.device.launch(bench.module, "k", &launch, &args).expect("it is queued");
        }
        bench.device.synchronize().expect("they run");
        (bench.device.now_cycles().expect("a clock") - start) as f64
    };
    let one = total(&[1]);
    let gap = f64::from(config.gpu.kernel_gap_cycles) - f64::from(config.gpu.kernel_launch_cycles);
    let wait = f64::from(config.gpu.host_wait_cycles);
    vec![
        Figure::new("two kernels on two streams, against one kernel", 1.0, total(&[1, 2]) / one, "×", 0.02)
            .from("they run beside each other"),
        Figure::new(
            "two kernels on one stream, against one kernel",
            2.0 + (gap - wait) / one,
            total(&[1, 1]) / one,
            "×",
            0.005,
        )
        .from(
            "one after the other; the second is dispatched gpu.kernel_gap_cycles after the end of the first",
        ),
    ]
}

/// Straight code of more lines than the instruction cache has: every line is fetched anew in every iteration.
fn instructions() -> Vec<Figure> {
    let whole = one_sm();
    let bare = gpu("gtx480", &["gpu.sms=1", "sm.icache.prefetch=0", "sm.second.bytes=0"]);
    let without_prefetch = gpu("gtx480", &["gpu.sms=1", "sm.icache.prefetch=0"]);
    let config = &bare;
    let per_line = (config.icache.line_bytes / config.fetch.instruction_bytes) as usize;
    let lines = (config.icache.sets * config.icache.ways) as usize;
    let kernel = |lines: usize| {
        let body = "    sub.u32 %r10, %r3, %r10;\n".repeat(lines * per_line);
        looped("", "    mov.u32 %r10, 0;", &body, STORE)
    };
    let time = |config: &Config, lines: usize| {
        let ptx = kernel(lines);
        let launch = LaunchConfig::new(1, 32);
        (run(config, &ptx, launch, 6).cycles - run(config, &ptx, launch, 2).cycles) as f64 / 4.0
    };
    let step = f64::from(2 + config.latency.int_add);
    let fit = (time(config, lines - 4) - time(config, lines - 20)) / 16.0;
    let more = |config: &Config| (time(config, 2 * lines + 16) - time(config, 2 * lines)) / 16.0;
    let line = per_line as f64 * step;
    // The buffer covers a part of the wait.
    let covered = f64::from(config.fetch.buffer - config.fetch.width) * step;
    vec![
        Figure::new("16 dependent instructions, in the instruction cache", line, fit, "cycles", 0.0)
            .from("16 × (2 + sm.latency.int_add)"),
        Figure::new(
            "16 dependent instructions, one line of too long a loop, fetched ahead",
            line,
            more(&whole),
            "cycles",
            0.03,
        )
        .from("16 × (2 + sm.latency.int_add): sm.icache.prefetch lines are on their way"),
        Figure::new(
            "16 dependent instructions, one line of too long a loop, without prefetch",
            line + f64::from(config.second.cycles + config.fetch.cycles) - covered,
            more(&without_prefetch),
            "cycles",
            0.1,
        )
        .from("16 × (2 + sm.latency.int_add) + sm.second.cycles + sm.fetch.cycles − instructions that the buffer still holds"),
        Figure::new(
            "16 dependent instructions, one line of too long a loop, without prefetch and second level",
            line + l2_latency(config) - covered,
            more(&bare),
            "cycles",
            0.1,
        )
        .from("16 × (2 + sm.latency.int_add) + a fetch from L2 − instructions that the buffer still holds"),
    ]
}

/// Loads from constant memory at addresses that depend on each other, by how many words the lanes of a warp want.
fn constants() -> Vec<Figure> {
    let config = one_sm();
    let table = ".const .align 4 .u32 table[64] = {};";
    let body =
        "    ld.const.u32 %r11, [%rd10];\n    cvt.u64.u32 %rd11, %r11;\n    add.u64 %rd10, %rd10, %rd11;\n"
            .repeat(16);
    let kernel = |words: u32| {
        let before = format!(
            "    rem.u32 %r10, %r3, {words};
    mul.wide.u32 %rd12, %r10, 4;
    mov.u64 %rd13, table;
    add.u64 %rd10, %rd13, %rd12;"
        );
        looped(table, &before, &body, "    cvt.u32.u64 %r10, %rd10;\n    st.global.u32 [%rd2], %r10;\n")
    };
    let time = |words: u32| iteration(&config, &kernel(words), LaunchConfig::new(1, 32)) / 16.0;
    let one = time(1);
    [2, 4, 32]
        .map(|words| {
            Figure::new(
                format!("constant memory: {words} words in a warp, against one"),
                f64::from(words - 1),
                time(words) - one,
                "cycles",
                0.05,
            )
            .from("a word a cycle")
        })
        .to_vec()
}

/// Texture fetches whose coordinate is what the one before has read.
fn textures() -> Vec<Figure> {
    let config = one_sm();
    let ptx = looped(
        ".global .texref image;",
        "    mov.u32 %r10, 0;",
        &"    tex.1d.v4.u32.s32 {%r10, %r11, %r12, %r13}, [image, {%r10}];\n".repeat(16),
        STORE,
    );
    let time = |n: u32| {
        let mut bench = Bench::new(&config, &ptx);
        let at = bench.alloc(128);
        let format = Format { kind: ChannelKind::Unsigned, bits: 32, channels: 1 };
        let image = Image { storage: Storage::linear(at.0, 128, format), sampler: Sampler::default() };
        bench.device.bind(bench.module, "image", image).expect("it is a reference");
        let out = bench.alloc(128);
        bench.run(LaunchConfig::new(1, 32), &Args::new().ptr(out).u32(n).u32(0).u32(0)).cycles
    };
    let measured = (time(40) - time(20)) as f64 / (20.0 * 16.0);
    let results = 4u32.div_ceil(config.rf.write_back_memory) - 1;
    vec![
        Figure::new(
            "texture: dependent fetches that hit",
            f64::from(2 + config.texture.cycles + results),
            measured,
            "cycles",
            0.03,
        )
        .from("1 + 1 operand + sm.texture.cycles + the other words of the result"),
        texture_misses(&config),
    ]
}

/// Every lane fetches from a line of its own, from 512 KB that stay in L2, with all warps of an SM.
fn texture_misses(config: &Config) -> Figure {
    let texels = 128 << 10;
    let step = format!(
        "    tex.1d.v4.u32.s32 {{%r11, %r12, %r13, %r14}}, [image, {{%r10}}];
    add.u32 %r15, %r15, %r11;
    add.u32 %r10, %r10, 8209;
    and.b32 %r10, %r10, {};
",
        texels - 1
    );
    let ptx = looped(
        ".global .texref image;",
        "    shl.b32 %r10, %r6, 5;\n    mov.u32 %r15, 0;",
        &step.repeat(4),
        "    st.global.u32 [%rd2], %r15;\n",
    );
    let run = |n: u32| {
        let mut bench = Bench::new(config, &ptx);
        let at = bench.alloc(4 * texels);
        bench.device.write(at, &vec![0; 4 * texels as usize]).expect("it fits");
        let format = Format { kind: ChannelKind::Unsigned, bits: 32, channels: 1 };
        let image = Image { storage: Storage::linear(at.0, 4 * texels, format), sampler: Sampler::default() };
        bench.device.bind(bench.module, "image", image).expect("it is a reference");
        let out = bench.alloc(4 * 1536);
        let ran = bench.run(LaunchConfig::new(3, 512), &Args::new().ptr(out).u32(n).u32(0).u32(0));
        let timed = ran.record.timed.expect("the launch was timed");
        (ran.cycles, timed.counters.sm.memory.texture.misses)
    };
    let (few, many) = (run(4), run(12));
    let measured = (many.0 - few.0) as f64 / (many.1 - few.1) as f64;
    // The SM's port takes the flits of a line.
    let known = f64::from(config.flits(128) * config.clock.core_mhz) / f64::from(config.clock.noc_mhz);
    Figure::new("texture: cycles a line that L2 has, many warps", known, measured, "cycles", 0.15)
        .from("a line's flits in network clocks: sm.texture.mshrs lines are on their way, so that latency is hidden")
}

static FIGURES: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    let groups = [barriers, occupancy, divergence, launches, streams, instructions, constants, textures];
    groups.iter().flat_map(|group| group()).collect()
});

#[test]
fn barriers_blocks_branches_and_small_caches_cost_what_parameters_say() {
    all_hold(&FIGURES);
}

pub fn figures() -> Vec<Figure> {
    FIGURES.to_vec()
}
