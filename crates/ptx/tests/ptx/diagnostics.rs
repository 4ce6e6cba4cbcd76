// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong is said where it is, with advice, and spoils nothing else. The messages themselves are in `snapshots/`.

use warpwatt_ptx::ast::{Function, Item, Module};
use warpwatt_ptx::{Parsed, Severity, line_col, parse};

const HEADER: &str = ".version 7.8\n.target sm_75\n.address_size 64\n";

fn with_header(text: &str) -> Parsed {
    parse("test.ptx", &format!("{HEADER}{text}"))
}

fn rendered(parsed: &Parsed) -> String {
    let module = &parsed.module;
    parsed
        .diagnostics
        .iter()
        .map(|d| d.render(&module.name, &module.text, false))
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn function<'m>(module: &'m Module, name: &str) -> &'m Function {
    let sym = module.names.find(name).expect("the name was read");
    module
        .items
        .iter()
        .find_map(|item| match item {
            Item::Function(function) if function.name == sym => Some(function),
            _ => None,
        })
        .expect("the function was kept")
}

macro_rules! golden {
    ($($name:ident: $text:expr;)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), rendered(&with_header($text)));
        })*
    };
}

golden! {
    unknown_instruction: ".entry k() {\n\tmlu.lo.s32 %r1, %r2, %r3;\n\tfrobnicate %r1;\n\tret;\n}";
    unknown_directive: ".entyr k() {\n\tret;\n}\n.gloabl .u32 x;\n.global .u23 y;";
    unknown_directive_in_body: ".entry k() {\n\t.rge .b32 %r<4>;\n\tret;\n}";
    missing_semicolon: ".entry k() {\n\tadd.s32 %r1, %r2, %r3\n\tsub.s32 %r1, %r2, %r3;\n\tret\n}";
    missing_comma: ".entry k() {\n\tadd.s32 %r1 %r2, %r3;\n\tret;\n}";
    missing_operand: ".entry k() {\n\tadd.s32 %r1, , %r3;\n\tst.v2.u32 [%rd1], {%r1 %r2};\n\tret;\n}";
    missing_brace: ".entry a() {\n\tret;\n\n.entry b() {\n\tret;\n}";
    extra_brace: ".entry a() {\n\tret;\n}\n}\n.entry b() {\n\tret;\n}";
    cut_off: ".entry a() {\n\tld.global.f32 %f1, [%rd";
    bad_numbers: ".global .u32 a = 0xyz;\n.global .f32 b = 0f123;\n.global .u64 c = 99999999999999999999;\n.global .u32 d = 1/0;";
    bad_text: ".entry k() {\n\tadd.s32 %r1, §§§, %r3;\n\tret;\n}\n# include <x>\n";
    unfinished_comment: ".entry k() {\n\tret;\n}\n/* and so on";
    unfinished_string: ".file 1 \"abc\n.entry k() {\n\tret;\n}";
    register_offset: ".entry k() {\n\tld.global.f32 %f1, [%rd1+%r2];\n\tmov.u32 %r1, table[3];\n\tret;\n}";
    register_of_module: ".reg .b32 %r<4>;\n.reg .b32 x;\n.entry k() { mov.b32 %r1, x; }\n.global .b8 s[4] = \"abc\";";
    too_many_registers: ".entry k() {\n\t.reg .b32 %r<4000000000>;\n\tret;\n}";
    table_without_label: ".entry k() {\n\t.branchtargets A, B;\n\tret;\n}";
    bad_parameter: ".entry k(.param .u32 a, .parma .u32 b) {\n\tret;\n}";
    bad_header: ".entry k() .maxntdi 128 {\n\tret;\n}\n.entry j() .maxnreg x {\n\tret;\n}";
}

#[test]
fn no_version() {
    insta::assert_snapshot!("no_version", rendered(&parse("x.ptx", "int main() { return 0; }\n")));
}

#[test]
fn newer_version() {
    let parsed = parse("x.ptx", ".version 12.0\n.target sm_75\n.entry k() { ret; }");
    insta::assert_snapshot!("newer_version", rendered(&parsed));
    assert!(parsed.diagnostics.iter().all(|d| d.severity == Severity::Warning));
    assert!(!function(&parsed.module, "k").broken);
}

