// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels, in PTX. All are called `k`, and what they compute is stored, so that nothing can be left out.
//!
//! Registers at the start: `%rd0` the output, `%r0` the number of iterations, `%r1` and `%r2` two numbers, `%r3` the thread in its
//! block, `%r6` the thread in its grid, `%rd2` its word of the output.

/// A kernel around a body that is repeated `%r0` times.
pub fn looped(globals: &str, before: &str, body: &str, after: &str) -> String {
    let turn = "    add.u32 %r7, %r7, 1;\n    setp.lt.u32 %p0, %r7, %r0;\n    @%p0 bra AGAIN;\n";
    straight(globals, &format!("{before}\n    mov.u32 %r7, 0;\nAGAIN:\n{body}\n{turn}{after}"))
}

/// A kernel with a body.
pub fn straight(globals: &str, body: &str) -> String {
    format!(
        r".version 7.0
.target sm_61
.address_size 64
{globals}
.visible .entry k(.param .u64 out, .param .u32 n, .param .u32 a, .param .u32 b)
{{
    .reg .pred %p<8>;
    .reg .b16 %h<8>;
    .reg .b32 %r<80>;
    .reg .f32 %f<80>;
    .reg .f64 %d<80>;
    .reg .b64 %rd<80>;
    ld.param.u64 %rd0, [out];
    ld.param.u32 %r0, [n];
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %ctaid.x;
    mov.u32 %r5, %ntid.x;
    mad.lo.u32 %r6, %r4, %r5, %r3;
    mul.wide.u32 %rd1, %r6, 4;
    add.u64 %rd2, %rd0, %rd1;
{body}
    ret;
}}
"
    )
}

