// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statements that touch memory, and the frame of a kernel: where its registers come from and where they go.

use super::{INPUT_BYTES, Kernel, LOCAL_BYTES, Maker, OUTPUT_BYTES, SCRATCH_BYTES};

/// Module variables that kernels read.
pub(super) fn declarations() -> String {
    let numbers = |step: u32| {
        let words: Vec<String> =
            (0..16u32).map(|index| (index.wrapping_mul(step) ^ 0x55).to_string()).collect();
        words.join(", ")
    };
    format!(
        ".const .align 8 .u32 table[16] = {{ {} }};\n.global .align 8 .u32 data[16] = {{ {} }};\n\
         .extern .shared .align 16 .b8 slots[];\n\n",
        numbers(0x9e37_79b9),
        numbers(0x85eb_ca6b)
    )
}

impl Maker {
    /// Code that leaves the address of `bytes` aligned bytes in `%ad`, in a window of `window` bytes from `base`.
    fn address(&mut self, base: &str, window: usize, bytes: usize) -> String {
        let index = self.word();
        let mask = window / bytes - 1;
        format!(
            "and.b32 %ai, {index}, {mask}; mul.lo.u32 %ai, %ai, {bytes}; cvt.u64.u32 %ad, %ai; add.u64 %ad, %ad, {base};"
        )
    }

    /// A load or store of any width, in any space.
    pub(super) fn access(&mut self) -> String {
        let store = self.one_in(2);
        let (space, base, window) = match (store, self.below(7)) {
            (false, 0 | 1) => (".global", "%in", INPUT_BYTES),
            (false, 2) => (".global.nc", "%in", INPUT_BYTES),
            (false, 3) => (".const", "%tab", 64),
            (false, 4) => ("", "%dat", 64),
            (_, 5) => (".local", "%loc", LOCAL_BYTES),
            (_, 6) => ("", "%gloc", LOCAL_BYTES),
            _ => (".global", "%mine", SCRATCH_BYTES),
        };
        let (ty, bytes, regs) = self.shape(store);
        let address = self.address(base, window, bytes);
        let offset =
            if self.one_in(3) && bytes <= 8 { format!("+{}", window - bytes) } else { String::new() };
        // An offset past the window is legal only from its start.
        let address = if offset.is_empty() { address } else { format!("mov.u64 %ad, {base};") };
        let order = if space == ".global" {
            self.pick(&["", "", "", ".volatile", ".cg", ".relaxed.gpu"])
        } else {
            ""
        };
        let space = if order.starts_with(".volatile") || order.starts_with(".relaxed") {
            format!("{order}{space}")
        } else {
            format!("{space}{order}")
        };
        let moved = if store {
            format!("st{space}{ty} [%ad{offset}], {regs};")
        } else {
            format!("ld{space}{ty} {regs}, [%ad{offset}];")
        };
        format!("{address} {}", self.guarded(moved))
    }

    /// Type suffix, size in bytes and registers of an access.
    fn shape(&mut self, store: bool) -> (String, usize, String) {
        let vector = |regs: Vec<String>| format!("{{{}}}", regs.join(", "));
        match self.below(12) {
            0 => (format!(".{}", self.pick(&["u8", "s8"])), 1, self.word()),
            1 => (format!(".{}", self.pick(&["u16", "s16"])), 2, self.word()),
            2 => (".b16".to_owned(), 2, self.short()),
            3 | 4 => (".u32".to_owned(), 4, self.word()),
            5 => (".f32".to_owned(), 4, self.float()),
            6 => (".u64".to_owned(), 8, self.long()),
            7 => (".f64".to_owned(), 8, self.double()),
            8 if self.pools.words >= 2 => {
                let regs = self.distinct(2, store);
                (".v2.u32".to_owned(), 8, vector(regs))
            }
            9 if self.pools.words >= 4 => {
                let regs = self.distinct(4, store);
                (".v4.u32".to_owned(), 16, vector(regs))
            }
            10 if self.pools.words >= 4 => {
                let regs = self.distinct(4, store);
                (".v4.u8".to_owned(), 4, vector(regs))
            }
            11 if store && self.one_in(3) => {
                let (first, second) = (self.literal(), self.long());
                (".v2.u64".to_owned(), 16, format!("{{{first}, {second}}}"))
            }
            11 if self.pools.longs >= 2 => {
                let first = self.below(self.pools.longs);
                let second = (first + 1) % self.pools.longs;
                (".v2.u64".to_owned(), 16, format!("{{%d{first}, %d{second}}}"))
            }
            _ => (".u32".to_owned(), 4, self.word()),
        }
    }

