// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of memory operations under way are not written anew while others are free (docs/compiler.md, "Registers of memory operations"). Figures of
//! ptxas are those of version 12.9.

use warpwatt_compiler::{Compiled, Options, compile, front};
use warpwatt_isa::{Class, Reg, Src, Uop};

fn compiled(sm: u32, directives: &str, body: &str) -> Compiled {
    let text = format!(
        ".version 7.0\n.target sm_{sm}\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{directives}\n{{\n\
         .reg .b64 %rd<199>;\n.reg .b32 %r<199>;\nld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u32 %r1, [n];\n\
         mov.u32 %r2, %tid.x;\n{body}\nret;\n}}\n"
    );
    let parsed = warpwatt_ptx::parse("registers.ptx", &text);
    assert!(parsed.diagnostics.is_empty(), "{text}\n{:?}", parsed.diagnostics);
    let layout = front::layout(&parsed.module);
    compile(&parsed.module, &layout, "k", &Options::default()).expect("it compiles")
}

/// `count` stores to scattered addresses, each of a value that depends on the one before.
fn stores(count: u32) -> String {
    let mut body = String::from("mov.u32 %r10, %r2;\n");
    for i in 0..count {
        body += &format!(
            "mad.lo.u32 %r{next}, %r{}, {}, %r1;\nmul.wide.u32 %rd{wide}, %r{next}, 4;\nadd.s64 %rd{at}, %rd1, %rd{wide};\n\
             st.volatile.global.u32 [%rd{at}], %r{next};\nbar.sync 0;\n",
            10 + i,
            77 + i,
            next = 11 + i,
            wide = 10 + i,
            at = 100 + i,
        );
    }
    body
}

/// Two loads, each of an address of its own, and a store of their sum.
const SUM: &str = "mul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nmul.wide.u32 %rd6, %r2, 12;\n\
    add.s64 %rd7, %rd1, %rd6;\nld.global.u32 %r3, [%rd4];\nld.global.u32 %r4, [%rd7];\nadd.u32 %r5, %r3, %r4;\nst.global.u32 [%rd5], %r5;";

/// Loads from one address with offsets, all under way before the first result is read, and a store of a combination of them.
fn loads(count: u32) -> String {
    let mut body = String::from(
        "mul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nmov.u32 %r50, 0;\n",
    );
    for i in 0..count {
        body += &format!("ld.global.u32 %r{}, [%rd4+{}];\n", 10 + i, 4 * i);
    }
    for i in 0..count {
        body += &format!("mad.lo.u32 %r{}, %r{}, 7, %r{};\n", 51 + i, 50 + i, 10 + i);
    }
    body + &format!("st.global.u32 [%rd5], %r{};", 50 + count)
}

fn words(uop: &Uop, source: usize) -> Vec<u8> {
    match uop.src[source] {
        Src::Reg(first) if first != Reg::ZERO => {
            (0..uop.src_words(source) as u8).map(|i| first.0 + i).collect()
        }
        _ => Vec::new(),
    }
}

/// Instructions that write a register which an earlier one in the straight-line code may not have read yet.
fn overwritten(code: &[Uop]) -> Vec<String> {
    let mut found = Vec::new();
    for (i, uop) in code.iter().enumerate() {
        if !matches!(uop.class(), Class::Load | Class::Store | Class::Atomic) {
            continue;
        }
        let held: Vec<u8> = (0..2).flat_map(|source| words(uop, source)).filter(|&r| r != 1).collect();
        let result = (uop.dst_words() > 0).then_some(uop.dst.0);
        for later in &code[i + 1..] {
            let written = (0..later.dst_words() as u8).map(|w| later.dst.0 + w).any(|r| held.contains(&r));
            if written && later.dst != Reg::ZERO {
                found.push(format!("{later} after {uop}"));
            }
            let read = (0..later.src.len()).any(|s| result.is_some_and(|r| words(later, s).contains(&r)));
            if read {
                break;
            }
        }
    }
    found
}

#[test]
fn registers_of_loads_and_stores_under_way_are_left_alone() {
    for sm in [50, 75] {
        for body in [stores(2), stores(4), SUM.to_string(), loads(2), loads(3), loads(4)] {
            let code = compiled(sm, "", &body).program.uops;
            assert_eq!(overwritten(&code), Vec::<String>::new(), "sm_{sm}\n{body}");
        }
    }
}

#[test]
fn that_costs_neither_occupancy_nor_spills() {
    // ptxas has 32 registers for sm_50 and 64 for sm_75.
    for (sm, full) in [(50, 32), (70, 32), (75, 64), (80, 32)] {
        let program = compiled(sm, "", &stores(40)).program;
        assert!((full - 10..=full).contains(&program.registers), "sm_{sm}: {} registers", program.registers);
    }
    let tight = compiled(50, ".maxnreg 16", &stores(40)).program;
    assert!(tight.registers <= 16);
    assert_eq!(tight.spill_bytes, 0);
}

#[test]
fn what_is_stored_lies_in_the_other_bank_than_its_address() {
    let code = compiled(75, "", &stores(4)).program.uops;
    let mut seen = 0;
    for uop in code.iter().filter(|uop| uop.class() == Class::Store) {
        let (address, data) = (words(uop, 0), words(uop, 1));
        assert_ne!(address[0] % 2, data[0] % 2, "{uop}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}
