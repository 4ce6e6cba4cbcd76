// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every form of PTX syntax becomes the right tree: forms that the corpus has rarely or never.

use crate::common::tree;
use warpwatt_ptx::ast::*;
use warpwatt_ptx::{Parsed, Severity, parse, print};

const HEADER: &str = ".version 7.8\n.target sm_75\n.address_size 64\n";

/// Reads a text that must be right, and checks that printing it keeps the tree.
fn read(text: &str) -> Module {
    let text = format!("{HEADER}{text}");
    let Parsed { module, diagnostics } = parse("test.ptx", &text);
    let messages: Vec<String> = diagnostics.iter().map(|d| d.render("test.ptx", &text, false)).collect();
    assert!(messages.is_empty(), "{}", messages.join("\n"));
    let printed = print::module(&module);
    let again = parse("test.ptx", &printed);
    assert!(again.diagnostics.is_empty(), "{printed}\n{:?}", again.diagnostics);
    assert_eq!(tree(&module), tree(&again.module));
    module
}

fn body(text: &str) -> (Module, Vec<Stmt>) {
    let module = read(&format!(".entry k() {{\n{text}\n}}"));
    let Some(Item::Function(function)) = module.items.first() else { panic!("a kernel") };
    let stmts = function.body.clone().expect("a body");
    (module, stmts)
}

fn instr(text: &str) -> (Module, Instr) {
    let (module, mut stmts) = body(text);
    assert_eq!(stmts.len(), 1, "{stmts:?}");
    match stmts.remove(0) {
        Stmt::Instr(instr) => (module, instr),
        other => panic!("an instruction, not {other:?}"),
    }
}

/// The last operand of `mov.b64 d, …`.
fn operand(text: &str) -> OperandKind {
    instr(&format!("mov.b64 d, {text};")).1.operands.remove(1).kind
}

fn int(text: &str) -> u64 {
    match operand(text) {
        OperandKind::Int(bits) => bits,
        other => panic!("{text} is {other:?}"),
    }
}

fn variable(text: &str) -> (Module, Variable) {
    let module = read(text);
    let Some(Item::Var(variable)) = module.items.first().cloned() else { panic!("a variable") };
    (module, variable)
}

#[test]
fn integers_of_every_base() {
    assert_eq!(int("42"), 42);
    assert_eq!(int("0"), 0);
    assert_eq!(int("0U"), 0);
    assert_eq!(int("0x7fU"), 0x7f);
    assert_eq!(int("0XABCD"), 0xabcd);
    assert_eq!(int("017"), 15);
    assert_eq!(int("0b1011"), 11);
    assert_eq!(int("18446744073709551615"), u64::MAX);
    assert_eq!(int("-1"), u64::MAX);
    assert_eq!(int("-9223372036854775808"), 1 << 63);
    assert_eq!(int("WARP_SZ"), 32);
}

#[test]
fn constant_expressions_follow_c() {
    assert_eq!(int("1 + 2 * 3"), 7);
    assert_eq!(int("(1 + 2) * 3"), 9);
    assert_eq!(int("1 << 4 | 1"), 17);
    assert_eq!(int("-7 / 2"), -3i64 as u64);
    assert_eq!(int("-7 % 4"), -3i64 as u64);
    assert_eq!(int("-1 >> 60"), u64::MAX);
    assert_eq!(int("0xFFFFFFFFFFFFFFFF >> 60"), 15);
    assert_eq!(int("(.u64)-1 >> 60"), 15);
    assert_eq!(int("1 << 64"), 0);
    assert_eq!(int("-1 < 0U"), 0, "one unsigned side makes the comparison unsigned");
    assert_eq!(int("-1 < 0"), 1);
    assert_eq!(int("~0 == -1 && !0"), 1);
    assert_eq!(int("3 > 2 ? 10 : 20"), 10);
    assert_eq!(int("0 ? 10 : 1 ? 20 : 30"), 20);
    assert_eq!(int("10 - 3 - 2"), 5);
    assert_eq!(int("6 & 3 ^ 1"), 3);
    assert_eq!(int("WARP_SZ * 4 - 1"), 127);
}