/// An instruction whose latency and rate are measured.
pub struct Class {
    /// As in `sm.latency` and `sm.initiation`.
    pub key: &'static str,
    pub what: &'static str,
    /// What is computed before, from `%r1` and `%r2`. `@` stands for the number of a chain.
    before: &'static str,
    /// A step of a chain. Two alternate, so that nothing can be merged.
    steps: [&'static str; 2],
    after: &'static str,
    /// Registers that a step reads.
    pub operands: u32,
}

const WORD: &str = "    add.u32 %r1@, %r3, %r2;\n";
const STORE_WORD: &str = "    st.global.u32 [%rd2], %r1@;\n";
const FLOAT: &str = "    cvt.rn.f32.u32 %f1@, %r3;\n";
const STORE_FLOAT: &str = "    st.global.f32 [%rd2], %f1@;\n";
const PREDICATE: &str = "    setp.lt.u32 %p1, %r3, %r2;\n    setp.lt.u32 %p2, %r3, %r1;\n";
const STORE_PREDICATE: &str = "    selp.u32 %r9, 1, 0, %p1;\n    st.global.u32 [%rd2], %r9;\n";

/// All classes of arithmetic.
pub const CLASSES: &[Class] = &[
    Class {
        key: "int_add",
        what: "integer addition",
        before: WORD,
        steps: ["    sub.u32 %r1@, %r3, %r1@;\n"; 2],
        after: STORE_WORD,
        operands: 2,
    },
    Class {
        key: "int_mul",
        what: "integer multiplication",
        before: WORD,
        steps: ["    mul.lo.u32 %r1@, %r1@, %r3;\n"; 2],
        after: STORE_WORD,
        operands: 2,
    },
    Class {
        key: "int_wide",
        what: "32 by 32 to 64 bit multiply-add",
        before: "    cvt.u64.u32 %rd1@, %r3;\n",
        steps: ["    mad.wide.u32 %rd1@, %r3, %r6, %rd1@;\n"; 2],
        after: "    shr.u64 %rd5, %rd1@, 32;\n    xor.b64 %rd1@, %rd1@, %rd5;\n    cvt.u32.u64 %r1@, %rd1@;\n    st.global.u32 [%rd2], %r1@;\n",
        operands: 4,
    },
    Class {
        key: "logic",
        what: "byte permutation",
        before: WORD,
        steps: ["    prmt.b32 %r1@, %r1@, %r3, %r6;\n"; 2],
        after: STORE_WORD,
        operands: 3,
    },
    Class {
        key: "shift",
        what: "shift",
        before: WORD,
        steps: ["    shl.b32 %r1@, %r1@, %r3;\n", "    shr.u32 %r1@, %r1@, %r3;\n"],
        after: STORE_WORD,
        operands: 2,
    },
    Class {
        key: "min_max",
        what: "integer minimum and maximum",
        before: WORD,
        steps: ["    max.u32 %r1@, %r1@, %r3;\n", "    min.u32 %r1@, %r1@, %r6;\n"],
        after: STORE_WORD,
        operands: 2,
    },
    Class {
        key: "compare",
        what: "integer comparison into a predicate",
        before: PREDICATE,
        steps: ["    setp.lt.xor.u32 %p1, %r3, %r6, %p1;\n"; 2],
        after: STORE_PREDICATE,
        operands: 2,
    },
    Class {
        key: "moves",
        what: "selection",
        before: "    add.u32 %r1@, %r3, %r2;\n    setp.lt.u32 %p1, %r3, %r2;\n    setp.lt.u32 %p2, %r6, %r1;\n",
        steps: ["    selp.b32 %r1@, %r1@, %r3, %p1;\n", "    selp.b32 %r1@, %r6, %r1@, %p2;\n"],
        after: STORE_WORD,
        operands: 2,
    },
    Class {
        key: "fp32",
        what: "fp32 fused multiply-add",
        before: "    cvt.rn.f32.u32 %f1@, %r3;\n    cvt.rn.f32.u32 %f2@, %r6;\n    cvt.rn.f32.u32 %f3@, %r4;\n",
        steps: ["    fma.rn.f32 %f1@, %f1@, %f2@, %f3@;\n"; 2],
        after: STORE_FLOAT,
        operands: 3,
    },
    Class {
        key: "fp16",
        what: "fp16 fused multiply-add",
        before: "    cvt.u16.u32 %h1, %r3;\n    cvt.u16.u32 %h2, %r6;\n    cvt.u16.u32 %h3, %r4;\n",
        steps: ["    fma.rn.f16 %h1, %h1, %h2, %h3;\n"; 2],
        after: "    cvt.u32.u16 %r9, %h1;\n    st.global.u32 [%rd2], %r9;\n",
        operands: 3,
    },
    Class {
        key: "fp64",
        what: "fp64 fused multiply-add",
        before: "    cvt.rn.f64.u32 %d1@, %r3;\n    cvt.rn.f64.u32 %d2@, %r6;\n    cvt.rn.f64.u32 %d3@, %r4;\n",
        steps: ["    fma.rn.f64 %d1@, %d1@, %d2@, %d3@;\n"; 2],
        after: "    cvt.rn.f32.f64 %f9, %d1@;\n    st.global.f32 [%rd2], %f9;\n",
        operands: 6,
    },
    Class {
        key: "convert",
        what: "conversion between float and integer",
        before: FLOAT,
        steps: ["    cvt.rzi.s32.f32 %r1@, %f1@;\n    cvt.rn.f32.s32 %f1@, %r1@;\n"; 2],
        after: STORE_FLOAT,
        operands: 1,
    },
    Class {
        key: "special",
        what: "reciprocal square root",
        before: FLOAT,
        steps: ["    rsqrt.approx.ftz.f32 %f1@, %f1@;\n"; 2],
        after: STORE_FLOAT,
        operands: 1,
    },
    Class {
        key: "bit_count",
        what: "population count",
        before: WORD,
        steps: ["    popc.b32 %r1@, %r1@;\n"; 2],
        after: STORE_WORD,
        operands: 1,
    },
    Class {
        key: "dot",
        what: "dot product of bytes",
        before: WORD,
        steps: ["    dp4a.u32.u32 %r1@, %r3, %r6, %r1@;\n"; 2],
        after: STORE_WORD,
        operands: 3,
    },
    Class {
        key: "shuffle",
        what: "shuffle",
        before: WORD,
        steps: ["    shfl.sync.bfly.b32 %r1@, %r1@, 1, 31, -1;\n"; 2],
        after: STORE_WORD,
        operands: 1,
    },
    Class {
        key: "vote",
        what: "vote",
        before: PREDICATE,
        steps: ["    vote.sync.any.pred %p1, %p1, -1;\n", "    vote.sync.all.pred %p1, !%p1, -1;\n"],
        after: STORE_PREDICATE,
        operands: 0,
    },
];

impl Class {
    /// Whether there can be several chains beside each other.
    pub fn has_chains(&self) -> bool {
        self.steps[0].contains('@')
    }

