// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a module's variables and functions are put, and what a lowered kernel says about itself.

use warpwatt_compiler::front::{self, Lowered, ModuleLayout, Symbol};
use warpwatt_ptx::ast::Module;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn read(text: &str) -> (Module, ModuleLayout) {
    let parsed = warpwatt_ptx::parse("test.ptx", &format!("{HEAD}{text}"));
    assert!(parsed.diagnostics.is_empty(), "{:#?}", parsed.diagnostics);
    let layout = front::layout(&parsed.module);
    (parsed.module, layout)
}

fn lower(text: &str, kernel: &str) -> Lowered {
    let (module, layout) = read(text);
    front::lower(&module, &layout, kernel).unwrap_or_else(|e| panic!("{e:#?}"))
}

#[test]
fn initialisers_become_bytes() {
    let (_, layout) = read(
        ".global .align 4 .u32 one = 7;\n.global .u16 list[4] = {1, -1};\n.global .f32 half = 0.5;\n.global .f64 wide = 0f3F000000;\n.global .u8 grid[2][3] = {{1}, {2, 3, 4}};\n.global .v2 .u32 pair = {5, 6};\n.global .b8 none[1000];\n",
    );
    let bytes = |name: &str| layout.global(name).map(|g| (g.size, g.align, g.init.clone()));
    assert_eq!(bytes("one"), Some((4, 4, vec![7, 0, 0, 0])));
    assert_eq!(bytes("list"), Some((8, 2, vec![1, 0, 255, 255])));
    assert_eq!(bytes("half"), Some((4, 4, 0.5f32.to_le_bytes().to_vec())));
    assert_eq!(bytes("wide"), Some((8, 8, 0.5f64.to_le_bytes().to_vec())));
    assert_eq!(bytes("grid"), Some((6, 1, vec![1, 0, 0, 2, 3, 4])));
    assert_eq!(bytes("pair"), Some((8, 8, vec![5, 0, 0, 0, 6, 0, 0, 0])));
    assert_eq!(bytes("none"), Some((1000, 1, vec![])));
}

#[test]
fn addresses_in_initialisers_become_relocations() {
    let (_, layout) = read(
        ".global .u32 target;\n.func f() { ret; }\n.global .u64 plain = target+8;\n.global .u64 list[3] = {0, generic(target), f};\n.global .u8 part[2] = {0xFF(target), 0xFF00(target)};\n",
    );
    let relocs = |name: &str| layout.global(name).map(|g| g.relocs.clone()).unwrap_or_default();
    let plain = relocs("plain");
    assert_eq!(
        (plain[0].offset, plain[0].symbol.as_str(), plain[0].addend, plain[0].generic),
        (0, "target", 8, false)
    );
    let list = relocs("list");
    assert_eq!(
        (list[0].offset, list[0].generic, list[1].offset, list[1].symbol.as_str()),
        (8, true, 16, "f")
    );
    let part = relocs("part");
    assert_eq!((part[0].bytes, part[0].mask, part[1].offset, part[1].mask), (1, Some(0xff), 1, Some(0xff00)));
}

#[test]
fn constants_follow_each_other_in_their_bank() {
    let (_, layout) =
        read(".const .u8 a;\n.const .align 8 .f64 b[2];\n.const .u16 c;\n.extern .const .u32 d;\n");
    let offsets: Vec<(u32, bool)> = layout.consts.iter().map(|c| (c.offset, c.placed)).collect();
    assert_eq!(offsets, [(0, true), (8, true), (24, true), (0, false)]);
    assert_eq!(layout.const_bytes, 26);
}

#[test]
fn too_many_constants_are_reported() {
    let (_, layout) = read(".const .b8 a[65536];\n.const .u8 b;\n");
    assert_eq!(layout.diagnostics.len(), 1);
    assert!(!layout.consts[1].placed);
}

#[test]
fn definitions_replace_declarations_and_aliases_follow() {
    let (module, layout) = read(
        ".extern .global .u32 v;\n.func g(.param .u32 a);\n.entry k() { ret; }\n.func g(.param .u32 a) { ret; }\n.global .u32 v = 3;\n.func h(.param .u32 a);\n.alias h2, g;\n",
    );
    assert_eq!(layout.globals.len(), 1);
    assert_eq!((layout.globals[0].is_extern, layout.globals[0].init.clone()), (false, vec![3, 0, 0, 0]));
    let names: Vec<(&str, u32, bool)> =
        layout.functions.iter().map(|f| (f.name.as_str(), f.id, f.has_body)).collect();
    assert_eq!(names, [("g", 0, true), ("k", 1, true), ("h", 2, false)]);
    let alias = module.names.find("h2").and_then(|s| layout.symbols.get(&s).copied());
    assert_eq!(alias, Some(Symbol::Function(0)));
}

#[test]
fn kernel_parameters_have_natural_alignment() {
    let (_, layout) =
        read(".entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20], .param .u32 d) { ret; }\n");
    let kernel = layout.kernel("k").expect("the kernel");
    let places: Vec<(u32, u32)> = kernel.params.iter().map(|p| (p.offset, p.size)).collect();
    assert_eq!(places, [(0, 1), (8, 8), (16, 20), (36, 4)]);
    assert_eq!(kernel.param_bytes, 40);
    assert!(kernel.params[2].ty.is_none() && kernel.params[1].ty.is_some());
}

