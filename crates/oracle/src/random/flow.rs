// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statements that steer: branches, loops, jump tables, calls.

use super::{Function, Maker, Node};

impl Maker {
    /// A construct around statements. Inside of one that threads enter differently nothing may wait for all of them.
    pub(super) fn construct(&mut self) -> Node {
        self.depth += 1;
        let was_uniform = self.uniform;
        let node = match self.below(10) {
            0..4 => self.branch(),
            4..8 => self.repeat(),
            8 => self.table(),
            _ if self.one_in(2) => self.far_product(),
            _ => self.scope(),
        };
        self.uniform = was_uniform;
        self.depth -= 1;
        node
    }

    fn branch(&mut self) -> Node {
        let (other, end) = (self.label(), self.label());
        // Over the parameter, all threads go the same way.
        let (condition, predicate) = if self.uniform && self.one_in(3) {
            (format!("setp.gt.u32 %go, %n, {}; ", self.below(8)), "%go".to_owned())
        } else {
            self.uniform = false;
            (String::new(), self.pred())
        };
        let not = self.pick(&["", "!"]);
        let (most, second) = (1 + self.below(6), self.one_in(2));
        let first = self.statements(most);
        if second {
            let rest = self.statements(most);
            Node::Block {
                parts: vec![
                    (format!("{condition}@{not}{predicate} bra {other};"), first),
                    (format!("bra {end}; {other}:"), rest),
                ],
                close: format!("{end}:"),
            }
        } else {
            Node::Block {
                parts: vec![(format!("{condition}@{not}{predicate} bra {end};"), first)],
                close: format!("{end}:"),
            }
        }
    }

    /// A loop with a counter of its own; threads may go round a different number of times, and leave early.
    fn repeat(&mut self) -> Node {
        let (top, end) = (self.label(), self.label());
        let counter = format!("%c{}", self.depth);
        let start = if self.uniform && self.one_in(2) {
            format!("and.b32 {counter}, %n, 3;")
        } else if self.one_in(3) {
            format!("mov.u32 {counter}, {};", self.below(6))
        } else {
            self.uniform = false;
            format!("and.b32 {counter}, {}, 7;", self.word())
        };
        let leave = !self.uniform && self.one_in(3);
        let body = self.statements(6);
        let mut parts = vec![(format!("{start} {top}:"), body)];
        if leave {
            let predicate = self.pred();
            parts.push((format!("@{predicate} bra {end};"), self.statements(3)));
        }
        Node::Block {
            parts,
            close: format!(
                "setp.eq.u32 %go, {counter}, 0; sub.u32 {counter}, {counter}, 1; @!%go bra {top}; {end}:"
            ),
        }
    }

    /// A jump table of four, taken by the low bits of a word.
    fn table(&mut self) -> Node {
        self.uniform = false;
        let labels: Vec<String> = (0..4).map(|_| self.label()).collect();
        let (name, end, word) = (self.label(), self.label(), self.word());
        let mut parts = Vec::new();
        for (index, label) in labels.iter().enumerate() {
            let before = if index == 0 {
                format!(
                    "and.b32 %ai, {word}, 3; {name}: .branchtargets {}; brx.idx %ai, {name}; {label}:",
                    labels.join(", ")
                )
            } else if self.one_in(3) {
                format!("{label}:")
            } else {
                format!("bra {end}; {label}:")
            };
            parts.push((before, self.statements(3)));
        }
        Node::Block { parts, close: format!("{end}:") }
    }

    /// A block with a register of its own that hides nothing.
    fn scope(&mut self) -> Node {
        let (a, b) = (self.word(), self.word());
        let name = format!("%x{}", self.labels);
        self.labels += 1;
        let body = self.statements(4);
        Node::Block {
            parts: vec![(format!("{{ .reg .u32 {name}; xor.b32 {name}, {a}, {b};"), body)],
            close: format!("add.u32 {a}, {a}, {name}; }}"),
        }
    }