    /// Words for a vector; a load must not write one twice.
    fn distinct(&mut self, count: u32, store: bool) -> Vec<String> {
        let first = self.below(self.pools.words);
        (0..count)
            .map(
                |index| if store { self.word() } else { format!("%r{}", (first + index) % self.pools.words) },
            )
            .collect()
    }

    /// An atomic operation on memory that no other thread touches, whose old value is therefore known.
    pub(super) fn own_atomic(&mut self) -> String {
        let (d, w, v) = (self.word(), self.word(), self.word_or_literal());
        let (f, g) = (self.float(), self.float());
        let (x, y, z) = (self.long(), self.long(), self.long());
        let (space, base, window) = match self.below(4) {
            0 => ("", "%mine", SCRATCH_BYTES),
            1 => (".shared", "%sown", 8),
            _ => (".global", "%mine", SCRATCH_BYTES),
        };
        let setup = if space == ".shared" { format!("st.shared.u64 [%own], {y}; ") } else { String::new() };
        let (text, bytes) = match self.below(8) {
            0 => (
                format!(
                    "atom{space}.{}.u32 {d}, [%ad], {v};",
                    self.pick(&["add", "inc", "dec", "min", "max"])
                ),
                4,
            ),
            1 => (format!("atom{space}.{}.s32 {d}, [%ad], {v};", self.pick(&["add", "min", "max"])), 4),
            2 => {
                (format!("atom{space}.{}.b32 {d}, [%ad], {v};", self.pick(&["and", "or", "xor", "exch"])), 4)
            }
            3 => (format!("atom{space}.cas.b32 {d}, [%ad], {w}, {v};"), 4),
            4 => (format!("atom{space}.add.f32 {f}, [%ad], {g};"), 4),
            5 => (format!("atom{space}.{}.u64 {x}, [%ad], {y};", self.pick(&["add", "min", "max"])), 8),
            6 => {
                (format!("atom{space}.{}.b64 {x}, [%ad], {y};", self.pick(&["and", "or", "xor", "exch"])), 8)
            }
            _ => (format!("atom{space}.cas.b64 {x}, [%ad], {y}, {z};"), 8),
        };
        let address = self.address(base, window, bytes);
        format!("{setup}{address} {}", self.guarded(text))
    }

    /// Adds to an accumulator: every slot has one operation, which does not care about order.
    pub(super) fn accumulate(&mut self) -> String {
        let (w, d) = (self.word(), self.long());
        let slot = self.below(4);
        let (offset, op, value) = match self.below(9) {
            0 => (0, "add.u32", w),
            1 => (16, "min.s32", w),
            2 => (32, "max.u32", w),
            3 => (48, "and.b32", w),
            4 => (64, "or.b32", w),
            5 => (80, "xor.b32", w),
            6 => (96, "add.u64", d),
            7 => (128, "max.s64", d),
            _ => (160, "xor.b64", d),
        };
        let at = offset + slot * if op.ends_with("64") { 8 } else { 4 };
        let text = match self.below(3) {
            0 => format!("atom.global.{op} _, [%sums+{at}], {value};"),
            1 => format!("red.{op} [%sums+{at}], {value};"),
            _ => format!("red.global.{op} [%sums+{at}], {value};"),
        };
        // An old value that nobody reads is what `_` is for, which atomics write with the type of the value.
        self.guarded(text)
    }