#[test]
fn floating_point_constants_are_exact() {
    assert!(matches!(operand("0f3F800000"), OperandKind::F32(0x3f80_0000)));
    assert!(matches!(operand("-0f3F800000"), OperandKind::F32(0xbf80_0000)));
    assert!(
        matches!(operand("0d400921FB54442D18"), OperandKind::F64(bits) if f64::from_bits(bits) == std::f64::consts::PI)
    );
    for (text, value) in [("1.5", 1.5), ("1.0e-3", 1e-3), ("2e+2", 200.0), ("1e5", 1e5)] {
        assert!(matches!(operand(text), OperandKind::F64(bits) if f64::from_bits(bits) == value), "{text}");
    }
    assert!(matches!(operand("1.0 / 4"), OperandKind::F64(bits) if f64::from_bits(bits) == 0.25));
    assert!(
        matches!(operand("0dFFF8000000000001"), OperandKind::F64(0xfff8_0000_0000_0001)),
        "a NaN keeps its bits"
    );
}

#[test]
fn operands_of_every_kind() {
    assert!(matches!(operand("_"), OperandKind::Sink));
    assert!(matches!(operand("%tid.y"), OperandKind::Member(_, 1)));
    assert!(matches!(operand("v.a"), OperandKind::Member(_, 3)));
    assert!(matches!(operand("v.b2"), OperandKind::Member(_, 6)));
    assert!(matches!(operand("v.h1"), OperandKind::Member(_, 9)));
    assert!(matches!(operand("table+8"), OperandKind::NameOffset(_, 8)));
    assert!(matches!(operand("table-8"), OperandKind::NameOffset(_, -8)));
    assert!(matches!(operand("!p"), OperandKind::Not(inner) if matches!(inner.kind, OperandKind::Name(_))));
    assert!(matches!(operand("-r"), OperandKind::Neg(inner) if matches!(inner.kind, OperandKind::Name(_))));
    assert!(matches!(operand("p|q"), OperandKind::Pair(..)));
    assert!(matches!(operand("_|q"), OperandKind::Pair(first, _) if matches!(first.kind, OperandKind::Sink)));
    assert!(
        matches!(operand("{a, b}|q"), OperandKind::Pair(first, _) if matches!(first.kind, OperandKind::Vector(_)))
    );
    assert!(matches!(operand("{a, _, 0f00000000, -3}"), OperandKind::Vector(parts) if parts.len() == 4));
    assert!(matches!(operand("[t, s, {x, y}]"), OperandKind::Bracket(parts) if parts.len() == 3));
    assert!(matches!(operand("[t, {x, y, z, w}]"), OperandKind::Bracket(parts) if parts.len() == 2));
}

#[test]
fn addresses_of_every_form() {
    let offset = |text| match operand(text) {
        OperandKind::Address(Address { base: AddressBase::Name(_), offset }) => offset,
        other => panic!("{text} is {other:?}"),
    };
    assert_eq!(offset("[a]"), 0);
    assert_eq!(offset("[a+4]"), 4);
    assert_eq!(offset("[a + -4]"), -4);
    assert_eq!(offset("[a+-4]"), -4);
    assert_eq!(offset("[a-4]"), -4);
    assert_eq!(offset("[%rd1 + 4*8 - 2]"), 30);
    assert_eq!(offset("[a+0x10]"), 16);
    let absolute = operand("[4096]");
    assert!(matches!(absolute, OperandKind::Address(Address { base: AddressBase::Absolute, offset: 4096 })));
}

