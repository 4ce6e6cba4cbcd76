// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small jobs that together use every part of the GPU: for tests that change how it is built, or how it is simulated.

use warpwatt_config::Config;
use warpwatt_model::flatten;
use warpwatt_runtime::texture::{ChannelKind, Format, Image, Sampler, Storage};
use warpwatt_runtime::{
    Args, Device, DevicePtr, LaunchConfig, Mode, ModuleId, Nobody, Options, Techniques, Timed,
};

use crate::bench::How;
use crate::kernels::{CLASSES, looped};
use warpwatt_testing::conserve;

/// What came of a job: what its kernels computed, and all that was counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub output: Vec<u8>,
    /// The clock, the counters of each launch, when it began and how long it took; empty for a functional device.
    pub counts: Vec<(String, u64)>,
}

pub struct Job {
    pub name: &'static str,
    pub ptx: fn() -> String,
    /// Bytes of the output.
    bytes: u64,
    launch: fn(&mut Device, ModuleId, DevicePtr),
}

/// All jobs.
pub const JOBS: &[Job] = &[
    Job {
        name: "arithmetic",
        ptx: arithmetic,
        bytes: 4 * 960,
        launch: |d, m, out| go(d, m, out, LaunchConfig::new(10, 96), 2),
    },
    Job {
        name: "code",
        ptx: code,
        bytes: 4 * 512,
        launch: |d, m, out| go(d, m, out, LaunchConfig::new(2, 256), 2),
    },
    Job {
        name: "shared",
        ptx: shared,
        bytes: 4 * 2304,
        launch: |d, m, out| go(d, m, out, LaunchConfig::new(24, 96).shared(7000), 3),
    },
    Job {
        name: "memory",
        ptx: memory,
        bytes: 1 << 19,
        launch: |d, m, out| go(d, m, out, LaunchConfig::new(24, 256), 2),
    },
    Job { name: "small caches", ptx: small_caches, bytes: 1 << 17, launch: small_caches_launch },
    Job {
        name: "local",
        ptx: local,
        bytes: 4 * 2048,
        launch: |d, m, out| go(d, m, out, LaunchConfig::new(8, 256).prefer_l1(), 2),
    },
    Job { name: "streams", ptx: stream, bytes: 4 * 32 * 20, launch: streams_launch },
    Job {
        name: "turns",
        ptx: turns,
        bytes: 4 * 64,
        launch: |d, m, out| go(d, m, out, LaunchConfig::new(2, 32), 3),
    },
    Job {
        name: "registers",
        ptx: registers,
        bytes: 4 * 4096,
        launch: |d, m, out| go(d, m, out, LaunchConfig::new(32, 128), 2),
    },
];

fn go(device: &mut Device, module: ModuleId, out: DevicePtr, launch: LaunchConfig, n: u32) {
    let args = Args::new().ptr(out).u32(n).u32(3).u32(5);
    device.launch(module, "k", &launch, &args).unwrap_or_else(|error| panic!("{error}"));
}

impl Job {
    pub fn named(name: &str) -> &'static Job {
        JOBS.iter().find(|job| job.name == name).unwrap_or_else(|| panic!("no job {name}"))
    }

    /// Registers of a thread.
    pub fn registers(&self) -> u32 {
        let mut device = Device::new().expect("a device");
        let module = device.load_module(self.name, &(self.ptx)()).expect("it loads");
        device.attributes(module, "k").expect("it compiles").registers
    }

    /// Runs on a GPU, or functionally when there is none.
    pub fn run(&self, config: Option<&Config>, how: How) -> Outcome {
        self.run_with(config, &Techniques::default(), how)
    }

    /// Runs on a GPU with techniques.
    pub fn run_with(&self, config: Option<&Config>, techniques: &Techniques, how: How) -> Outcome {
        let mode = config.map_or(Mode::Functional, |config| {
            Mode::Timed(Box::new(Timed {
                threads: how.threads,
                step_every_cycle: how.step,
                limit_cycles: Some(50_000_000),
                techniques: techniques.clone(),
                ..Timed::new(config.clone())
            }))
        });
        // Register allocations are proven elsewhere; here the same kernels are compiled over and over.
        let options = Options { mode, level: how.level, verify: false, ..Options::default() };
        let mut device = Device::with(options, Box::new(Nobody)).unwrap_or_else(|error| panic!("{error}"));
        let module = device.load_module(self.name, &(self.ptx)()).unwrap_or_else(|error| panic!("{error}"));
        let out = device.alloc(self.bytes).expect("room");
        let start: Vec<u8> = (0..self.bytes / 4).flat_map(|i| (i as u32 * 7 % 1021).to_le_bytes()).collect();
        device.write(out, &start).expect("it fits");
        (self.launch)(&mut device, module, out);
        let mut output = vec![0; self.bytes as usize];
        device.read(out, &mut output).expect("it is there");
        if let [only] = device.log()
            && let Some(config) = config
        {
            let compiled = device.compile(module, "k", false).expect("it ran");
            conserve::check(only, &compiled.program, config);
        }
        Outcome { output, counts: counts(&device) }
    }
}

