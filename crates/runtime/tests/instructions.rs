// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that run as sequences, compared with plain arithmetic: video instructions, eight-bit floats, vectors of atomics.

use warpwatt_runtime::texture::{ChannelKind, Format, Image, Sampler, Storage};
use warpwatt_runtime::{Args, Device, LaunchConfig, Options};

const EDGES: [u32; 16] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x0001_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x8080_7f7f,
    0x00ff_ff01,
];
const LANES: usize = 512;

/// Words from the edges and from a generator, each column in an order of its own.
fn column(seed: u64) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    };
    (0..LANES).map(|_| if next() % 3 == 0 { EDGES[next() as usize % EDGES.len()] } else { next() }).collect()
}

/// Runs instructions with sources `%a`, `%b`, `%c` and result `%d`; gives the results of each over all lanes.
fn results(instructions: &[String], columns: &[Vec<u32>; 3], max_registers: u32) -> Vec<Vec<u32>> {
    let mut text = String::from(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n\
         .reg .b16 %h<4>;\n.reg .b32 %a, %b, %c, %d, %t;\n.reg .f32 %f<4>;\n.reg .b64 %p, %q, %o;\n\
         ld.param.u64 %p, [in];\nld.param.u64 %q, [out];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, 4;\n\
         add.u64 %p, %p, %o;\nadd.u64 %q, %q, %o;\n",
    );
    for (k, name) in ["%a", "%b", "%c"].iter().enumerate() {
        text += &format!("ld.global.u32 {name}, [%p+{}];\n", 4 * LANES * k);
    }
    for (k, instruction) in instructions.iter().enumerate() {
        text += &format!("mov.u32 %d, 0;\n{instruction}\nst.global.u32 [%q+{}], %d;\n", 4 * LANES * k);
    }
    text += "ret;\n}\n";
    let options = Options { max_registers: Some(max_registers), ..Options::default() };
    let mut device = Device::with(options, Box::new(warpwatt_runtime::Nobody)).expect("a device");
    let module = device.load_module("k.ptx", &text).expect("it loads");
    let (input, output) = (device.alloc(12 * LANES as u64).expect("room"), {
        let bytes = 4 * (LANES * instructions.len()) as u64;
        device.alloc(bytes).expect("room")
    });
    let bytes: Vec<u8> = columns.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
    device.write(input, &bytes).expect("a copy");
    let config = LaunchConfig::new(1, LANES as u32);
    device.launch(module, "k", &config, &Args::new().ptr(input).ptr(output)).expect("it runs");
    let mut bytes = vec![0; 4 * LANES * instructions.len()];
    device.read(output, &mut bytes).expect("a copy");
    let words: Vec<u32> = bytes.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    words.chunks(LANES).map(<[u32]>::to_vec).collect()
}

type Model = Box<dyn Fn(u32, u32, u32) -> u32>;

/// Compares every instruction with its model, with many registers and with few.
fn compare(cases: Vec<(String, Model)>) {
    let columns = [column(1), column(2), column(3)];
    for (group, chunk) in cases.chunks(64).enumerate() {
        let texts: Vec<String> = chunk.iter().map(|(text, _)| text.clone()).collect();
        let got = results(&texts, &columns, if group % 2 == 0 { 255 } else { 24 });
        for ((text, model), row) in chunk.iter().zip(&got) {
            for lane in 0..LANES {
                let [a, b, c] = [0, 1, 2].map(|k: usize| columns[k][lane]);
                let want = model(a, b, c);
                assert_eq!(
                    row[lane], want,
                    "{text} of {a:#x}, {b:#x}, {c:#x}: {:#x}, not {want:#x}",
                    row[lane]
                );
            }
        }
    }
}

/// The part of a word that a selector names, as a number.
fn part(word: u32, selector: &str, signed: bool) -> i128 {
    let (at, bits) = place(selector);
    let field = u64::from(word) >> at & ((1 << bits) - 1);
    if signed && field >> (bits - 1) & 1 == 1 { i128::from(field) - (1 << bits) } else { i128::from(field) }
}