#[test]
fn extern_shared_variables_with_a_size_reserve_it() {
    let kernel = |names: &str| {
        let stores: String = names.split(' ').map(|name| format!("st.shared.u32 [{name}], 1; ")).collect();
        format!(".entry k() {{ {stores} ret; }}\n")
    };
    let sizes = |text: &str, names: &str| {
        let k = lower(&format!("{text}{}", kernel(names)), "k");
        (k.shared_bytes, k.dynamic_shared)
    };
    let sized = ".extern .shared .align 4 .b8 sh[260];\n";
    assert_eq!(sizes(sized, "sh"), (260, 272));
    // Behind what the module defines itself, whatever the order; dynamic shared memory continues it.
    let several = format!("{sized}.extern .shared .u32 one;\n.shared .align 8 .b8 own[12];\n");
    assert_eq!(sizes(&several, "sh one own"), (276, 288));
    assert_eq!(
        sizes(&format!("{several}.extern .shared .align 32 .b8 rest[];\n"), "rest own sh"),
        (272, 288)
    );
    // A definition counts instead, before or behind; of declarations, the largest does.
    let defined = ".shared .align 4 .b8 sh[100];\n";
    assert_eq!(sizes(&format!("{sized}{defined}"), "sh"), (100, 112));
    assert_eq!(sizes(&format!("{defined}{sized}"), "sh"), (100, 112));
    assert_eq!(sizes(&format!(".extern .shared .b8 sh[];\n{sized}"), "sh"), (260, 272));
}

#[test]
fn only_shared_variables_that_are_used_take_room() {
    let text = ".shared .align 4 .b8 used[20];\n.shared .align 4 .b8 unused[1000];\n.extern .shared .align 16 .b8 dynamic[];\n\
        .func f() { .reg .b32 %r<2>; .shared .align 8 .b8 own[8]; st.shared.u32 [own], 1; ret; }\n\
        .entry k() { .reg .b32 %r<2>; st.shared.u32 [used], 1; st.shared.u32 [dynamic], 2; call f; ret; }\n\
        .entry other() { ret; }\n";
    let k = lower(text, "k");
    assert_eq!((k.shared_bytes, k.dynamic_shared), (32, 32));
    let other = lower(text, "other");
    assert_eq!((other.shared_bytes, other.functions.len()), (0, 1));
}

#[test]
fn reachable_functions_are_lowered_once_and_recursion_is_seen() {
    let text = ".func leaf() { ret; }\n.func a() { call leaf; ret; }\n.func b() { call leaf; call a; ret; }\n.func never() { ret; }\n\
        .func (.reg .b32 r) deep(.reg .b32 n) { .reg .pred %p<2>; setp.eq.s32 %p1, n, 0; mov.b32 r, 0; @%p1 ret; sub.s32 n, n, 1; call (r), deep, (n); ret; }\n\
        .entry k() { call a; call b; ret; }\n.entry r() { .reg .b32 %r<2>; call (%r1), deep, (5); ret; }\n";
    let k = lower(text, "k");
    let names: Vec<&str> = k.functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["k", "a", "b", "leaf"]);
    assert!(!k.recursive);
    let r = lower(text, "r");
    assert!(r.recursive && r.functions.len() == 2);
}

#[test]
fn an_indirect_call_reaches_every_function_whose_address_is_taken() {
    let text = ".func f(.param .b32 a) { ret; }\n.func g(.param .b32 a) { ret; }\n.func unused(.param .b32 a) { ret; }\n.global .u64 table[2] = {g, 0};\n\
        .entry k() { .reg .b64 %rd<2>; .reg .b32 %r<2>; mov.u64 %rd1, f; p: .callprototype _ (.param .b32 _); call %rd1, (%r1), p; ret; }\n";
    let k = lower(text, "k");
    let mut names: Vec<&str> = k.functions.iter().map(|f| f.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["f", "g", "k"]);
    assert!(k.recursive);
}

#[test]
fn lines_follow_loc_and_the_ptx_text() {
    let text = ".file 1 \"a.cu\"\n.entry k() {\n.reg .b32 %r<3>;\n.loc 1 20 5\nmov.u32 %r1, %tid.x;\n.loc 1 21 7, function_name x, inlined_at 1 9 9\nadd.s32 %r2, %r1, 1;\nst.shared.u32 [%r1], %r2;\nret;\n}\n";
    let k = lower(text, "k");
    assert_eq!(k.files, ["a.cu"]);
    let f = &k.functions[0];
    let places: Vec<(u32, u32, u32, u32)> = f.blocks[0]
        .insts
        .iter()
        .map(|i| f.locs[i.loc as usize])
        .map(|l| (l.file, l.line, l.column, l.ptx_line))
        .collect();
    assert_eq!(places, [(0, 20, 5, 8), (0, 21, 7, 10), (0, 21, 7, 11)]);
}

#[test]
fn barriers_and_library_calls_are_counted() {
    let k = lower(
        ".entry k() { .reg .f64 %d<4>; bar.sync 3; div.rn.f64 %d1, %d2, %d3; div.rn.f64 %d1, %d1, %d3; ret; }\n",
        "k",
    );
    assert_eq!(k.barriers, 4);
    let calls = k.functions.iter().filter(|f| f.name == "__ww_div_f64__call").count();
    assert_eq!((calls, k.functions.len()), (1, 2));
}
