// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts in, text out; and what cannot be linked.

use super::link;
use crate::{Severity, parse};

const HEAD: &str = ".version 7.8\n.target sm_75\n.address_size 64\n";

/// Links texts that lack their header; what comes out must be read without errors.
fn linked(bodies: &[&str]) -> String {
    let texts: Vec<String> = bodies.iter().map(|body| format!("{HEAD}{body}")).collect();
    let names = ["a.ptx", "b.ptx", "c.ptx"];
    let texts: Vec<_> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
    let out = link(&texts).expect("they can be linked");
    let errors: Vec<_> = parse("out", &out)
        .diagnostics
        .into_iter()
        .filter(|found| found.severity == Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{out}\n{errors:?}");
    out.strip_prefix(".version 7.8\n.target sm_75\n.address_size 64\n\n")
        .expect("it has one header")
        .to_owned()
}

fn refused(bodies: &[&str]) -> String {
    let texts: Vec<String> = bodies.iter().map(|body| format!("{HEAD}{body}")).collect();
    let texts: Vec<_> = ["a.ptx", "b.ptx"].into_iter().zip(texts.iter().map(String::as_str)).collect();
    let errors = link(&texts).expect_err("they cannot be linked");
    errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_single_text_comes_back_unchanged() {
    let text = "this is not even PTX";
    assert_eq!(link(&[("a", text)]).as_deref(), Ok(text));
}

#[test]
fn declarations_give_way_to_definitions() {
    let user = ".extern .func (.param .b32 r) twice(.param .b32 x);\n.extern .global .align 4 .u32 g;\n\
        .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
        .visible .entry k()\n{\n\tret;\n}\n";
    let library = ".visible .global .align 4 .u32 g = 7;\n\
        .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
        .visible .func (.param .b32 r) twice(.param .b32 x)\n{\n\tret;\n}\n";
    let out = linked(&[user, library]);
    assert_eq!(
        out,
        "\n// a.ptx\n.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
        .visible .entry k()\n{\n\tret;\n}\n\
        \n// b.ptx\n.visible .global .align 4 .u32 g = 7;\n\n\
        .visible .func (.param .b32 r) twice(.param .b32 x)\n{\n\tret;\n}\n"
    );
}

#[test]
fn of_weak_and_common_definitions_one_is_left() {
    let weak = |body: &str| format!(".weak .func f()\n{{\n\t// {body}\n\tret;\n}}\n");
    let out = linked(&[&weak("first"), &weak("second")]);
    assert!(out.contains("first") && !out.contains("second"), "{out}");
    let strong = ".visible .func f()\n{\n\t// strong\n\tret;\n}\n";
    let out = linked(&[&weak("first"), strong, &weak("third")]);
    assert!(out.contains("strong") && !out.contains("first") && !out.contains("third"), "{out}");
    let out = linked(&[".common .global .u32 c[4];\n", ".common .global .u32 c[16];\n"]);
    assert!(!out.contains("c[4]") && out.contains("c[16]"), "{out}");
}

#[test]
fn private_names_that_clash_are_renamed_where_they_are_names() {
    let first = ".global .u32 count;\n.func min()\n{\n\tret;\n}\n";
    let second = ".global .u32 count = 3;\n.global .u64 list[2] = {count, generic(count)};\n\
        .func min()\n{\n\t.reg .u32 %r<3>;\n\t.reg .pred p;\n\t.loc 1 2 3\n\tmin.u32 %r1, %r1, %r2;\n\
        \t@!p min.u32 %r1, %r1, %r2;\n\tld.global.u32 %r1, [count+4];\n\tcall min, ();\n\
        \tst.global.v2.u32 [count], {%r1, %r2};\nmin:\n\tbra min;\n}\n";
    let out = linked(&[first, second]);
    let second = out.split("// b.ptx").nth(1).expect("the second text is there");
    assert_eq!(
        second,
        "\n.global .u32 count__1 = 3;\n.global .u64 list[2] = {count__1, generic(count__1)};\n\
        .func min__1()\n{\n\t.reg .u32 %r<3>;\n\t.reg .pred p;\n\t.loc 1 2 3\n\tmin.u32 %r1, %r1, %r2;\n\
        \t@!p min.u32 %r1, %r1, %r2;\n\tld.global.u32 %r1, [count__1+4];\n\tcall min__1, ();\n\
        \tst.global.v2.u32 [count__1], {%r1, %r2};\nmin__1:\n\tbra min__1;\n}\n"
    );
}

#[test]
fn a_private_name_does_not_answer_for_a_public_one() {
    let user = ".extern .global .u32 g;\n";
    let (private, public) = (".global .u32 g = 1;\n", ".visible .global .u32 g = 2;\n");
    let out = linked(&[user, private, public]);
    assert!(out.contains("g__1 = 1") && out.contains(".visible .global .u32 g = 2"), "{out}");
    assert!(!out.contains(".extern"), "{out}");
    let out = linked(&[".global .u32 g; .global .u32 g__1;", ".global .u32 g;"]);
    assert!(out.contains("g__2;"), "a name that is taken is not given: {out}");
}

#[test]
fn dynamic_shared_memory_is_one() {
    let first = ".extern .shared .align 4 .b8 s[];\n";
    let second = ".extern .shared .align 16 .b8 s[];\n";
    let out = linked(&[first, second, first]);
    assert_eq!(out.matches(".shared").count(), 1);
    assert!(out.contains(".align 16"), "{out}");
}

#[test]
fn files_are_numbered_anew() {
    let body = |name: &str, files: &str| {
        format!(
            "{files}.visible .entry {name}()\n{{\n\t.loc 1 5 3\n\t.loc 2 7 1, function_name L + 12, \
             inlined_at 1 9 2\n\tret;\n}}\n.section .debug_str\n{{\nL:\n.b8 1,2\n}}\n"
        )
    };
    let first = body("k", ".file 1 \"a.cu\"\n.file 2 \"common.h\", 123, 456\n");
    let second = body("l", ".file 1 \"common.h\"\n.file 2 \"b.cu\"\n");
    let out = linked(&[&first, &second]);
    assert!(out.starts_with(".file 1 \"a.cu\"\n.file 2 \"common.h\"\n.file 3 \"b.cu\"\n"), "{out}");
    let locs: Vec<_> = out.lines().filter(|line| line.contains(".loc")).map(str::trim).collect();
    assert_eq!(
        locs,
        [
            ".loc 1 5 3",
            ".loc 2 7 1, function_name L + 12, inlined_at 1 9 2",
            ".loc 2 5 3",
            ".loc 3 7 1, function_name L + 12, inlined_at 2 9 2"
        ]
    );
    assert!(!out.contains("debug_str"), "{out}");
}

#[test]
fn the_newest_header_counts() {
    let old = ".version 6.0\n.target sm_30, texmode_unified\n.address_size 64\n.global .u32 a;";
    let new = ".version 8.4\n.target sm_90a, debug\n.address_size 64\n.global .u32 b;";
    let out = link(&[("old", old), ("new\nname", new)]).expect("they can be linked");
    assert!(out.starts_with(".version 8.4\n.target sm_90a, texmode_unified\n.address_size 64\n"), "{out}");
    assert!(out.contains("// new name\n"), "{out}");
}

#[test]
fn pragmas_in_headers_do_not_end_functions() {
    let body =
        ".visible .entry k()\n.maxntid 32\n.pragma \"nounroll\";\n{\n\tret;\n}\n.weak .func f() { ret; }";
    let out = linked(&[body, ".weak .func f() { trap; }\n.visible .entry l() { ret; }"]);
    assert!(!out.contains("trap") && out.contains(".entry l") && out.contains("nounroll"), "{out}");
}

#[test]
fn what_is_defined_twice_is_named_with_both_places() {
    let kernel = "\n.visible .entry k() { ret; }\n";
    let message = refused(&[kernel, &format!("\n\n{kernel}")]);
    assert_eq!(message, "`k` is defined twice: in a.ptx:5 and in b.ptx:7");
    let message = refused(&[".visible .global .u32 k;", kernel]);
    assert!(message.contains("`k` is defined twice"), "{message}");
}

#[test]
fn texts_that_do_not_fit_together_are_refused() {
    let narrow = ".version 6.0\n.target sm_30\n.address_size 32\n";
    let errors = link(&[("a", HEAD), ("b", narrow)]).expect_err("the sizes differ");
    assert!(errors[0].message.contains("a has 64, b has 32"), "{}", errors[0].message);
    let modes = |mode: &str| format!(".version 6.0\n.target sm_30, {mode}\n.address_size 64\n");
    let (one, other) = (modes("texmode_unified"), modes("texmode_independent"));
    assert!(link(&[("a", &one), ("b", &other)]).is_err());
}

#[test]
fn syntax_errors_are_told_with_their_text_unless_a_function_holds_them() {
    let message = refused(&[".global .u32 a;", ".global .u32 ;"]);
    assert!(message.starts_with("b.ptx:4:"), "{message}");
    let broken = ".visible .entry k() { this is ] no PTX; }\n";
    let texts = [format!("{HEAD}{broken}"), format!("{HEAD}.visible .entry l() {{ ret; }}\n")];
    let out = link(&[("a", &texts[0]), ("b", &texts[1])]).expect("an entry point of one is usable");
    assert!(out.contains("this is ] no PTX") && out.contains(".entry l"), "{out}");
}

#[test]
fn no_pair_of_damaged_texts_panics() {
    let whole = format!(
        "{HEAD}.file 1 \"x\"\n.global .u32 g[2] = {{1, 2}};\n.func f() {{ .loc 1 2 3\n ret; }}\n.section .d {{ .b8 1 }}\n"
    );
    for cut in 0..whole.len() {
        if whole.is_char_boundary(cut) {
            let _ = link(&[("a", &whole), ("b", &whole[..cut])]);
            let _ = link(&[("a", &whole[cut..]), ("b", &whole)]);
        }
    }
}

#[test]
fn a_prototype_with_other_results_than_the_definition_stays_for_its_callers() {
    let user = |results: &str| {
        format!(".extern .func {results}f(.param .b32 x);\n.visible .entry k()\n{{\n\tret;\n}}\n")
    };
    let library = |results: &str| format!(".visible .func {results}f(.param .b32 x)\n{{\n\tret;\n}}\n");
    let result = "(.param .b32 r) ";
    for (declared, defined, stays) in
        [(result, "", true), ("", result, true), (result, result, false), ("", "", false)]
    {
        for texts in [[user(declared), library(defined)], [library(defined), user(declared)]] {
            let out = linked(&[&texts[0], &texts[1]]);
            assert_eq!(out.contains(".extern .func"), stays, "{out}");
        }
    }
}