    /// A product with sums in other blocks: on one way, where ways meet, or in a loop.
    fn far_product(&mut self) -> Node {
        let (end, top) = (self.label(), self.label());
        let number = self.labels;
        let (x, y, z) = (format!("%x{number}"), format!("%y{number}"), format!("%z{number}"));
        let (a, b, c, d, e) = (self.float(), self.float(), self.float(), self.float(), self.float());
        let ftz = self.pick(&["", "", ".ftz"]);
        let factor = match self.below(7) {
            0 | 1 => format!("mov.f32 {y}, {};", self.float_literal()),
            2 => format!("mov.b32 {y}, %n;"),
            3 => format!("mov.f32 {y}, 0f40490FDB; neg{}.f32 {y}, {y};", self.pick(&["", ".ftz"])),
            4 => format!("mov.u32 %ai, %ntid.x; mov.b32 {y}, %ai; abs.f32 {y}, {y};"),
            5 => self.guarded(format!("mov.f32 {y}, {b};")),
            _ => format!("mov.f32 {y}, {b};"),
        };
        let (s, t) = (self.pick(&["add", "sub"]), self.pick(&["add", "sub"]));
        let after = match self.below(4) {
            0 => format!("{t}{ftz}.f32 {e}, {z}, {x};"),
            1 => format!("{t}{ftz}.f32 {e}, {x}, {z}; {s}{ftz}.f32 {d}, {z}, {x};"),
            2 => self.guarded(format!("{t}{ftz}.f32 {e}, {c}, {x};")),
            _ => format!("neg.f32 {x}, {x}; {t}{ftz}.f32 {e}, {c}, {x};"),
        };
        let inside = match self.below(3) {
            0 => format!("{s}{ftz}.f32 {d}, {x}, {c};"),
            1 => format!("{s}{ftz}.f32 {d}, {x}, {z};"),
            _ => String::new(),
        };
        let open = format!(
            "{{ .reg .f32 {x}, {y}, {z}; mov.f32 {y}, {a}; {factor} mul{ftz}.f32 {x}, {a}, {y}; mul{ftz}.f32 {z}, {c}, {y};"
        );
        let predicate = self.pred();
        self.uniform = false;
        let repeats = self.one_in(2);
        let before = if repeats {
            format!("mov.u32 %c{}, 3; {top}:", self.depth)
        } else {
            format!("@{predicate} bra {end};")
        };
        let body = self.statements(3);
        let close = if repeats {
            let counter = format!("%c{}", self.depth);
            format!(
                "{inside} setp.eq.u32 %go, {counter}, 0; sub.u32 {counter}, {counter}, 1; @!%go bra {top}; {after} }}"
            )
        } else {
            format!("{inside} {end}: {after} }}")
        };
        Node::Block { parts: vec![(format!("{open} {before}"), body)], close }
    }

    pub(super) fn calling(&mut self) -> Node {
        if self.functions == 0 {
            return Node::Text(self.float_op());
        }
        let which = self.below(self.functions);
        let (d, a, b, f) = (self.word(), self.word(), self.word_or_literal(), self.float());
        let text = match which {
            // Recursive, with its arguments in memory.
            0 => format!(
                "{{ .param .b32 q0; .param .b32 q1; .param .b32 v; st.param.b32 [q0], {a}; and.b32 %ai, {a}, 7;\n    \
                 st.param.b32 [q1], %ai; call (v), descend, (q0, q1); ld.param.b32 {d}, [v]; }}"
            ),
            1 if self.one_in(3) => {
                // The comma after the name in the comment keeps the function in the module.
                let label = self.label();
                format!(
                    "{label}: .callprototype (.reg .u32 _, .reg .f32 _) _ (.reg .u32 _, .reg .u32 _, .reg .f32 _);\n    \
                     mov.u64 %ad, mix; /* mix, */ call ({d}, {f}), %ad, ({a}, {b}, {f}), {label};"
                )
            }
            1 => format!("call ({d}, {f}), mix, ({a}, {b}, {f});"),
            _ => {
                let (x, y) = (self.long(), self.long());
                format!(
                    "{{ .param .align 16 .b8 q[16]; .param .b64 v; st.param.v2.b64 [q], {{{x}, {y}}}; call.uni (v), fold, (q);\n    \
                     ld.param.b64 {x}, [v]; }}"
                )
            }
        };
        let not = self.pick(&["", "!"]);
        if self.one_in(4) {
            let (predicate, end) = (self.pred(), self.label());
            return Node::Text(format!("@{not}{predicate} bra {end}; {text} {end}:"));
        }
        Node::Text(text)
    }

