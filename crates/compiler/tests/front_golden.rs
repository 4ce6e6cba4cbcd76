// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each PTX instruction is lowered to, as text: one file in `tests/front` per group of instructions, one snapshot each.
//!
//! A file holds instructions only, one a line; the registers they use are declared here. The snapshot shows every line with its operations.

use std::fmt::Write;

use warpwatt_compiler::front;
use warpwatt_compiler::ir::Function;
use warpwatt_compiler::{print, verify};
use warpwatt_isa::Op;

const HEAD: &str = "\
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 counter;
.global .align 8 .b8 table[64];
.const .align 4 .f32 weights[8];
.shared .align 4 .b8 tile[256];
.extern .shared .align 16 .b8 dynamic[];
.global .texref image;
.global .surfref canvas;
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func (.param .b64 r) malloc(.param .b64 size);
.extern .func free(.param .b64 pointer);
.func (.param .b32 r) helper(.param .b32 a, .param .align 4 .b8 b[6])
{
.reg .b32 %r<3>;
ld.param.u32 %r1, [a];
ld.param.u16 %r2, [b+4];
add.s32 %r1, %r1, %r2;
st.param.b32 [r], %r1;
ret;
}
.visible .entry k(.param .u64 pointer, .param .u32 count, .param .align 4 .b8 small[8], .param .u8 flag)
{
.local .align 8 .b8 depot[32];
.reg .pred %p<9>;
.reg .b16 %h<9>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
.reg .b128 %q<3>;
.reg .f32 %f<9>;
.reg .f64 %d<9>;
";

/// The instructions of a file, each with what it became.
fn lowered(name: &str) -> String {
    let path = format!("{}/tests/front/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
    let body = std::fs::read_to_string(&path).expect(&path);
    let text = format!("{HEAD}{body}\nret;\n}}\n");
    let parsed = warpwatt_ptx::parse(name, &text);
    let shown: Vec<String> = parsed.diagnostics.iter().map(|d| d.render(name, &text, false)).collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    let layout = front::layout(&parsed.module);
    let program = match front::lower(&parsed.module, &layout, "k") {
        Ok(program) => program,
        Err(problems) => {
            let shown: Vec<String> = problems.iter().map(|d| d.render(name, &text, false)).collect();
            panic!("{}", shown.join("\n"));
        }
    };
    for f in &program.functions {
        verify::ssa(f).unwrap_or_else(|e| panic!("{e}\n{}", print::function(f)));
    }
    by_line(&program.functions[0], &text)
}

fn by_line(f: &Function, text: &str) -> String {
    let mut out = String::new();
    let many = f.blocks.len() > 2;
    let mut last = 0;
    for (b, block) in f.blocks.iter().enumerate() {
        if many {
            let _ = writeln!(out, "b{b}:");
        }
        for inst in &block.insts {
            if inst.op == Op::Undef {
                continue;
            }
            let line = f.locs[inst.loc as usize].ptx_line as usize;
            if line != last && line > 0 && inst.op != Op::Phi {
                let _ = writeln!(out, "{}", text.lines().nth(line - 1).unwrap_or_default().trim());
                last = line;
            }
            let _ = writeln!(out, "    {}", print::inst(f, inst));
        }
        if many {
            let _ =
                writeln!(out, "    -> {:?}", block.term.targets().iter().map(|t| t.0).collect::<Vec<_>>());
        }
    }
    out
}

macro_rules! golden {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                insta::assert_snapshot!(stringify!($name), lowered(stringify!($name)));
            }
        )*
    };
}

golden! { integer carry bits float compare convert moves memory atomic warp texture control calls }
