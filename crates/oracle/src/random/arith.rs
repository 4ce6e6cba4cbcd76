// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statements that compute: integers of all widths, floats of all formats, conversions, comparisons, carry chains.

use super::Maker;

impl Maker {
    pub(super) fn word_op(&mut self) -> String {
        let (d, a, b) = (self.word(), self.word(), self.word_or_literal());
        let c = self.word();
        let t = self.pick(&["u32", "s32"]);
        let text = match self.below(30) {
            0..4 => format!("{}.{t} {d}, {a}, {b};", self.pick(&["add", "sub"])),
            4 => format!("{}.sat.s32 {d}, {a}, {b};", self.pick(&["add", "sub"])),
            5 | 6 => format!("mul.{}.{t} {d}, {a}, {b};", self.pick(&["lo", "hi"])),
            7 | 8 => format!("mad.{}.{t} {d}, {a}, {b}, {c};", self.pick(&["lo", "hi"])),
            9 => format!("{}.{}.{t} {d}, {a}, {b};", "mul24", self.pick(&["lo", "hi"])),
            10 => format!("mad24.lo.{t} {d}, {a}, {b}, {c};"),
            11 => format!("sad.{t} {d}, {a}, {b}, {c};"),
            12 => format!("{}.{t} {d}, {a}, {b};", self.pick(&["div", "rem"])),
            13 => format!("{}.{t} {d}, {a}, {b};", self.pick(&["min", "max"])),
            14 => format!("{}.s32 {d}, {a};", self.pick(&["abs", "neg"])),
            15 | 16 => format!("{}.b32 {d}, {a}, {b};", self.pick(&["and", "or", "xor"])),
            17 => format!("{}.b32 {d}, {a};", self.pick(&["not", "cnot", "popc", "clz", "brev"])),
            18 => format!("bfind{}.{t} {d}, {a};", self.pick(&["", ".shiftamt"])),
            19 => format!("bfe.{t} {d}, {a}, {b}, {c};"),
            20 => {
                let position = self.word_or_literal();
                format!("bfi.b32 {d}, {a}, {b}, {position}, {c};")
            }
            21 | 22 => {
                let amount = if self.one_in(2) { self.below(40).to_string() } else { c };
                match self.below(2) {
                    0 => format!("shl.b32 {d}, {a}, {amount};"),
                    _ => format!("shr.{t} {d}, {a}, {amount};"),
                }
            }
            23 => {
                let mode = self.pick(&["l.wrap", "l.clamp", "r.wrap", "r.clamp"]);
                format!("shf.{mode}.b32 {d}, {a}, {b}, {c};")
            }
            24 => format!("lop3.b32 {d}, {a}, {b}, {c}, {};", self.below(256)),
            25 => {
                let mode = self.pick(&["", "", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"]);
                format!("prmt.b32{mode} {d}, {a}, {b}, {c};")
            }
            26 => format!("dp4a.{t}.{} {d}, {a}, {b}, {c};", self.pick(&["u32", "s32"])),
            27 => format!("dp2a.{}.{t}.s32 {d}, {a}, {b}, {c};", self.pick(&["lo", "hi"])),
            28 => {
                let (p, q) = (self.pred(), self.word_or_literal());
                match self.below(3) {
                    0 => format!("slct.{t}.s32 {d}, {a}, {b}, {c};"),
                    _ => format!("selp.{t} {d}, {a}, {q}, {p};"),
                }
            }
            _ => match self.below(4) {
                0 => format!("bmsk.{}.b32 {d}, {a}, {b};", self.pick(&["clamp", "wrap"])),
                1 => format!("szext.{}.{t} {d}, {a}, {b};", self.pick(&["clamp", "wrap"])),
                2 => format!("mov.b32 {d}, {};", self.word_or_literal()),
                _ => {
                    let special = self.pick(&[
                        "%tid.x",
                        "%tid.y",
                        "%ntid.x",
                        "%ctaid.x",
                        "%nctaid.y",
                        "%laneid",
                        "%lanemask_lt",
                    ]);
                    format!("mov.u32 {d}, {special};")
                }
            },
        };
        self.guarded(text)
    }

    pub(super) fn long_op(&mut self) -> String {
        let (d, a, b, c) = (self.long(), self.long(), self.long(), self.long());
        let (w, x) = (self.word(), self.word());
        let t = self.pick(&["u64", "s64"]);
        let text = match self.below(22) {
            0..3 => format!("{}.{t} {d}, {a}, {b};", self.pick(&["add", "sub"])),
            3 => format!("add.{t} {d}, {a}, {};", self.literal()),
            4 => format!("mul.{}.{t} {d}, {a}, {b};", self.pick(&["lo", "hi"])),
            5 => format!("mad.{}.{t} {d}, {a}, {b}, {c};", self.pick(&["lo", "hi"])),
            6 | 7 => format!("mul.wide.{} {d}, {w}, {x};", self.pick(&["u32", "s32"])),
            8 | 9 => format!("mad.wide.{} {d}, {w}, {x}, {a};", self.pick(&["u32", "s32"])),
            10 => format!("{}.{t} {d}, {a}, {b};", self.pick(&["min", "max"])),
            11 => format!("{}.s64 {d}, {a};", self.pick(&["abs", "neg"])),
            12 => format!("{}.b64 {d}, {a}, {b};", self.pick(&["and", "or", "xor"])),
            13 => format!("{}.b64 {d}, {a};", self.pick(&["not", "cnot", "brev"])),
            14 => format!("{}.b64 {w}, {a};", self.pick(&["popc", "clz"])),
            15 => format!("bfind{}.{t} {w}, {a};", self.pick(&["", ".shiftamt"])),
            16 => {
                let amount = if self.one_in(2) { self.below(70).to_string() } else { w };
                match self.below(2) {
                    0 => format!("shl.b64 {d}, {a}, {amount};"),
                    _ => format!("shr.{t} {d}, {a}, {amount};"),
                }
            }
            17 => format!("bfe.{t} {d}, {a}, {w}, {x};"),
            18 => format!("bfi.b64 {d}, {a}, {b}, {w}, {x};"),
            19 => {
                let p = self.pred();
                format!("selp.{t} {d}, {a}, {b}, {p};")
            }
            20 if self.one_in(3) => format!("{}.{t} {d}, {a}, {b};", self.pick(&["div", "rem"])),
            _ => match self.below(3) {
                0 => format!("mov.b64 {d}, {{{w}, {x}}};"),
                1 if w != x => format!("mov.b64 {{{w}, {x}}}, {a};"),
                _ => format!("sad.{t} {d}, {a}, {b}, {c};"),
            },
        };
        self.guarded(text)
    }

    pub(super) fn short_op(&mut self) -> String {
        let (d, a, b, c) = (self.short(), self.short(), self.short(), self.short());
        let w = self.word();
        let t = self.pick(&["u16", "s16"]);
        let text = match self.below(14) {
            0 | 1 => format!("{}.{t} {d}, {a}, {b};", self.pick(&["add", "sub"])),
            2 => format!("mul.{}.{t} {d}, {a}, {b};", self.pick(&["lo", "hi"])),
            3 => format!("mad.lo.{t} {d}, {a}, {b}, {c};"),
            4 => format!("mul.wide.{t} {w}, {a}, {b};"),
            5 => format!("mad.wide.{t} {w}, {a}, {b}, {w};"),
            6 => format!("{}.{t} {d}, {a}, {b};", self.pick(&["min", "max"])),
            7 => format!("{}.s16 {d}, {a};", self.pick(&["abs", "neg"])),
            8 => format!("{}.b16 {d}, {a}, {b};", self.pick(&["and", "or", "xor"])),
            9 => format!("{}.b16 {d}, {a};", self.pick(&["not", "cnot"])),
            10 => match self.below(2) {
                0 => format!("shl.b16 {d}, {a}, {};", self.below(20)),
                _ => format!("shr.{t} {d}, {a}, {w};"),
            },
            11 => format!("{}.{t} {d}, {a}, {b};", self.pick(&["div", "rem"])),
            12 => match self.below(2) {
                0 => format!("mov.b32 {w}, {{{a}, {b}}};"),
                _ if a != b => format!("mov.b32 {{{a}, {b}}}, {w};"),
                _ => format!("mov.b16 {d}, {a};"),
            },
            _ => {
                let p = self.pred();
                format!("selp.{t} {d}, {a}, {b}, {p};")
            }
        };
        self.guarded(text)
    }

    pub(super) fn float_op(&mut self) -> String {
        let (d, a, b, c) = (self.float(), self.float(), self.float_or_literal(), self.float());
        let round = self.pick(&["rn", "rn", "rn", "rz", "rm", "rp"]);
        let (ftz, sat) = (self.pick(&["", "", ".ftz"]), self.pick(&["", "", "", ".sat"]));
        // Without a rounding modifier, products and sums may be contracted.
        let open = if self.one_in(2) { String::new() } else { format!(".{round}") };
        let text = match self.below(20) {
            0..4 => format!("{}{open}{ftz}{sat}.f32 {d}, {a}, {b};", self.pick(&["add", "sub"])),
            4..7 => format!("mul{open}{ftz}{sat}.f32 {d}, {a}, {b};"),
            7..11 => format!("fma.{round}{ftz}{sat}.f32 {d}, {a}, {b}, {c};"),
            11 => {
                let nan = if self.target >= 90 { self.pick(&["", ".NaN", ".xorsign.abs"]) } else { "" };
                format!("{}{ftz}{nan}.f32 {d}, {a}, {b};", self.pick(&["min", "max"]))
            }
            12 => format!("{}{ftz}.f32 {d}, {a};", self.pick(&["abs", "neg"])),
            13 => format!("copysign.f32 {d}, {a}, {c};"),
            14 if self.one_in(2) => match self.below(3) {
                0 => format!("div.{round}{ftz}.f32 {d}, {a}, {b};"),
                1 => format!("rcp.{round}{ftz}.f32 {d}, {a};"),
                _ => format!("sqrt.{round}{ftz}.f32 {d}, {a};"),
            },
            15 => {
                let (w, p) = (self.word(), self.pred());
                match self.below(3) {
                    0 => format!("selp.f32 {d}, {a}, {b}, {p};"),
                    1 => format!("slct{ftz}.u32.f32 {w}, {w}, 77, {a};"),
                    _ => format!("slct.f32.s32 {d}, {a}, {b}, {w};"),
                }
            }
            16 => format!("mov.b32 {}, {a};", self.word()),
            17 => format!("mov.b32 {d}, {};", self.word()),
            18 => self.products(),
            _ => format!("fma.rn.f32 {d}, {a}, {b}, {c};"),
        };
        self.guarded(text)
    }

    /// Products and sums that use them, in all the ways that decide what is contracted.
    fn products(&mut self) -> String {
        let (x, y, d, e) = (self.float(), self.float(), self.float(), self.float());
        let (a, b, c) = (self.float(), self.float(), self.float_or_literal());
        let (s, t) = (self.pick(&["add", "sub"]), self.pick(&["add", "sub"]));
        let ftz = self.pick(&["", "", ".ftz"]);
        let between = match self.below(6) {
            0 => format!("mov.f32 {x}, {y};"),
            1 => format!("neg{}.f32 {x}, {x};", self.pick(&["", ".ftz"])),
            2 => format!("mul.f32 {y}, {x}, {c};"),
            3 => format!("mov.f32 {a}, {b};"),
            _ => String::new(),
        };
        let first = match self.below(3) {
            0 => format!("{s}{ftz}.f32 {d}, {x}, {y};"),
            1 => format!("{s}{ftz}.f32 {d}, {x}, {c};"),
            _ => format!("{s}{ftz}.f32 {d}, {c}, {x};"),
        };
        format!(
            "mul{ftz}.f32 {x}, {a}, {b}; mul{ftz}.f32 {y}, {b}, {c}; {between} {first} {}",
            self.guarded(format!("{t}{ftz}.f32 {e}, {y}, {x};"))
        )
    }

    pub(super) fn double_op(&mut self) -> String {
        let (d, a, b, c) = (self.double(), self.double(), self.double(), self.double());
        let round = self.pick(&["rn", "rn", "rn", "rz", "rm", "rp"]);
        let open = if self.one_in(2) { String::new() } else { format!(".{round}") };
        let text = match self.below(14) {
            0..3 => format!("{}{open}.f64 {d}, {a}, {b};", self.pick(&["add", "sub"])),
            3..5 => format!("mul{open}.f64 {d}, {a}, {b};"),
            5..8 => format!("fma.{round}.f64 {d}, {a}, {b}, {c};"),
            8 => format!("{}.f64 {d}, {a}, {b};", self.pick(&["min", "max"])),
            9 => format!("{}.f64 {d}, {a};", self.pick(&["abs", "neg"])),
            10 if self.one_in(4) => match self.below(3) {
                0 => format!("div.{round}.f64 {d}, {a}, {b};"),
                1 => format!("rcp.{round}.f64 {d}, {a};"),
                _ => format!("sqrt.{round}.f64 {d}, {a};"),
            },
            11 => {
                let p = self.pred();
                format!("selp.f64 {d}, {a}, {b}, {p};")
            }
            12 => format!("mov.b64 {}, {a};", self.long()),
            _ => format!("mov.b64 {d}, {};", self.long()),
        };
        self.guarded(text)
    }

    /// Half precision: single values in 16-bit registers, packed ones in words.
    pub(super) fn half_op(&mut self) -> String {
        let packed = self.one_in(2);
        let (d, a, b, c) = if packed {
            (self.word(), self.word(), self.word(), self.word())
        } else {
            (self.short(), self.short(), self.short(), self.short())
        };
        let brain = self.target >= 90 && self.one_in(3);
        let x2 = if packed { "x2" } else { "" };
        let t = if brain { format!("bf16{x2}") } else { format!("f16{x2}") };
        let ftz = if brain { "" } else { self.pick(&["", "", ".ftz"]) };
        let sat = if brain { "" } else { self.pick(&["", "", ".sat"]) };
        let text = match self.below(8) {
            0 | 1 => format!("fma.rn{ftz}{sat}.{t} {d}, {a}, {b}, {c};"),
            2 => format!("add{}{ftz}{sat}.{t} {d}, {a}, {b};", self.pick(&["", ".rn"])),
            3 => format!("sub{ftz}{sat}.{t} {d}, {a}, {b};"),
            4 => format!("mul{ftz}{sat}.{t} {d}, {a}, {b};"),
            5 if self.target >= 80 => {
                format!("{}{ftz}{}.{t} {d}, {a}, {b};", self.pick(&["min", "max"]), self.pick(&["", ".NaN"]))
            }
            6 if self.target >= 80 => format!("fma.rn{ftz}.relu.{t} {d}, {a}, {b}, {c};"),
            _ => format!("fma.rn{ftz}.{t} {d}, {a}, {b}, {c};"),
        };
        self.guarded(text)
    }

    pub(super) fn conversion(&mut self) -> String {
        let whole = self.pick(&["rni", "rzi", "rmi", "rpi"]);
        let round = self.pick(&["rn", "rz", "rm", "rp"]);
        let ftz = self.pick(&["", "", ".ftz"]);
        let (w, v) = (self.word(), self.word());
        let (f, g) = (self.float(), self.float());
        let (d, h, e) = (self.long(), self.short(), self.double());
        let t32 = self.pick(&["u32", "s32"]);
        let t64 = self.pick(&["u64", "s64"]);
        let t16 = self.pick(&["u16", "s16"]);
        let t8 = self.pick(&["u8", "s8"]);
        let sat = self.pick(&["", "", ".sat"]);
        let text = match self.below(22) {
            0 => format!("cvt.{whole}{ftz}.{t32}.f32 {w}, {f};"),
            1 => format!("cvt.{round}.f32.{t32} {f}, {w};"),
            2 => format!("cvt.{whole}{ftz}.{t64}.f32 {d}, {f};"),
            3 => format!("cvt.{round}.f32.{t64} {f}, {d};"),
            4 => format!("cvt.{whole}.{t32}.f64 {w}, {e};"),
            5 => format!("cvt.rn.f64.{t32} {e}, {w};"),
            6 => format!("cvt.{whole}.{t64}.f64 {d}, {e};"),
            7 => format!("cvt.{round}.f64.{t64} {e}, {d};"),
            8 => format!("cvt.{round}{ftz}.f32.f64 {f}, {e};"),
            9 => format!("cvt{ftz}.f64.f32 {e}, {f};"),
            10 => format!("cvt.{whole}{ftz}.f32.f32 {f}, {g};"),
            11 => format!("cvt.{}.f16.f32 {h}, {f};", self.pick(&["rn", "rz"])),
            12 => format!("cvt.f32.f16 {f}, {h};"),
            13 => format!("cvt{sat}.{t32}.{t64} {w}, {d};"),
            14 => format!("cvt.{t64}.{t32} {d}, {w};"),
            15 => format!("cvt{sat}.{t16}.{t32} {h}, {w};"),
            16 => format!("cvt.{t32}.{t16} {w}, {h};"),
            17 => format!("cvt{sat}.{t8}.{t32} {w}, {v};"),
            18 => format!("cvt.{t32}.{t8} {w}, {v};"),
            19 => format!("cvt.{whole}.{t16}.f16 {h}, {h};"),
            20 => format!("cvt.{}.f16.{t16} {h}, {h};", self.pick(&["rn", "rz"])),
            _ if self.target >= 80 => match self.below(5) {
                0 => format!("cvt.rn{}.bf16.f32 {h}, {f};", self.pick(&["", ".relu"])),
                1 => format!("cvt.{}.bf16x2.f32 {w}, {f}, {g};", self.pick(&["rn", "rz"])),
                2 => format!("cvt.rna.tf32.f32 {w}, {f};"),
                3 if self.target >= 90 => format!("cvt.f32.bf16 {f}, {h};"),
                _ => format!("cvt.rn{}.f16x2.f32 {w}, {f}, {g};", self.pick(&["", ".relu"])),
            },
            _ => format!("cvt.sat{ftz}.f32.f32 {f}, {g};"),
        };
        self.guarded(text)
    }

    pub(super) fn comparison(&mut self) -> String {
        let (p, q, r) = (self.pred(), self.pred(), self.pred());
        let (w, a, b) = (self.word(), self.word(), self.word_or_literal());
        let (f, g) = (self.float(), self.float_or_literal());
        let ordered = self.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let floating = self.pick(&[
            "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
        ]);
        let join = self.pick(&["and", "or", "xor"]);
        let not = self.pick(&["", "!"]);
        let ftz = self.pick(&["", "", ".ftz"]);
        let t = self.pick(&["u32", "s32"]);
        match self.below(12) {
            0..3 => format!("setp.{ordered}.{t} {p}, {a}, {b};"),
            3 if p != q => format!("setp.{ordered}.{join}.{t} {p}|{q}, {a}, {b}, {not}{r};"),
            4 => format!("setp.{ordered}.{join}.{t} {p}, {a}, {b}, {not}{r};"),
            5 => format!("setp.{floating}{ftz}.f32 {p}, {f}, {g};"),
            6 => format!("setp.{floating}.f64 {p}, {}, {};", self.double(), self.double()),
            7 => {
                let (x, y) = (self.long(), self.long());
                format!("setp.{ordered}.{} {p}, {x}, {y};", self.pick(&["u64", "s64"]))
            }
            8 => {
                let (x, y) = (self.short(), self.short());
                match self.below(3) {
                    0 => format!("setp.{floating}{ftz}.f16 {p}, {x}, {y};"),
                    _ => format!("setp.{ordered}.{} {p}, {x}, {y};", self.pick(&["u16", "s16"])),
                }
            }
            9 => match self.below(2) {
                0 => format!("set.{ordered}.{}.{t} {w}, {a}, {b};", self.pick(&["u32", "s32"])),
                _ => format!("set.{floating}{ftz}.f32.f32 {f}, {f}, {g};"),
            },
            10 => match self.below(2) {
                0 => format!("{join}.pred {p}, {q}, {r};"),
                _ => format!("not.pred {p}, {q};"),
            },
            _ => match self.below(2) {
                0 => {
                    let property =
                        self.pick(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]);
                    format!("testp.{property}.f32 {p}, {f};")
                }
                _ => format!("mov.pred {p}, {q};"),
            },
        }
    }

    pub(super) fn carry_chain(&mut self) -> String {
        let (a, b, c, d) = (self.word(), self.word(), self.word_or_literal(), self.word());
        let (e, f, g) = (self.word(), self.word(), self.word());
        match self.below(4) {
            0 => format!("add.cc.u32 {a}, {b}, {c}; addc.cc.u32 {d}, {e}, {f}; addc.u32 {g}, {g}, 0;"),
            1 => format!("sub.cc.u32 {a}, {b}, {c}; subc.cc.u32 {d}, {e}, {f}; subc.u32 {g}, {g}, 0;"),
            2 => format!("mad.lo.cc.u32 {a}, {b}, {c}, {d}; madc.hi.u32 {e}, {b}, {c}, {f};"),
            _ => {
                let (x, y, z) = (self.long(), self.long(), self.long());
                format!("add.cc.u64 {x}, {x}, {y}; addc.u64 {z}, {z}, 0;")
            }
        }
    }
}