    /// Up to three functions: one that recurses, one with registers as parameters and two results, one that takes a structure.
    pub(super) fn make_functions(&mut self) -> Vec<Function> {
        let count = self.below(4);
        let mut functions = Vec::new();
        let pools = self.pools.clone();
        let spared = self.left;
        self.pools = super::Pools { words: 4, longs: 2, floats: 2, doubles: 1, shorts: 2, preds: 2 };
        let registers = ".reg .b32 %r<4>; .reg .b64 %d<2>; .reg .f32 %f<2>; .reg .f64 %e<1>; .reg .b16 %h<2>; .reg .pred %p<2>;\n    \
                         .reg .u32 %ai, %c<8>; .reg .u64 %ad; .reg .pred %go;\n    mov.f32 %f0, 0f3F800000; mov.f32 %f1, 0fC0200000;\n    \
                         mov.f64 %e0, 0d3FF8000000000000; mov.b16 %h0, 15360; mov.b16 %h1, 7; mov.u64 %d0, 12345; mov.u64 %d1, -3;\n    \
                         mov.u32 %r0, 3; mov.u32 %r1, -7; mov.u32 %r2, 255; mov.u32 %r3, 65536;\n    \
                         setp.eq.u32 %p0, 0, 0; setp.eq.u32 %p1, 0, 1;\n";
        for which in 0..count {
            let body: String = (0..1 + self.below(6)).map(|_| format!("    {}\n", self.plain())).collect();
            let name = [" descend,", " mix,", " fold,"][which as usize];
            let text = match which {
                0 => format!(
                    ".func (.param .b32 out) descend (.param .b32 value, .param .b32 depth)\n{{\n    {registers}    \
                     .local .align 8 .b8 kept[32]; .reg .u64 %k;\n    \
                     ld.param.u32 %r0, [value]; ld.param.u32 %r1, [depth];\n    mov.u32 %c0, %r1; mov.u32 %c1, %r0;\n    \
                     setp.eq.u32 %go, %c0, 0; @%go bra $END;\n{body}    sub.u32 %c0, %c0, 1; and.b32 %ai, %c0, 7; mul.lo.u32 %ai, %ai, 4; mov.u64 %k, kept;\n    \
                     cvt.u64.u32 %ad, %ai; add.u64 %k, %k, %ad; st.local.u32 [%k], %r3;\n    \
                     {{ .param .b32 q0; .param .b32 q1; .param .b32 v; st.param.b32 [q0], %r2; st.param.b32 [q1], %c0;\n    \
                     call (v), descend, (q0, q1); ld.param.b32 %c2, [v]; }}\n    \
                     ld.local.u32 %c3, [%k]; xor.b32 %c2, %c2, %c3; mad.lo.u32 %c1, %c1, 31, %c2;\n$END:\n    add.u32 %c1, %c1, %r3; st.param.b32 [out], %c1;\n    ret;\n}}\n"
                ),
                1 => format!(
                    ".func (.reg .u32 sum, .reg .f32 scaled) mix (.reg .u32 a, .reg .u32 b, .reg .f32 x)\n{{\n    {registers}    \
                     mov.u32 %r0, a; mov.u32 %r1, b; mov.f32 %f0, x;\n{body}    \
                     add.u32 sum, %r0, %r2; fma.rn.f32 scaled, %f0, %f1, x;\n    ret;\n}}\n"
                ),
                _ => format!(
                    ".func (.param .b64 out) fold (.param .align 16 .b8 both[16])\n{{\n    {registers}    \
                     ld.param.b64 %d0, [both]; ld.param.b64 %d1, [both+8];\n{body}    \
                     xor.b64 %d0, %d0, %d1; st.param.b64 [out], %d0;\n    ret;\n}}\n"
                ),
            };
            functions.push(Function { name, text });
        }
        self.pools = pools;
        self.left = spared;
        self.functions = count;
        functions
    }

    /// A statement that needs nothing of the kernel's frame.
    fn plain(&mut self) -> String {
        match self.below(6) {
            0 | 1 => self.word_op(),
            2 => self.long_op(),
            3 => self.float_op(),
            4 => self.conversion(),
            _ => self.comparison(),
        }
    }
}