    /// Threads of the block, or lanes of the warp, exchange values: all of them come here.
    pub(super) fn exchange(&mut self) -> String {
        let (w, v, p) = (self.word(), self.word(), self.pred());
        let threads = self.threads;
        match self.below(9) {
            0 | 1 => format!(
                "st.shared.u32 [%own], {v}; bar.sync 0; rem.u32 %ai, {w}, {threads}; mad.lo.u32 %ai, %ai, 8, %base;\n    \
                 ld.shared.u32 {w}, [%ai]; bar.sync 0;"
            ),
            2 => {
                let d = self.long();
                format!(
                    "st.shared.u64 [%own], {d}; barrier.sync.aligned 1; rem.u32 %ai, {w}, {threads}; mad.lo.u32 %ai, %ai, 8, %base;\n    \
                     cvt.u64.u32 %ad, %ai; cvta.shared.u64 %ad, %ad; ld.u64 {d}, [%ad]; barrier.sync.aligned 1;"
                )
            }
            3 => format!(
                "st.shared.u32 [%own], 0; bar.sync 0; and.b32 %ai, {w}, 3; mad.lo.u32 %ai, %ai, 8, %base;\n    \
                 red.shared.add.u32 [%ai], {v}; bar.sync 0; ld.shared.u32 {w}, [%own]; bar.sync 0;"
            ),
            4 => match self.below(2) {
                0 => format!("bar.red.popc.u32 {w}, 0, {p};"),
                _ => {
                    let op = self.pick(&["and", "or"]);
                    format!("bar.red.{op}.pred {p}, 0, {p};")
                }
            },
            5 | 6 => {
                let (mode, clamp) =
                    [("up", 0), ("down", 31), ("bfly", 31), ("idx", 31)][self.below(4) as usize];
                let clamp = if self.one_in(3) { clamp | 0x1800 } else { clamp };
                let lane = if self.one_in(2) { self.below(32).to_string() } else { self.word() };
                format!("shfl.sync.{mode}.b32 {w}|{p}, {v}, {lane}, {clamp}, 0xffffffff;")
            }
            7 if self.target < 70 && self.one_in(2) => match self.below(2) {
                0 => format!("vote.ballot.b32 {w}, {p};"),
                _ => format!("shfl.bfly.b32 {w}|{p}, {v}, {}, 31;", self.below(32)),
            },
            7 => {
                let mode = self.pick(&["all", "any", "uni"]);
                match self.below(2) {
                    0 => format!("vote.sync.ballot.b32 {w}, {p}, 0xffffffff;"),
                    _ => format!("vote.sync.{mode}.pred {p}, {p}, 0xffffffff;"),
                }
            }
            _ if self.target >= 80 && self.one_in(2) => {
                let op = self.pick(&["add.u32", "min.s32", "max.u32", "and.b32", "xor.b32"]);
                format!("redux.sync.{op} {w}, {v}, 0xffffffff;")
            }
            _ if self.target >= 70 => match self.below(2) {
                0 => format!("and.b32 %ai, {v}, 3; match.any.sync.b32 {w}, %ai, 0xffffffff;"),
                _ => format!("match.all.sync.b32 {w}|{p}, {v}, 0xffffffff;"),
            },
            _ => "bar.sync 0;".to_owned(),
        }
    }
}