fn counts(device: &Device) -> Vec<(String, u64)> {
    let mut counts = Vec::new();
    let Some(clock) = device.now_cycles() else { return counts };
    counts.push(("clock".to_owned(), clock));
    for launch in device.log() {
        let timed = launch.timed.as_ref().expect("all launches are timed");
        timed.counters.visit(&mut |name, count| {
            flatten(name, count, &mut |name, count| counts.push((name, count)));
        });
        counts.push((format!("start of launch {}", launch.index), timed.start_cycle));
        counts.push((format!("cycles of launch {}", launch.index), timed.cycles));
        for line in &launch.lines {
            let stalls = line.stalls.iter().enumerate().map(|(i, &count)| count << (i % 4)).sum();
            counts.push((format!("stalls of line {} of launch {}", line.line, launch.index), stalls));
        }
    }
    counts
}

/// Steps of every class, one class after the other.
fn arithmetic() -> String {
    let all: String = CLASSES.iter().map(|class| class.steps_and_store(2, 6)).collect();
    looped("", "", &all, "")
}

/// Warps on ways of their own through long code, lanes on both sides of branches.
fn code() -> String {
    let mut body = String::from("    shr.u32 %r8, %r3, 5;\n    mov.u32 %r10, %r3;\n");
    for way in 0..8 {
        let steps = "    sub.u32 %r10, %r6, %r10;\n    mul.lo.u32 %r10, %r10, %r5;\n".repeat(72);
        body += &format!("    setp.ne.u32 %p1, %r8, {way};\n    @%p1 bra NEXT{way};\n{steps}NEXT{way}:\n");
    }
    body += "    and.b32 %r9, %r3, 1;
    setp.eq.u32 %p2, %r9, 0;
    @%p2 bra EVEN;
    add.u32 %r10, %r10, 17;
    bra MEET;
EVEN:
    mul.lo.u32 %r10, %r10, 9;
MEET:
    st.global.u32 [%rd2], %r10;
    bar.sync 0;
";
    looped("", "", &body, "")
}

/// Conflicts, atomics and barriers.
fn shared() -> String {
    let before = "    mov.u32 %r9, words;
    mul.lo.u32 %r8, %r3, 36;
    add.u32 %r10, %r9, %r8;
    mul.lo.u32 %r8, %r3, 4;
    add.u32 %r11, %r9, %r8;
    mov.u32 %r12, %r6;";
    let body = "    st.shared.u32 [%r11], %r12;
    bar.sync 0;
    ld.shared.u32 %r13, [%r9+64];
    ld.shared.u32 %r14, [%r11];
    bar.sync 0;
    st.shared.u32 [%r10], %r13;
    ld.shared.u32 %r15, [%r10];
    bar.sync 0;
    mov.u32 %r16, 0;
    st.shared.u32 [%r9+3600], %r16;
    bar.sync 0;
    atom.shared.add.u32 %r17, [%r9+3600], %r3;
    bar.sync 0;
    ld.shared.u32 %r18, [%r9+3600];
    add.u32 %r12, %r13, %r14;
    add.u32 %r12, %r12, %r15;
    add.u32 %r12, %r12, %r18;
    bar.sync 0;";
    looped(".shared .align 4 .b8 words[3604];", before, body, "    st.global.u32 [%rd2], %r12;")
}

/// Lines that all want at once, streams, strides, atomics, stores of parts of lines, and most of it again.
fn memory() -> String {
    let before = "    mul.wide.u32 %rd3, %r6, 16;
    add.u64 %rd10, %rd0, %rd3;
    and.b32 %r8, %r6, 1023;
    mul.wide.u32 %rd4, %r8, 128;
    add.u64 %rd11, %rd0, %rd4;
    and.b32 %r9, %r3, 7;
    mul.wide.u32 %rd5, %r9, 4;
    add.u64 %rd12, %rd0, %rd5;
    setp.lt.u32 %p1, %r9, 6;
    ld.volatile.global.u32 %r20, [%rd12+139264];
    ld.global.u32 %r21, [%rd12+143360];
    add.u32 %r10, %r20, %r21;";
    let body = "    ld.global.u32 %r11, [%rd10+131072];
    ld.global.u32 %r12, [%rd10+262144];
    ld.global.u32 %r13, [%rd11+131072];
    ld.global.u32 %r14, [%rd12+131072];
    ld.volatile.global.u32 %r15, [%rd12+135168];
    ld.global.v4.u32 {%r16, %r17, %r18, %r19}, [%rd10+131072];
    add.u32 %r10, %r10, %r11;
    add.u32 %r10, %r10, %r12;
    add.u32 %r10, %r10, %r13;
    add.u32 %r10, %r10, %r14;
    add.u32 %r10, %r10, %r15;
    add.u32 %r10, %r10, %r18;
    red.global.add.u32 [%rd12+512000], %r9;
    @%p1 st.global.u32 [%rd10+393216], %r10;
    st.global.u32 [%rd10], %r10;
    st.global.u32 [%rd10+4], %r10;";
    looped("", before, body, "    membar.gl;")
}