#[test]
fn calls_of_every_form() {
    let shape = |text: &str| {
        let (module, instr) = instr(text);
        let part = |operand: &Operand| match &operand.kind {
            OperandKind::Group(parts) => format!("({})", parts.len()),
            OperandKind::Name(name) => module.names.get(*name).to_owned(),
            other => panic!("{other:?}"),
        };
        instr.operands.iter().map(part).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(shape("call f;"), "f");
    assert_eq!(shape("call.uni f, (a, b);"), "f (2)");
    assert_eq!(shape("call (r), f, (a, 3, 0f3F800000);"), "(1) f (3)");
    assert_eq!(shape("call (r, s), %rd3, (a), proto;"), "(2) %rd3 (1) proto");
    assert_eq!(shape("call (r), f, ();"), "(1) f (0)");
}

#[test]
fn guards_and_suffixes() {
    let (module, instr) = instr("@!%p1 ld.global.L2::128B.nc.v2.f32 {a, b}, [c];");
    let guard = instr.guard.expect("a guard");
    assert!(guard.negated && module.names.get(guard.pred) == "%p1");
    assert_eq!(print::instruction(&module.names, &instr), "@!%p1 ld.global.L2::128B.nc.v2.f32 {a, b}, [c]");
    let written = &module.text[instr.span.start as usize..instr.span.end as usize];
    assert_eq!(written, "@!%p1 ld.global.L2::128B.nc.v2.f32 {a, b}, [c]");
}

#[test]
fn registers_and_blocks() {
    let (module, stmts) = body(".reg .b32 %r<10>, x;\n{ .reg .v4 .f32 v; { } }\n;; L: $M__1: ret;");
    let [
        Stmt::Reg(many),
        Stmt::Reg(one),
        Stmt::Block(inner),
        Stmt::Label(..),
        Stmt::Label(label, _),
        Stmt::Instr(_),
    ] = &stmts[..]
    else {
        panic!("{stmts:?}")
    };
    assert_eq!((many.count, one.count), (Some(10), None));
    assert!(matches!(&inner[..], [Stmt::Reg(RegDecl { ty: Type { lanes: 4, .. }, .. }), Stmt::Block(_)]));
    assert_eq!(module.names.get(*label), "$M__1");
}

#[test]
fn tables_of_targets_and_prototypes() {
    let (module, stmts) = body(
        "T: .branchtargets A, B, C;\nU: .branchtargets L<3>;\nV: .calltargets f, g;\n\
         P: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) .noreturn;\n\
         Q: .callprototype _ ();\nbrx.idx i, T;",
    );
    let Stmt::BranchTargets { targets, .. } = &stmts[1] else { panic!("{:?}", stmts[1]) };
    assert_eq!(targets.iter().map(|&t| module.names.get(t)).collect::<Vec<_>>(), ["L0", "L1", "L2"]);
    let Stmt::CallPrototype { returns, params, noreturn: true, .. } = &stmts[3] else {
        panic!("{:?}", stmts[3])
    };
    assert_eq!((returns.len(), params.len(), params[1].align), (1, 2, Some(8)));
    assert_eq!(params[1].dims, [Some(16)]);
}

#[test]
fn locations_and_pragmas() {
    let (_, stmts) = body(
        ".loc 1 23 5\nret;\n.loc 2 7 0, function_name $L__info_string0+4, inlined_at 1 45 3\n.pragma \"nounroll\", \"b\";",
    );
    assert!(matches!(stmts[0], Stmt::Loc(Loc { file: 1, line: 23, column: 5, inlined_at: None })));
    assert!(matches!(stmts[2], Stmt::Loc(Loc { file: 2, inlined_at: Some((1, 45, 3)), .. })));
    assert!(matches!(&stmts[3], Stmt::Pragma(text, _) if text == "nounroll"));
    assert!(matches!(&stmts[4], Stmt::Pragma(text, _) if text == "b"));
}

#[test]
fn initialisers_of_every_form() {
    let (module, var) = variable(
        ".visible .const .align 8 .u64 t[2][2] = {{1, generic(g)+8}, {f, 0xFF00(generic(g)+4)}}, u = 0d3FF0000000000000;",
    );
    assert_eq!((var.linkage, var.space, var.align), (Linkage::Visible, Space::Const, Some(8)));
    assert_eq!(var.dims, [Some(2), Some(2)]);
    let Some(Init::List(rows)) = &var.init else { panic!("{:?}", var.init) };
    let (Init::List(first), Init::List(second)) = (&rows[0], &rows[1]) else { panic!("{rows:?}") };
    assert!(matches!(first[0], Init::Int(1)));
    assert!(matches!(first[1], Init::Symbol { addend: 8, generic: true, mask: None, .. }));
    assert!(
        matches!(second[0], Init::Symbol { name, addend: 0, generic: false, .. } if module.names.get(name) == "f")
    );
    assert!(matches!(second[1], Init::Symbol { addend: 4, generic: true, mask: Some(0xff00), .. }));
    assert!(matches!(
        &module.items[1],
        Item::Var(Variable { init: Some(Init::F64(0x3ff0_0000_0000_0000)), .. })
    ));
}

#[test]
fn textures_samplers_and_managed_variables() {
    let (module, var) = variable(
        ".global .samplerref s = { addr_mode_0 = clamp_to_border, filter_mode = linear, force_unnormalized_coords = 1 };\n\
         .global .texref t;\n.global .surfref u;\n.tex .u32 old;\n.global .attribute(.managed) .s32 m = -5;\n\
         .extern .shared .align 16 .b8 dynamic[];\n.common .global .f32 c;\n.weak .const[3] .f32 w;",
    );
    let Some(Init::List(fields)) = &var.init else { panic!("{:?}", var.init) };
    assert!(matches!(&fields[2], Init::Field { value, .. } if matches!(**value, Init::Int(1))));
    assert!(matches!(&fields[1], Init::Field { value, .. }
        if matches!(**value, Init::Symbol { name, .. } if module.names.get(name) == "linear")));
    assert!(
        matches!(&module.items[4], Item::Var(Variable { managed: true, init: Some(Init::Int(bits)), .. })
        if *bits as i64 == -5)
    );
    assert!(
        matches!(&module.items[5], Item::Var(Variable { linkage: Linkage::Extern, dims, .. }) if dims[..] == [None])
    );
    assert_eq!(module.items.len(), 8);
}

#[test]
fn functions_of_every_form() {
    let module = read(
        ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n\
         .visible .func (.reg .f32 out) f (.reg .b32 x, .reg .f64 y) { ret; }\n\
         .weak .func .attribute(.unified(1, 2)) g () .noreturn { exit; }\n\
         .func h { ret; }\n\
         .alias g2, g;\n\
         .visible .entry k (.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[24])\n\
         .maxntid 128, 2\n.minnctapersm 3\n.maxnreg 40\n.maxnctapersm 5\n.pragma \"nounroll\"; { ret; }\n\
         .entry c() .reqntid 64 .reqnctapercluster 2, 1, 1 .explicitcluster { ret; }",
    );
    let functions: Vec<&Function> = module
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        })
        .collect();
    let [vprintf, f, g, h, k, c] = functions[..] else { panic!("{} functions", functions.len()) };
    assert!(vprintf.body.is_none() && vprintf.linkage == Linkage::Extern && vprintf.params.len() == 2);
    assert_eq!(f.params[1].space, Space::Reg);
    assert!(g.noreturn && g.linkage == Linkage::Weak);
    assert!(h.params.is_empty() && h.body.is_some());
    let pointee = k.params[0].pointee.expect("a pointer");
    assert_eq!((pointee.space, pointee.align), (Some(Space::Global), Some(16)));
    assert_eq!(k.limits.maxntid, Some([128, 2, 1]));
    assert_eq!(
        (k.limits.minnctapersm, k.limits.maxnreg, k.limits.maxnctapersm),
        (Some(3), Some(40), Some(5))
    );
    assert_eq!((c.limits.reqntid, c.limits.cluster), (Some([64, 1, 1]), Some([2, 1, 1])));
    let extent = &module.text[k.extent.start as usize..k.extent.end as usize];
    assert!(extent.starts_with(".visible .entry k") && extent.ends_with('}'));
}