    /// `chains` independent chains of `length` steps each, interleaved, in a loop.
    pub fn kernel(&self, chains: usize, length: usize) -> String {
        let [before, body, after] = self.parts(chains, length);
        looped("", &before, &body, &after)
    }

    /// The chains of [`Class::kernel`] without a loop.
    pub fn steps_and_store(&self, chains: usize, length: usize) -> String {
        self.parts(chains, length).concat()
    }

    fn parts(&self, chains: usize, length: usize) -> [String; 3] {
        let chained = |text: &str| {
            let one = |chain: usize| text.replace('@', &chain.to_string());
            if text.contains('@') { (0..chains).map(one).collect() } else { text.to_owned() }
        };
        let body: String = (0..length).map(|i| chained(self.steps[i % 2])).collect();
        [chained(self.before), body, chained(self.after)]
    }
}

/// Fused multiply-adds as in tests of the peak rate: `%f10` to `%f17` in turn, so many in an iteration, all operands in
/// registers.
pub fn peak(ty: &str, count: usize) -> String {
    let r = if ty == "f32" { "%f" } else { "%d" };
    let start = |i: usize| format!("    add.u32 %r9, %r3, {i};\n    cvt.rn.{ty}.u32 {r}{i}, %r9;\n");
    let before: String = (8..18).map(start).collect();
    let step = |i: usize| {
        let x = 10 + i % 8;
        format!("    fma.rn.{ty} {r}{x}, {r}{x}, {r}8, {r}9;\n")
    };
    let body: String = (0..count).map(step).collect();
    let add = |i: usize| format!("    add.{ty} {r}10, {r}10, {r}{i};\n");
    let sum: String = (11..18).map(add).collect();
    looped(
        "",
        &before,
        &body,
        &format!("{sum}    cvt.rzi.u32.{ty} %r9, {r}10;\n    st.global.u32 [%rd2], %r9;\n"),
    )
}

/// A chain of loads through pointers, 16 in an iteration; `load` is the instruction. It starts at the output and stores nothing.
pub fn chase(load: &str) -> String {
    let body = format!("    {load} %rd10, [%rd10];\n").repeat(16);
    looped("", "    mov.u64 %rd10, %rd0;", &body, NEVER)
}

/// Keeps `%rd10` alive without storing it.
const NEVER: &str = "    setp.eq.u64 %p1, %rd10, 0;\n    @%p1 st.global.u64 [%rd0], %rd10;\n";

/// Each lane goes around one word of shared memory, `%r1` words after that of its neighbour.
pub fn shared_chase() -> String {
    let before = "    mul.lo.u32 %r8, %r3, %r1;
    shl.b32 %r8, %r8, 2;
    mov.u32 %r9, words;
    add.u32 %r10, %r9, %r8;
    st.shared.u32 [%r10], %r10;";
    let body = "    ld.shared.u32 %r10, [%r10];\n".repeat(16);
    looped(".shared .align 4 .b8 words[4224];", before, &body, "    st.global.u32 [%rd2], %r10;")
}

/// Many warps write shared memory, lanes `%r1` words apart.
pub fn shared_writes() -> String {
    let before = "    and.b32 %r8, %r3, 31;
    mul.lo.u32 %r8, %r8, %r1;
    shl.b32 %r8, %r8, 2;
    mov.u32 %r9, words;
    add.u32 %r10, %r9, %r8;";
    // Volatile, so that every store is made.
    let store = |i: usize| format!("    st.volatile.shared.u32 [%r10+{}], %r{};\n", 128 * (i % 2), 3 + i % 4);
    let body: String = (0..32).map(store).collect();
    let after = "    ld.volatile.shared.u32 %r11, [%r10];\n    st.global.u32 [%rd2], %r11;";
    looped(".shared .align 4 .b8 words[4352];", before, &body, after)
}

/// A chain of atomic additions to shared memory, lanes `%r1` words apart.
pub fn shared_atomics() -> String {
    let before = "    mul.lo.u32 %r8, %r3, %r1;
    shl.b32 %r8, %r8, 2;
    mov.u32 %r9, words;
    add.u32 %r10, %r9, %r8;
    mov.u32 %r11, %r3;";
    let body = "    atom.shared.add.u32 %r11, [%r10], %r11;\n".repeat(16);
    looped(".shared .align 4 .b8 words[4224];", before, &body, "    st.global.u32 [%rd2], %r11;")
}

/// What the blocks of a stream do with their stretches of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    Read,
    /// The same 64 stretches over and over.
    ReadAgain,
    /// 16 bytes a lane.
    ReadVectors,
    Write,
    /// To the output, from `%r1` times 4096 bytes behind it.
    Copy,
}