/// Constants and textures beyond what their caches hold.
fn small_caches() -> String {
    let before = "    mov.u64 %rd13, table;
    mov.u32 %r10, %r6;";
    let mut body = String::new();
    for i in 0..12 {
        body += &format!(
            "    mad.lo.u32 %r11, %r10, {}, {};
    and.b32 %r11, %r11, 8191;
    shr.u32 %r12, %r6, 2;
    add.u32 %r12, %r12, {};
    and.b32 %r12, %r12, 4095;
    mul.wide.u32 %rd14, %r12, 4;
    add.u64 %rd15, %rd13, %rd14;
    ld.const.u32 %r13, [%rd15];
    tex.1d.v4.u32.s32 {{%r14, %r15, %r16, %r17}}, [image, {{%r11}}];
    add.u32 %r10, %r13, %r14;
",
            [1, 33, 7][i % 3],
            977 * i,
            613 * i
        );
    }
    looped(
        ".const .align 4 .u32 table[4096] = {1, 2, 3};\n.global .texref image;",
        before,
        &body,
        "    st.global.u32 [%rd2], %r10;",
    )
}

fn small_caches_launch(device: &mut Device, module: ModuleId, out: DevicePtr) {
    let format = Format { kind: ChannelKind::Unsigned, bits: 32, channels: 1 };
    let image = Image { storage: Storage::linear(out.0 + 65536, 32768, format), sampler: Sampler::default() };
    device.bind(module, "image", image).expect("it is a reference");
    go(device, module, out, LaunchConfig::new(6, 128), 1);
}

/// An array of each thread's own.
fn local() -> String {
    let before = "    mov.u64 %rd10, own;
    mov.u32 %r10, %r6;
    and.b32 %r8, %r3, 15;
    mul.wide.u32 %rd11, %r8, 4;
    add.u64 %rd12, %rd10, %rd11;";
    let body = "    st.local.u32 [%rd12], %r10;
    st.local.u32 [%rd12+32], %r3;
    ld.local.u32 %r11, [%rd10+20];
    ld.local.u32 %r12, [%rd12+4];
    add.u32 %r10, %r11, %r12;
    add.u32 %r10, %r10, %r3;";
    let text = looped("", before, body, "    st.global.u32 [%rd2], %r10;");
    text.replace(".reg .pred", ".local .align 4 .b8 own[128];\n    .reg .pred")
}

fn stream() -> String {
    looped(
        "",
        "    mov.u32 %r10, %r6;",
        &"    sub.u32 %r10, %r1, %r10;\n".repeat(20),
        "    st.global.u32 [%rd2], %r10;",
    )
}

/// Twenty small kernels on as many streams, and a copy.
fn streams_launch(device: &mut Device, module: ModuleId, out: DevicePtr) {
    for i in 0..20 {
        let args = Args::new().ptr(out.offset(128 * u64::from(i))).u32(4).u32(i).u32(5);
        // The last one comes behind the first.
        let launch = LaunchConfig::new(1, 32).stream(i % 19 + 1);
        device.launch(module, "k", &launch, &args).unwrap_or_else(|error| panic!("{error}"));
    }
    device.synchronize().expect("they run");
    device.copy(out, out.offset(128), 64).expect("both are there");
}

/// A lock that the lanes of a warp take in turn.
fn turns() -> String {
    let body = "TRY:
    atom.shared.cas.b32 %r9, [lock], 0, 1;
    setp.ne.u32 %p2, %r9, 0;
    @%p2 bra TRY;
    sub.u32 %r10, %r6, %r10;
    atom.shared.exch.b32 %r9, [lock], 0;";
    let text = looped(".shared .u32 lock;", "    mov.u32 %r10, 0;", body, "    st.global.u32 [%rd2], %r10;");
    text.replace("sm_61", "sm_70")
}

/// Blocks whose registers are what an SM runs out of.
fn registers() -> String {
    let start: String = (10..50).map(|i| format!("    add.u32 %r{i}, %r6, {i};\n")).collect();
    let body: String =
        (10..50).map(|i| format!("    sub.u32 %r{i}, %r{}, %r{i};\n", 10 + (i + 7) % 40)).collect();
    let sum: String = (11..50).map(|i| format!("    xor.b32 %r10, %r10, %r{i};\n")).collect();
    looped("", &start, &body, &format!("{sum}    st.global.u32 [%rd2], %r10;"))
}