#[test]
fn module_directives() {
    let text = "// comment\n.version 8.8\n.target sm_100a, texmode_independent, debug\n.address_size 32\n\
                .file 1 \"a.cu\", 1700000000, 1234\n.pragma \"x\";\n\
                .section .debug_str { info: .b8 1,2\n .b64 info+4\n { .b8 0 } }\n/* .entry x() { */\n@@DWARF .byte 1\n";
    let Parsed { module, diagnostics } = parse("m.ptx", text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!((module.version, module.address_size), ((8, 8), 32));
    assert_eq!((module.target.sm, module.target.suffix, module.target.options.len()), (100, Some('a'), 2));
    assert_eq!((module.files[0].index, module.files[0].name.as_str()), (1, "a.cu"));
    assert!(module.items.is_empty());
}

#[test]
fn names_of_any_length() {
    let name = format!("_Z{}", "N4very4long4nameE".repeat(1000));
    let module = read(&format!(".visible .entry {name}() {{ ret; }}"));
    assert!(module.names.find(&name).is_some());
}

#[test]
fn registers_of_a_module_belong_to_each_function() {
    let Parsed { module, diagnostics } = parse(
        "old.ptx",
        ".version 1.4\n.target sm_10, map_f64_to_f32\n.reg .u32 %ra<17>;\n.entry a { ret; }\n.entry b { exit; }",
    );
    assert!(diagnostics.iter().all(|d| d.severity == Severity::Warning), "{diagnostics:?}");
    for item in &module.items {
        let Item::Function(function) = item else { panic!("{item:?}") };
        let body = function.body.as_deref().unwrap_or_default();
        assert!(matches!(body, [Stmt::Reg(RegDecl { count: Some(17), .. }), Stmt::Instr(_)]), "{body:?}");
    }
    assert_eq!(module.items.len(), 2);
}

/// The habits of compilers before 2012: no address size, parameters in the body, labels at the end, samplers apart.
#[test]
fn old_habits() {
    let Parsed { module, diagnostics } = parse(
        "old.ptx",
        "\t.version 2.3\n\t.target sm_20\n\t.target texmode_independent\n\t.file\t1\t\"<command-line>\"\n\
         .global .texref t = { height = 64, width = 32 };\n.const[2] .align 4 .b8 c[4] = {1,2,3,4};\n\
         .entry k\n{\n.param .s32 a;\n.reg .u16 %rh<4>;\n.reg .f32 f, g;\n\t.loc\t1\t14\t0\n$LDWbegin_k:\n\
         cvt.s32.u16 %r1, %tid.x;\nld.param.u32 %r2, [a];\nld.global.f32 f, [%r2+0];\nmov.f32 g, 3.0;\n\
         tex.1d.v4.f32.f32 {f, g, f, g}, [t, s], {g};\nbar.sync 0;\n@%p1 bra $Lt_0_1;\n$Lt_0_1:\n //<loop> Loop body\n\
         exit;\n$LDWend_k:\n} // k\n@@DWARF .section .debug_info, \"\", @progbits\n@@DWARF .byte 0x00\n",
    );
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let Some(Item::Function(function)) = module.items.last() else { panic!("a kernel") };
    let body = function.body.as_deref().unwrap_or_default();
    assert!(matches!(
        body,
        [Stmt::Var(Variable { space: Space::Param, .. }), .., Stmt::Instr(_), Stmt::Label(..)]
    ));
    assert_eq!((module.target.sm, module.target.options.len()), (20, 1));
}