fn place(selector: &str) -> (u32, u32) {
    match selector.as_bytes() {
        [b'.', b'b', n] => (8 * u32::from(n - b'0'), 8),
        [b'.', b'h', n] => (16 * u32::from(n - b'0'), 16),
        _ => (0, 32),
    }
}

fn clamp(value: i128, signed: bool, bits: u32) -> i128 {
    let (low, high) = if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    value.clamp(low, high)
}

fn holds(cmp: &str, a: i128, b: i128) -> bool {
    match cmp {
        "eq" => a == b,
        "ne" => a != b,
        "lt" => a < b,
        "le" => a <= b,
        "gt" => a > b,
        _ => a >= b,
    }
}

fn arithmetic(op: &'static str, a: i128, b: i128) -> i128 {
    match op {
        "vadd" => a + b,
        "vsub" => a - b,
        "vabsdiff" => (a - b).abs(),
        "vmin" => a.min(b),
        "vmax" => a.max(b),
        "vavrg" if a + b >= 0 => (a + b + 1) >> 1,
        "vavrg" => (a + b) >> 1,
        "vshl.clamp" => a << b.min(32),
        "vshr.clamp" => a >> b.min(32),
        "vshl.wrap" => a << (b & 31),
        "vshr.wrap" => a >> (b & 31),
        cmp => i128::from(holds(cmp, a, b)),
    }
}