#[test]
fn an_error_spoils_one_function_only() {
    let parsed = with_header(
        ".entry a() { ret; }\n.entry b() { adz.s32 %r1, ; ret; }\n.entry c(.param .u32) { ret; }\n\
         .global .u32 = 4;\n.func d() { ret; }\n.entry e() { { ret; }\n.entry f() { ret; }",
    );
    let broken = ["a", "b", "c", "d", "e", "f"].map(|name| function(&parsed.module, name).broken);
    assert_eq!(broken, [false, true, true, false, true, false], "{}", rendered(&parsed));
    for name in ["b", "c", "e"] {
        let extent = function(&parsed.module, name).extent;
        assert!(
            parsed.diagnostics.iter().any(|d| extent.start <= d.span.start && d.span.end <= extent.end),
            "{name}"
        );
    }
}

#[test]
fn every_broken_line_is_reported() {
    let mut text = ".entry k() {\n".to_owned();
    for line in 0..50 {
        text.push_str(if line % 2 == 0 { "\tadd.s32 %r1 %r2;\n" } else { "\tadd.s32 %r1, %r2, %r3;\n" });
    }
    let parsed = with_header(&(text + "}\n"));
    let lines: Vec<usize> =
        parsed.diagnostics.iter().map(|d| line_col(&parsed.module.text, d.span).0).collect();
    assert_eq!(lines, (0..25).map(|n| 5 + 2 * n).collect::<Vec<_>>());
}

#[test]
fn messages_are_capped_and_counted() {
    let parsed = with_header(&format!(
        ".entry k() {{\n{}}}\n.entry last() {{ ret; }}",
        "\tadd.s32 %r1 %r2;\n".repeat(250)
    ));
    assert_eq!(parsed.diagnostics.len(), 101);
    let last = parsed.diagnostics.last().expect("there are messages");
    assert_eq!((last.code, last.severity), ("ptx-too-many", Severity::Note));
    assert!(last.message.starts_with("150 more"), "{}", last.message);
    assert!(function(&parsed.module, "k").broken && !function(&parsed.module, "last").broken);
}

#[test]
fn deep_nesting_is_refused_not_fatal() {
    for text in [
        format!(".entry k() {{ mov.u32 a, {}1; }}", "(".repeat(200_000)),
        format!(".entry k() {{ mov.u32 a, {}b; }}", "-".repeat(200_000)),
        format!(".entry k() {{ mov.u32 a, {}b; }}", "!".repeat(200_000)),
        format!(".entry k() {{ mov.u32 a, {}", "[".repeat(200_000)),
        format!(".entry k() {{ mov.u32 a, {}", "{".repeat(200_000)),
        format!(".entry k() {}", "{".repeat(200_000)),
        format!(".entry k() {}", "{ ret; ".repeat(200_000)),
        format!(".entry k() {{ mov.u32 a, 1{}; }}", " ? 1 : 1".repeat(200_000)),
        format!(".global .u32 x[] = {}", "{".repeat(200_000)),
        format!(".global .u32 x = {}", "a = ".repeat(200_000)),
        format!(".global .u32 x = {}", "~".repeat(200_000)),
        ".section x {".repeat(50_000),
        ".visible ".repeat(200_000),
        "}".repeat(200_000),
        ".extern .visible .weak\n".repeat(50_000),
        format!(".entry k() {{ add , {}", ".visible ".repeat(200_000)),
        format!(".entry k() {{ {} }}", "ad.s32 x; ".repeat(200_000)),
        ".entyr ".repeat(200_000),
    ] {
        let parsed = with_header(&text);
        assert!(parsed.diagnostics.iter().any(|d| d.severity == Severity::Error), "{}…", &text[..40]);
    }
}

#[test]
fn long_sums_are_fine() {
    let parsed = with_header(&format!(".entry k() {{ mov.u32 a, 1{}; }}", " + 1".repeat(100_000)));
    assert!(parsed.diagnostics.is_empty());
}