/// Every block of 256 threads goes through a stretch of memory of its own: 32 bytes a thread, of neighbouring threads side by side, or
/// `apart` times as far from each other.
pub fn stream(what: Stream, apart: usize) -> String {
    let width = if what == Stream::ReadVectors { 16 } else { 4 };
    let count = 32 / width;
    let offset = |i: usize| 256 * width * apart * i;
    let names = |i: usize| match width {
        16 => format!("{{%f{}, %f{}, %f{}, %f{}}}", 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3),
        _ => format!("%f{i}"),
    };
    let ty = if width == 16 { "v4.f32" } else { "f32" };
    let all = |one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<String>();
    let loads = all(&|i| format!("    ld.global.{ty} {}, [%rd11+{}];\n", names(i), offset(i)));
    let stores = |value: &dyn Fn(usize) -> String| {
        all(&|i| format!("    st.global.{ty} [%rd10+{}], {};\n", offset(i), value(i)))
    };
    let sums: String = (0..8).map(|i| format!("    add.f32 %f70, %f70, %f{i};\n")).collect();
    let again = if what == Stream::ReadAgain { "    and.b32 %r4, %r4, 63;\n" } else { "" };
    let start = format!(
        "{again}    mul.wide.u32 %rd3, %r4, {};
    mul.wide.u32 %rd4, %r3, {};
    add.u64 %rd10, %rd0, %rd3;
    add.u64 %rd10, %rd10, %rd4;
    mul.wide.u32 %rd5, %r1, 4096;
    add.u64 %rd11, %rd10, %rd5;
    cvt.rn.f32.u32 %f70, %r3;
",
        32 * 256 * apart,
        width * apart
    );
    let used = "    setp.eq.f32 %p1, %f70, 0fBF800000;\n    @%p1 st.global.f32 [%rd0], %f70;\n";
    let body = match what {
        Stream::Write => stores(&|_| "%f70".to_owned()),
        Stream::Copy => format!("{loads}{}", stores(&names)),
        Stream::Read | Stream::ReadAgain | Stream::ReadVectors => format!("{loads}{sums}{used}"),
    };
    straight("", &format!("{start}{body}"))
}