impl Kernel {
    /// Declarations, and a value from the input or from the thread's numbers for every register.
    pub(super) fn prologue(&self) -> String {
        let pools = &self.pools;
        let mut text = format!(
            "    .reg .b32 %r<{}>;\n    .reg .b64 %d<{}>;\n    .reg .f32 %f<{}>;\n    .reg .f64 %e<{}>;\n    .reg .b16 %h<{}>;\n    \
             .reg .pred %p<{}>;\n    .reg .u32 %ai, %own, %base, %me, %n, %c<8>;\n    \
             .reg .u64 %ad, %sown, %in, %mine, %sums, %tab, %dat, %loc, %gloc;\n    .reg .pred %go;\n    \
             .local .align 16 .b8 depot[{LOCAL_BYTES}];\n",
            pools.words, pools.longs, pools.floats, pools.doubles, pools.shorts, pools.preds
        );
        text += &format!(
            "    ld.param.u64 %in, [in]; ld.param.u64 %mine, [out]; ld.param.u64 %sums, [sums]; ld.param.u32 %n, [n];\n    \
             cvta.to.global.u64 %in, %in;\n    \
             mov.u32 %ai, %tid.z; mov.u32 %me, %ntid.y; mul.lo.u32 %ai, %ai, %me; mov.u32 %me, %tid.y; add.u32 %ai, %ai, %me;\n    \
             mov.u32 %me, %ntid.x; mul.lo.u32 %ai, %ai, %me; mov.u32 %me, %tid.x; add.u32 %ai, %ai, %me;\n    \
             mov.u32 %base, slots; mad.lo.u32 %own, %ai, 8, %base; cvt.u64.u32 %sown, %own;\n    \
             mov.u32 %me, %ctaid.z; mov.u32 %c0, %nctaid.y; mul.lo.u32 %me, %me, %c0; mov.u32 %c0, %ctaid.y; add.u32 %me, %me, %c0;\n    \
             mov.u32 %c0, %nctaid.x; mul.lo.u32 %me, %me, %c0; mov.u32 %c0, %ctaid.x; add.u32 %me, %me, %c0;\n    \
             mad.lo.u32 %me, %me, {}, %ai; mad.wide.u32 %mine, %me, {OUTPUT_BYTES}, %mine;\n    \
             mov.u64 %tab, table; mov.u64 %dat, data; mov.u64 %loc, depot; cvta.local.u64 %gloc, %loc; cvta.global.u64 %dat, %dat;\n    \
             mul.lo.u32 %ai, %me, 40503; and.b32 %ai, %ai, 63; mul.lo.u32 %ai, %ai, 8; cvt.u64.u32 %ad, %ai; add.u64 %ad, %ad, %in;\n",
            self.block.iter().product::<u32>()
        );
        for index in (0..LOCAL_BYTES).step_by(8) {
            text += &format!("    st.local.u64 [%loc+{index}], {};\n", index * 77);
        }
        for index in 0..pools.words {
            text += &match index {
                0 => "    mov.u32 %r0, %me;\n".to_owned(),
                1 => "    mov.u32 %r1, %tid.x;\n".to_owned(),
                _ => format!("    ld.global.u32 %r{index}, [%ad+{}];\n", 4 * index),
            };
        }
        for index in 0..pools.longs {
            text += &format!("    ld.global.u64 %d{index}, [%ad+{}];\n", 96 + 8 * index);
        }
        for index in 0..pools.floats {
            text += &format!("    ld.global.f32 %f{index}, [%ad+{}];\n", 192 + 4 * index);
        }
        for index in 0..pools.doubles {
            text += &format!("    ld.global.f64 %e{index}, [%ad+{}];\n", 256 + 8 * index);
        }
        for index in 0..pools.shorts {
            text += &format!("    ld.global.b16 %h{index}, [%ad+{}];\n", 320 + 2 * index);
        }
        for index in 0..pools.preds {
            text += &format!("    and.b32 %ai, %me, {}; setp.ne.u32 %p{index}, %ai, 0;\n", 1 << index);
        }
        text
    }

    /// Stores every register, so that a wrong value is seen wherever it ends up.
    pub(super) fn epilogue(&self) -> String {
        let pools = &self.pools;
        let mut text = String::new();
        let mut at = SCRATCH_BYTES;
        let mut put = |line: String, bytes: usize| {
            text += &format!("    {}\n", line.replace("AT", &at.to_string()));
            at += bytes;
        };
        for index in 0..pools.longs {
            put(format!("st.global.u64 [%mine+AT], %d{index};"), 8);
        }
        for index in 0..pools.doubles {
            put(format!("st.global.f64 [%mine+AT], %e{index};"), 8);
        }
        for index in 0..pools.words {
            put(format!("st.global.u32 [%mine+AT], %r{index};"), 4);
        }
        for index in 0..pools.floats {
            put(format!("st.global.f32 [%mine+AT], %f{index};"), 4);
        }
        for index in 0..pools.preds {
            put(format!("selp.u32 %ai, 1, 0, %p{index}; st.global.u32 [%mine+AT], %ai;"), 4);
        }
        for index in 0..pools.shorts {
            put(format!("st.global.b16 [%mine+AT], %h{index};"), 2);
        }
        for index in (0..LOCAL_BYTES).step_by(8) {
            text += &format!(
                "    ld.local.u64 %ad, [%loc+{index}]; st.global.u64 [%mine+{}], %ad;\n",
                768 + index
            );
        }
        text
    }
}