const TYPES: [&str; 2] = ["u32", "s32"];
const SELECTORS: [&str; 7] = ["", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"];

#[test]
fn scalar_video_instructions_count_in_34_bits() {
    let mut cases: Vec<(String, Model)> = Vec::new();
    let ops =
        ["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl.clamp", "vshr.wrap", "vshl.wrap", "vshr.clamp"];
    let mut turn = 0;
    for op in ops {
        for types in 0..8 {
            let [to, a_ty, b_ty] = [0, 1, 2].map(|k| TYPES[types >> k & 1]);
            let (name, mode) = op.split_once('.').unwrap_or((op, ""));
            if !mode.is_empty() && b_ty == "s32" {
                continue;
            }
            for sat in ["", ".sat"] {
                for (second, merges) in
                    [("", false), (".add", false), (".min", false), (".max", false), ("", true)]
                {
                    turn += 1;
                    let (a_sel, b_sel) = (SELECTORS[turn % 7], SELECTORS[turn / 3 % 7]);
                    let d_sel = if merges { SELECTORS[1 + turn % 6] } else { "" };
                    let mode = if mode.is_empty() { String::new() } else { format!(".{mode}") };
                    let more = if merges || !second.is_empty() { ", %c" } else { "" };
                    let text = format!(
                        "{name}.{to}.{a_ty}.{b_ty}{sat}{mode}{second} %d{d_sel}, %a{a_sel}, %b{b_sel}{more};"
                    );
                    let model = move |a: u32, b: u32, c: u32| {
                        let (x, y) = (part(a, a_sel, a_ty == "s32"), part(b, b_sel, b_ty == "s32"));
                        let mut result = arithmetic(op, x, y);
                        let (at, bits) = place(d_sel);
                        if !sat.is_empty() {
                            result = clamp(result, to == "s32", bits);
                        } else if name == "vshl" {
                            result = part(result as u32, "", to == "s32");
                        }
                        let whole = part(c, "", to == "s32");
                        match second {
                            ".add" => (result + whole) as u32,
                            ".min" => result.min(whole) as u32,
                            ".max" => result.max(whole) as u32,
                            _ if merges => {
                                let mask = ((1u64 << bits) - 1) << at;
                                (u64::from(c) & !mask | ((result as u64) << at) & mask) as u32
                            }
                            _ => result as u32,
                        }
                    };
                    cases.push((text, Box::new(model)));
                }
            }
        }
    }
    for cmp in ["eq", "ne", "lt", "le", "gt", "ge"] {
        for types in 0..4 {
            let [a_ty, b_ty] = [0, 1].map(|k| TYPES[types >> k & 1]);
            turn += 1;
            let (a_sel, b_sel) = (SELECTORS[turn % 7], SELECTORS[turn / 3 % 7]);
            let text = format!("vset.{a_ty}.{b_ty}.{cmp}.add %d, %a{a_sel}, %b{b_sel}, %c;");
            let model = move |a: u32, b: u32, c: u32| {
                let (x, y) = (part(a, a_sel, a_ty == "s32"), part(b, b_sel, b_ty == "s32"));
                c.wrapping_add(u32::from(holds(cmp, x, y)))
            };
            cases.push((text, Box::new(model)));
        }
    }
    compare(cases);
}

#[test]
fn video_multiplication_scales_and_saturates() {
    let mut cases: Vec<(String, Model)> = Vec::new();
    let mut turn = 0;
    for types in 0..8 {
        let [to, a_ty, b_ty] = [0, 1, 2].map(|k| TYPES[types >> k & 1]);
        for (minus_a, minus_b, minus_c, plus) in
            [("", "", "", ""), ("-", "", "", ""), ("-", "-", "", ""), ("", "", "-", ""), ("", "", "", ".po")]
        {
            for sat in ["", ".sat"] {
                for scale in [0, 7, 15] {
                    turn += 1;
                    let (a_sel, b_sel) = (SELECTORS[1 + turn % 6], SELECTORS[turn / 3 % 7]);
                    let suffix = if scale == 0 { String::new() } else { format!(".shr{scale}") };
                    let text = format!(
                        "vmad.{to}.{a_ty}.{b_ty}{plus}{sat}{suffix} %d, {minus_a}%a{a_sel}, {minus_b}%b{b_sel}, {minus_c}%c;"
                    );
                    let model = move |a: u32, b: u32, c: u32| {
                        let (x, y) = (part(a, a_sel, a_ty == "s32"), part(b, b_sel, b_ty == "s32"));
                        let minus = minus_a != minus_b;
                        let signed = a_ty == "s32" || b_ty == "s32" || minus || minus_c == "-";
                        let c = part(c, "", signed);
                        let product = if minus { -(x * y) } else { x * y };
                        let c = if minus_c == "-" { -c } else { c };
                        let sum = (product + c + i128::from(plus == ".po")) >> scale;
                        (if sat.is_empty() { sum } else { clamp(sum, signed, 32) }) as u32
                    };
                    cases.push((text, Box::new(model)));
                }
            }
        }
    }
    compare(cases);
}

#[test]
fn simd_video_instructions_treat_each_part_by_itself() {
    let mut cases: Vec<(String, Model)> = Vec::new();
    for (count, bits) in [(2, 16), (4, 8)] {
        let letter = if bits == 8 { 'b' } else { 'h' };
        let selectors: Vec<String> = (0..count).map(|k| format!(".{letter}{k}")).collect();
        let masks: [&'static str; 2] = if bits == 8 { ["", ".b2"] } else { ["", ".h1"] };
        for types in 0..8 {
            let [to, a_ty, b_ty] = [0, 1, 2].map(|k| TYPES[types >> k & 1]);
            for mask in masks {
                for sums in ["", ".add"] {
                    let mut add = |op: &'static str, text: String, saturates: bool| {
                        let selectors = selectors.clone();
                        let model = move |a: u32, b: u32, c: u32| {
                            let mut result = c;
                            for selector in selectors.iter().filter(|&s| mask.is_empty() || s == mask) {
                                let (x, y) =
                                    (part(a, selector, a_ty == "s32"), part(b, selector, b_ty == "s32"));
                                let mut t = arithmetic(op, x, y);
                                if saturates {
                                    t = clamp(t, to == "s32", bits);
                                }
                                if sums.is_empty() {
                                    let at = place(selector).0;
                                    let field = ((1u64 << bits) - 1) as u32;
                                    result = result & !(field << at) | (t as u32 & field) << at;
                                } else {
                                    result = result.wrapping_add(t as u32);
                                }
                            }
                            result
                        };
                        cases.push((text, Box::new(model)));
                    };
                    for op in ["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg"] {
                        for sat in ["", ".sat"] {
                            let text =
                                format!("{op}{count}.{to}.{a_ty}.{b_ty}{sat}{sums} %d{mask}, %a, %b, %c;");
                            add(op, text, !sat.is_empty());
                        }
                    }
                    for cmp in ["eq", "ne", "lt", "le", "gt", "ge"] {
                        let text = format!("vset{count}.{a_ty}.{b_ty}.{cmp}{sums} %d{mask}, %a, %b, %c;");
                        add(cmp, text, false);
                    }
                }
            }
        }
    }
    compare(cases);
}

/// All numbers of an eight-bit format that are finite and not negative, in order of their codes.
fn numbers(exponent_bits: u32, bias: i32, count: u32) -> Vec<f64> {
    let mantissa_bits = 7 - exponent_bits;
    let one = |code: u32| {
        let (exponent, mantissa) = ((code >> mantissa_bits) as i32, code & ((1 << mantissa_bits) - 1));
        let fraction = f64::from(mantissa) / f64::from(1 << mantissa_bits);
        match exponent {
            0 => fraction * 2f64.powi(1 - bias),
            _ => (1.0 + fraction) * 2f64.powi(exponent - bias),
        }
    };
    (0..count).map(one).collect()
}

/// The nearest number's code, even ones first; no more than the largest.
fn nearest(value: f32, all: &[f64]) -> u32 {
    if value.is_nan() {
        return 0x7f;
    }
    let size = f64::from(value.abs());
    let sign = u32::from(value.is_sign_negative()) << 7;
    let code = (0..all.len()).min_by(|&i, &j| {
        let (x, y) = ((all[i] - size).abs(), (all[j] - size).abs());
        x.total_cmp(&y).then((i & 1).cmp(&(j & 1)))
    });
    let code = if size >= all[all.len() - 1] { all.len() - 1 } else { code.unwrap_or(0) };
    sign | code as u32
}

#[test]
fn eight_bit_floats_are_rounded_to_nearest_and_read_exactly() {
    let mut cases: Vec<(String, Model)> = Vec::new();
    for (name, exponent_bits, bias, count) in [("e4m3", 4, 7, 0x7f), ("e5m2", 5, 15, 0x7c)] {
        for relu in ["", ".relu"] {
            // Scaled so that most values are in range: the exponent is cut to its low bits.
            let text = format!(
                "and.b32 %d, %a, 0x87ffffff;\nadd.u32 %d, %d, 0x3a000000;\nmov.b32 %f1, %d;\nmov.b32 %f2, %b;\n\
                 cvt.rn.satfinite{relu}.{name}x2.f32 %h1, %f1, %f2;\ncvt.u32.u16 %d, %h1;"
            );
            let all = numbers(exponent_bits, bias, count);
            let model = move |a: u32, b: u32, _: u32| {
                let x = f32::from_bits((a & 0x87ff_ffff).wrapping_add(0x3a00_0000));
                let y = f32::from_bits(b);
                let [x, y] = [x, y].map(|v| {
                    let v = if !relu.is_empty() && v < 0.0 { 0.0 } else { v };
                    let v = if !relu.is_empty() && v == 0.0 { 0.0 } else { v };
                    nearest(v, &all)
                });
                x << 8 | y
            };
            cases.push((text, Box::new(model)));
        }
        // What comes back is exact: going up and down again changes nothing but the sign of NaN.
        let all = numbers(exponent_bits, bias, count);
        let text = format!("cvt.u16.u32 %h1, %a;\ncvt.rn.f16x2.{name}x2 %d, %h1;");
        let model = move |a: u32, _: u32, _: u32| {
            let one = |code: u32| {
                let (sign, code) = ((code & 0x80) << 8, code & 0x7f);
                match all.get(code as usize) {
                    Some(&number) => sign | half_of(number),
                    None if name == "e5m2" && code == 0x7c => sign | 0x7c00,
                    None => 0x7fff,
                }
            };
            one(a >> 8 & 0xff) << 16 | one(a & 0xff)
        };
        cases.push((text, Box::new(model)));
        let all = numbers(exponent_bits, bias, count);
        let text = format!("cvt.rn.satfinite.{name}x2.f16x2 %h1, %b;\ncvt.u32.u16 %d, %h1;");
        let model = move |_: u32, b: u32, _: u32| {
            let [x, y] = [b >> 16, b & 0xffff].map(|half| nearest(of_half(half), &all));
            x << 8 | y
        };
        cases.push((text, Box::new(model)));
    }
    compare(cases);
}

/// A number that half precision has, as its bits.
fn half_of(number: f64) -> u32 {
    (0..0x7c00).find(|&bits| f64::from(of_half(bits)) == number).expect("eight bits fit into sixteen")
}

fn of_half(bits: u32) -> f32 {
    let (sign, exponent, mantissa) = (bits >> 15 & 1, bits >> 10 & 31, bits & 0x3ff);
    let size = match exponent {
        0 => mantissa as f32 * 2f32.powi(-24),
        31 if mantissa != 0 => f32::NAN,
        31 => f32::INFINITY,
        _ => (1024 + mantissa) as f32 * 2f32.powi(exponent as i32 - 25),
    };
    if sign == 1 { -size } else { size }
}

#[test]
fn comparisons_of_two_halves_give_two_masks() {
    let mut cases: Vec<(String, Model)> = Vec::new();
    for (cmp, unordered) in [("gt", false), ("eq", false), ("le", false), ("neu", true), ("ltu", true)] {
        let text = format!("set.{cmp}.u32.f16x2 %d, %a, %b;");
        let model = move |a: u32, b: u32, _: u32| {
            let one = |x: u32, y: u32| {
                let (x, y) = (of_half(x), of_half(y));
                let holds = match cmp {
                    "gt" => x > y,
                    "eq" => x == y,
                    "le" => x <= y,
                    "neu" => x != y,
                    _ => x < y,
                };
                if holds || unordered && (x.is_nan() || y.is_nan()) { 0xffff } else { 0 }
            };
            one(a >> 16, b >> 16) << 16 | one(a & 0xffff, b & 0xffff)
        };
        cases.push((text, Box::new(model)));
    }
    compare(cases);
}

#[test]
fn tf32_keeps_ten_bits_and_may_stay_finite() {
    let mut cases: Vec<(String, Model)> = Vec::new();
    for (suffix, finite, relu) in [("", false, false), (".satfinite", true, false), (".relu", false, true)] {
        let text = format!("mov.b32 %f1, %a;\ncvt.rn{suffix}.tf32.f32 %d, %f1;");
        let model = move |a: u32, _: u32, _: u32| {
            let value = f32::from_bits(a);
            if value.is_nan() {
                return 0x7fff_ffff;
            }
            let (size, sign) = (a & 0x7fff_ffff, a & 0x8000_0000);
            let (down, rest) = (size >> 13, size & 0x1fff);
            let up = rest > 0x1000 || rest == 0x1000 && down & 1 == 1;
            let mut size = if value.is_infinite() { size } else { (down + u32::from(up)) << 13 };
            if finite {
                size = size.min(0x7f7f_e000);
            }
            if relu && sign != 0 { 0 } else { sign | size }
        };
        cases.push((text, Box::new(model)));
    }
    compare(cases);
}

const ATOMICS: &str = r#".version 8.6
.target sm_90
.address_size 64
.visible .entry vectors(.param .u64 sums, .param .u64 halves, .param .u64 old)
{
    .reg .b32 %t, %h<2>;
    .reg .f32 %f<8>;
    .reg .b64 %s, %p, %o, %at;
    ld.param.u64 %s, [sums];
    ld.param.u64 %p, [halves];
    ld.param.u64 %o, [old];
    mov.u32 %t, %tid.x;
    cvt.rn.f32.u32 %f0, %t;
    mov.f32 %f1, 0f3F800000;
    neg.f32 %f2, %f0;
    mov.f32 %f3, 0f40000000;
    red.relaxed.gpu.global.add.v4.f32 [%s], {%f0, %f1, %f2, %f3};
    mov.b32 %h0, 0x3c004000;
    mov.b32 %h1, 0xbc003c00;
    red.global.add.noftz.v2.f16x2 [%p], {%h0, %h1};
    atom.global.add.v2.f32 {%f4, %f5}, [%s+16], {%f1, %f3};
    mul.wide.u32 %at, %t, 8;
    add.u64 %at, %at, %o;
    st.global.v2.f32 [%at], {%f4, %f5};
    ret;
}

// Sixteen bytes at once: each thread pushes its number in front of those that were there.
.visible .entry wide(.param .u64 place)
{
    .reg .b32 %t;
    .reg .b64 %p, %lo, %hi, %n, %m, %x, %y;
    .reg .b128 %old, %new, %seen;
    .reg .pred %same, %also;
    ld.param.u64 %p, [place];
    mov.u32 %t, %tid.x;
    cvt.u64.u32 %n, %t;
again:
    ld.global.v2.u64 {%lo, %hi}, [%p];
    mov.b128 %old, {%lo, %hi};
    add.u64 %m, %lo, %n;
    add.u64 %y, %hi, 1;
    mov.b128 %new, {%m, %y};
    atom.global.cas.b128 %seen, [%p], %old, %new;
    mov.b128 {%x, %y}, %seen;
    setp.eq.u64 %same, %x, %lo;
    setp.eq.and.u64 %also, %y, %hi, %same;
    @!%also bra again;
    ret;
}
"#;

#[test]
fn vectors_of_atomics_and_sixteen_byte_exchanges() {
    let mut device = Device::new().expect("a device");
    let module = device.load_module("atomics.ptx", ATOMICS).expect("it loads");
    let [sums, halves, old] = [32, 8, 64 * 8].map(|bytes| device.alloc(bytes).expect("room"));
    let args = Args::new().ptr(sums).ptr(halves).ptr(old);
    device.launch(module, "vectors", &LaunchConfig::new(1, 64), &args).expect("it runs");
    let mut floats = |at, count: usize| {
        let mut bytes = vec![0; 4 * count];
        device.read(at, &mut bytes).expect("a copy");
        bytes.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect::<Vec<f32>>()
    };
    assert_eq!(floats(sums, 6), [2016.0, 64.0, -2016.0, 128.0, 64.0, 128.0]);
    let mut seen: Vec<(f32, f32)> = floats(old, 128).chunks(2).map(|pair| (pair[0], pair[1])).collect();
    seen.sort_by(|x, y| x.0.total_cmp(&y.0));
    let counted: Vec<(f32, f32)> = (0..64u8).map(|k| (f32::from(k), 2.0 * f32::from(k))).collect();
    assert_eq!(seen, counted);
    let mut bytes = [0; 8];
    device.read(halves, &mut bytes).expect("a copy");
    let halves: Vec<f32> =
        bytes.chunks(2).map(|b| of_half(u32::from(u16::from_le_bytes([b[0], b[1]])))).collect();
    assert_eq!(halves, [128.0, 64.0, 64.0, -64.0]);

    let place = device.alloc(16).expect("room");
    device.launch(module, "wide", &LaunchConfig::new(4, 64), &Args::new().ptr(place)).expect("it runs");
    let mut bytes = [0; 16];
    device.read(place, &mut bytes).expect("a copy");
    assert_eq!(u128::from_le_bytes(bytes), (256 << 64) + 4 * 2016);
}

const PACKED: &str = r#".version 8.0
.target sm_75
.address_size 64
// Of nine bytes: the word at 1, the word at 5, the half at 3; gives the difference at 3, the half at 7, the sum of bytes at 0.
.func (.param .align 1 .b8 result[9]) mix(.param .align 1 .b8 given[9])
{
    .reg .b32 %r<4>;
    .reg .b16 %h<2>;
    ld.param.b32 %r0, [given+1];
    ld.param.b32 %r1, [given+5];
    ld.param.s16 %h0, [given+3];
    ld.param.u8 %r3, [given];
    sub.u32 %r2, %r1, %r0;
    st.param.b32 [result+3], %r2;
    st.param.b16 [result+7], %h0;
    st.param.v2.b8 [result+1], {%r3, %r1};
    st.param.b8 [result], %r0;
    ret;
}

.visible .entry packed(.param .align 1 .b8 input[9], .param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.b32 %r0, [input+1];
    ld.param.b32 %r1, [input+5];
    ld.param.u8 %r2, [input];
    {
    .param .align 1 .b8 argument[9];
    .param .align 1 .b8 answer[9];
    st.param.b32 [argument+1], %r0;
    st.param.b32 [argument+5], %r1;
    st.param.b8 [argument], %r2;
    call (answer), mix, (argument);
    ld.param.b64 %rd1, [answer+1];
    ld.param.s16 %rd2, [answer+7];
    ld.param.b8 %r3, [answer];
    }
    ld.param.u64 %rd3, [out];
    st.global.u64 [%rd3], %rd1;
    st.global.u64 [%rd3+8], %rd2;
    st.global.u32 [%rd3+16], %r3;
    ret;
}
"#;

#[test]
fn fields_of_packed_structures_are_passed_byte_by_byte() {
    let mut device = Device::new().expect("a device");
    let module = device.load_module("packed.ptx", PACKED).expect("it loads");
    let out = device.alloc(24).expect("room");
    let given = [0x11, 0x22, 0x33, 0x44, 0x85, 0x66, 0x77, 0x88, 0x99];
    let args = Args::new().bytes(&given).ptr(out);
    device.launch(module, "packed", &LaunchConfig::new(1, 32), &args).expect("it runs");
    let word = |at: usize| u32::from_le_bytes([given[at], given[at + 1], given[at + 2], given[at + 3]]);
    let mut answer = vec![given[1], given[0], given[5]];
    answer.extend(word(5).wrapping_sub(word(1)).to_le_bytes());
    answer.extend([given[3], given[4]]);
    let mut bytes = [0; 24];
    device.read(out, &mut bytes).expect("a copy");
    assert_eq!(bytes[..8], answer[1..9]);
    let half = i64::from(i16::from_le_bytes([answer[7], answer[8]]));
    assert_eq!(bytes[8..16], half.to_le_bytes());
    assert_eq!(bytes[16..20], u32::from(answer[0]).to_le_bytes());
}

const PAIRS: &str = r#".version 8.0
.target sm_75
.address_size 64
.visible .entry pairs(.param .u64 texture, .param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [texture];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 8;
    add.u64 %rd2, %rd2, %rd3;
    tex.1d.v2.f16x2.s32 {%r2, %r3}, [%rd1, {%r1}];
    st.global.v2.b32 [%rd2], {%r2, %r3};
    ret;
}
"#;

#[test]
fn texels_of_four_halves_come_in_two_words() {
    let mut device = Device::new().expect("a device");
    let module = device.load_module("pairs.ptx", PAIRS).expect("it loads");
    let [texels, out] = [64, 64].map(|bytes| device.alloc(bytes).expect("room"));
    let bytes: Vec<u8> = (0..32u16).flat_map(|k| (0x3c00 + 7 * k).to_le_bytes()).collect();
    device.write(texels, &bytes).expect("a copy");
    let format = Format { kind: ChannelKind::Float, bits: 16, channels: 4 };
    let storage = Storage::linear(texels.0, 64, format);
    let texture = device.create_image(Image { storage, sampler: Sampler::default() });
    let args = Args::new().u64(texture).ptr(out);
    device.launch(module, "pairs", &LaunchConfig::new(1, 8), &args).expect("it runs");
    let mut found = vec![0; 64];
    device.read(out, &mut found).expect("a copy");
    assert_eq!(found, bytes);
}
