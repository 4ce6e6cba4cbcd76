// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that do not come with the instruction that asks for them, under a technique that keeps registers by itself: results of barriers, of
//! operations between lanes that arrive one after the other or not at all, of atomics, system calls, textures and surfaces. What a
//! functional device computes comes out, and every register that is read is what the technique has stored (its verification is on).

use warpwatt_config::{Config, GpuFile};
use warpwatt_runtime::texture::{ChannelKind, Format, Image, Sampler, Storage};
use warpwatt_runtime::{Args, Device, LaunchConfig, Mode, Nobody, Options, Timed};
use warpwatt_testing::conserve;
use warpwatt_testing::ways::{WAYS, with};

const THREADS: u32 = 96;

/// A kernel with its thread in `%t`, a value for it in `%v` and its lane in `%l`; what `%d` holds at `done` is stored. Threads that end
/// before leave what was there.
fn kernel(target: &str, body: &str) -> String {
    format!(
        ".version 8.0
.target {target}
.address_size 64
.extern .func (.param .b64 result) malloc (.param .b64 bytes);
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 text[4] = {{104, 105, 10, 0}};
.func (.reg .u32 %y) twice(.reg .u32 %x)
{{
    add.u32 %y, %x, %x;
    ret;
}}
.visible .entry k(.param .u64 out, .param .u64 cells, .param .u64 image)
{{
    .reg .pred %p, %q, %u;
    .reg .b32 %t, %v, %l, %d, %e, %n, %w<4>;
    .reg .b64 %o, %c, %a, %b, %i;
    .shared .align 8 .b32 box[64];
    ld.param.u64 %o, [out];
    ld.param.u64 %c, [cells];
    ld.param.u64 %i, [image];
    mov.u32 %t, %tid.x;
    mov.u32 %l, %laneid;
    mul.wide.u32 %a, %t, 4;
    add.u64 %o, %o, %a;
    ld.global.u32 %v, [%o];
    mov.u32 %d, 5;
    setp.lt.u32 %p, %l, 16;
{body}
done:
    st.global.u32 [%o], %d;
    ret;
}}
"
    )
}

fn gpu() -> Config {
    GpuFile::preset("gtx480-wc").expect("a preset").config
}

/// The results of a block, on a functional device, or on a timed one with a technique.
fn run(ptx: &str, technique: Option<&str>) -> Result<Vec<u32>, String> {
    let mode = match technique {
        None => Mode::Functional,
        Some(text) => {
            let techniques = with(text);
            Mode::Timed(Box::new(Timed { techniques, limit_cycles: Some(5_000_000), ..Timed::new(gpu()) }))
        }
    };
    // Register allocations are proven elsewhere; here the same kernels are compiled over and over.
    let options = Options { mode, verify: false, ..Options::default() };
    let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
    let module = device.load_module("k.ptx", ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
    let out = device.alloc(u64::from(4 * THREADS)).expect("room");
    let cells = device.alloc(4096).expect("room");
    let texels = device.alloc(4 * 64).expect("room");
    let words = |count: u32, value: fn(u32) -> u32| -> Vec<u8> {
        (0..count).flat_map(|i| value(i).to_le_bytes()).collect()
    };
    device.write(out, &words(THREADS, |i| i * 3 + 1)).expect("it fits");
    device.write(cells, &words(1024, |i| i / 128)).expect("it fits");
    device.write(texels, &words(64, |i| i * 1000)).expect("it fits");
    let format = Format { kind: ChannelKind::Unsigned, bits: 32, channels: 1 };
    let storage = Storage::linear(texels.0, 4 * 64, format);
    let image = device.create_image(Image { storage, sampler: Sampler::default() });
    let args = Args::new().ptr(out).ptr(cells).u64(image);
    device.launch(module, "k", &LaunchConfig::new(1, THREADS), &args).map_err(|error| error.to_string())?;
    if technique.is_some() {
        let compiled = device.compile(module, "k", false).expect("it ran");
        conserve::check(&device.log()[0], &compiled.program, &gpu());
    }
    let mut bytes = vec![0; 4 * THREADS as usize];
    device.read(out, &mut bytes).expect("it fits");
    Ok(bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
}

/// What each way makes of a body is what a functional device makes of it, at one target or several.
fn same(targets: &[&str], body: &str) {
    for target in targets {
        let ptx = kernel(target, body);
        let expected =
            run(&ptx, None).unwrap_or_else(|error| panic!("{target}, functional: {error}\n{body}"));
        for way in WAYS {
            let found =
                run(&ptx, Some(way)).unwrap_or_else(|error| panic!("{target}, {way}: {error}\n{body}"));
            assert_eq!(found, expected, "{target}, {way}\n{body}");
        }
    }
}

/// Before independent threads, and since.
const BOTH: [&str; 2] = ["sm_50", "sm_80"];
const NEW: [&str; 1] = ["sm_80"];

/// Operations between lanes, each with its result in `%d`, for the members in `%n`.
const COLLECTIVES: [&str; 7] = [
    "shfl.sync.bfly.b32 %d, %v, 1, 31, %n;",
    "shfl.sync.idx.b32 %d|%q, %v, 3, 31, %n;",
    "vote.sync.ballot.b32 %d, %p, %n;",
    "match.any.sync.b32 %d, %l, %n;",
    "match.all.sync.b32 %d|%q, %t, %n;",
    "redux.sync.add.s32 %d, %v, %n;",
    "redux.sync.max.u32 %d, %v, %n;",
];

#[test]
fn lanes_that_come_first_to_a_collective_get_their_values_with_the_last() {
    for operation in COLLECTIVES {
        // Lanes take a longer way the higher they are, and meet in the operation.
        let body = format!(
            "mov.u32 %n, -1;\nmov.u32 %e, %l;\nslow:\nsetp.eq.u32 %q, %e, 0;\n@%q bra meet;\nsub.u32 %e, %e, 1;\nbra slow;\n\
             meet:\n{operation}\nadd.u32 %d, %d, 1;"
        );
        same(&NEW, &body);
        for half in ["@%p", "@!%p"] {
            // Two ways to the same instruction, and two instructions for a half of the lanes each.
            let shared = format!(
                "mov.u32 %n, -1;\n{half} bra other;\nadd.u32 %v, %v, 7;\nadd.u32 %e, %v, 1;\nbra.uni meet;\nother:\n\
                 mul.lo.u32 %v, %v, 9;\nmeet:\n{operation}\nadd.u32 %d, %d, %v;"
            );
            same(&NEW, &shared);
            let apart = format!(
                "activemask.b32 %w0;\n{half} bra other;\nactivemask.b32 %n;\n{operation}\nadd.u32 %d, %d, 1;\nbra done;\nother:\n\
                 activemask.b32 %n;\n{operation}\nadd.u32 %d, %d, %n;"
            );
            same(&NEW, &apart);
        }
    }
}

#[test]
fn a_collective_goes_on_without_lanes_that_have_ended() {
    for operation in COLLECTIVES {
        for ends in ["@%p", "@!%p"] {
            let body = format!(
                "mov.u32 %n, -1;\n{ends} bra over;\n{operation}\nadd.u32 %d, %d, 1;\nbra done;\nover:\nadd.u32 %v, %v, 1;\n\
                 st.global.u32 [%o], %v;\nexit;"
            );
            same(&NEW, &body);
        }
    }
}

#[test]
fn guards_leave_lanes_out_of_collectives() {
    for guard in ["@%p", "@!%p"] {
        for operation in COLLECTIVES {
            let body = format!(
                "mov.u32 %n, 0xffff;\n@!%p mov.u32 %n, 0xffff0000;\n{guard} {operation}\nadd.u32 %d, %d, 1;"
            );
            same(&NEW, &body);
        }
        for operation in
            ["shfl.up.b32 %d, %v, 1, 0;", "shfl.idx.b32 %d|%q, %v, 17, 31;", "vote.ballot.b32 %d, %p;"]
        {
            let body = format!(
                "{guard} {operation}\nadd.u32 %d, %d, 1;\n{guard} bra done;\n{operation}\nadd.u32 %d, %d, 3;"
            );
            same(&["sm_50"], &body);
        }
    }
}

#[test]
fn barriers_bring_results() {
    let red = "barrier.red.popc.u32 %d, 0, %q;";
    // All at once; every second thread.
    let first = "and.b32 %e, %t, 1;\nsetp.eq.u32 %q, %e, 0;";
    same(&BOTH, &format!("{first}\n{red}\nadd.u32 %d, %d, %t;"));
    same(
        &BOTH,
        &format!("{first}\nbarrier.red.and.pred %u, 0, %q;\n@%u mov.u32 %d, 9;\nadd.u32 %d, %d, %t;"),
    );
    for half in ["@%p", "@!%p"] {
        // Halves of a warp at two instructions with results of their own.
        let apart = format!(
            "{first}\n{half} bra other;\nbarrier.red.popc.u32 %e, 0, %q;\nadd.u32 %d, %e, 100;\nbra done;\nother:\n\
             add.u32 %v, %v, 3;\nbarrier.red.popc.u32 %n, 0, %q;\nmad.lo.u32 %d, %n, 7, %v;"
        );
        same(&NEW, &apart);
        // One half ends, and with its end the barrier opens.
        let ends = format!(
            "{first}\n{half} bra over;\n{red}\nadd.u32 %d, %d, %t;\nbra done;\nover:\nmov.u32 %e, 30;\nslow:\nsub.u32 %e, %e, 1;\n\
             setp.ne.u32 %u, %e, 0;\n@%u bra slow;\nexit;"
        );
        same(&NEW, &ends);
        // A barrier of some threads, while the others of their warps have something else to do.
        let some = format!(
            "{first}\nsetp.ge.u32 %u, %t, 64;\n@%u bra done;\n{half} bra busy;\nbarrier.red.popc.u32 %d, 1, 32, %q;\n\
             add.u32 %d, %d, %t;\nbra done;\nbusy:\nmov.u32 %e, 300;\nslow:\nmad.lo.u32 %d, %d, 3, %e;\nsub.u32 %e, %e, 1;\n\
             setp.ne.u32 %u, %e, 0;\n@%u bra slow;"
        );
        same(&NEW, &some);
    }
}

#[test]
fn atomics_answer_after_a_while() {
    for (scope, address) in [("global", "%c"), ("shared", "%b"), ("global", "%a")] {
        // One place for each lane of a warp, so that what each finds is known.
        let at = "mul.wide.u32 %a, %t, 8;\nadd.u64 %a, %c, %a;\nmov.u64 %b, box;\nmul.wide.u32 %a, %t, 8;\nadd.u64 %a, %a, %c;";
        for guard in ["", "@%p ", "@!%p "] {
            let address = if address == "%c" { "%a" } else { address };
            let one = format!("setp.eq.u32 %q, %t, 40;\n{at}\n");
            let atom = match scope {
                "shared" => format!(
                    "@%q atom.shared.add.u32 %d, [{address}], 5;\n@%q atom.shared.exch.b32 %d, [{address}], 6;"
                ),
                _ => format!(
                    "{guard}atom.global.add.u32 %d, [{address}], 5;\n{guard}atom.global.cas.b32 %d, [{address}], %d, 77;\n\
                     {guard}atom.global.exch.b64 %b, [{address}], %b;\n{guard}cvt.u32.u64 %e, %b;\n{guard}add.u32 %d, %d, %e;"
                ),
            };
            same(&BOTH, &format!("{one}{atom}\nadd.u32 %d, %d, 1;"));
        }
    }
}

#[test]
fn loads_of_vectors_under_guards_and_from_everywhere() {
    for guard in ["", "@%p ", "@!%p "] {
        let at = "shl.b32 %e, %l, 4;\ncvt.u64.u32 %a, %e;\nadd.u64 %a, %a, %c;\nmov.u32 %w0, 1;\nmov.u32 %w1, 2;\nmov.u32 %w2, 3;\nmov.u32 %w3, 4;\nmov.u64 %b, 5;";
        let body = format!(
            "{at}\n{guard}ld.global.v4.u32 {{%w0, %w1, %w2, %w3}}, [%a];\n{guard}ld.global.u64 %b, [%a+8];\n{guard}ld.global.nc.u8 %d, [%a];\n\
             cvt.u32.u64 %e, %b;\nadd.u32 %d, %d, %w0;\nadd.u32 %d, %d, %w1;\nadd.u32 %d, %d, %w2;\nadd.u32 %d, %d, %w3;\nadd.u32 %d, %d, %e;\n\
             cvta.to.global.u64 %a, %a;\n{guard}ld.u32 %e, [%a];\nadd.u32 %d, %d, %e;\n{guard}st.shared.u32 [box], %d;\n{guard}call (%e), twice, (%d);\nadd.u32 %d, %e, 1;"
        );
        same(&BOTH, &body);
    }
}

#[test]
fn textures_and_surfaces_answer() {
    for guard in ["", "@%p ", "@!%p "] {
        let body = format!(
            "mov.u32 %w1, 1;\nmov.u32 %w2, 2;\nmov.u32 %w3, 3;\nmov.u32 %e, 4;\nmov.u32 %w0, 0;\n{guard}txq.width.b32 %e, [%i];\n{guard}tex.1d.v4.u32.s32 {{%w0, %w1, %w2, %w3}}, [%i, {{%l}}];\n\
             add.u32 %d, %d, %e;\nadd.u32 %d, %d, %w0;\nadd.u32 %d, %d, %w3;\nshl.b32 %n, %l, 2;\n{guard}suld.b.1d.b32.zero %e, [%i, {{%n}}];\nadd.u32 %d, %d, %e;\n\
             add.u32 %e, %e, 3;\nbar.sync 0;\nsetp.lt.u32 %q, %t, 32;\n@%q sust.b.1d.b32.zero [%i, {{%n}}], %e;\nbar.sync 0;\n\
             {guard}suld.b.1d.b32.zero %w1, [%i, {{%n}}];\nadd.u32 %d, %d, %w1;\n{guard}suq.width.b32 %e, [%i];\nadd.u32 %d, %d, %e;"
        );
        same(&BOTH, &body);
    }
}

#[test]
fn system_calls_answer_between_epochs() {
    let malloc = "{\n.param .b64 bytes;\n.param .b64 result;\nst.param.b64 [bytes], 16;\ncall.uni (result), malloc, (bytes);\n\
         ld.param.b64 %b, [result];\n}\nst.u32 [%b], %t;\nld.u32 %e, [%b];\nsetp.ne.u64 %q, %b, 0;\nselp.u32 %d, %e, 7, %q;";
    let print = "{\n.param .b64 format;\n.param .b64 arguments;\n.param .b32 result;\nmov.u64 %b, text;\ncvta.global.u64 %b, %b;\n\
         st.param.b64 [format], %b;\nst.param.b64 [arguments], 0;\ncall.uni (result), vprintf, (format, arguments);\n\
         ld.param.b32 %e, [result];\n}\nadd.u32 %d, %d, %e;";
    for call in [malloc, print] {
        same(&BOTH, call);
        for half in ["@%p", "@!%p"] {
            same(&BOTH, &format!("{half} bra done;\n{call}"));
            same(&BOTH, &format!("{call}\n{half} bra done;\n{call}\nadd.u32 %d, %d, 1;\n{call}"));
        }
    }
}

#[test]
fn lanes_that_take_turns_keep_their_values() {
    // A lock that each lane of a warp takes in turn; what it protects counts to the number of threads.
    let lock = "mov.u32 %w0, 0;\nagain:\natom.global.cas.b32 %e, [%c], 0, 1;\nsetp.ne.u32 %q, %e, 0;\n@%q bra over;\n\
         ld.volatile.global.u32 %n, [%c+4];\nadd.u32 %n, %n, 1;\nst.volatile.global.u32 [%c+4], %n;\nmembar.gl;\n\
         atom.global.exch.b32 %e, [%c], 0;\nmov.u32 %w0, 1;\nover:\nsetp.eq.u32 %q, %w0, 0;\n@%q bra again;\nbar.sync 0;\n\
         ld.volatile.global.u32 %d, [%c+4];\nadd.u32 %d, %d, %t;";
    same(&NEW, lock);
    let sleep = "mov.u32 %n, -1;\n@%p bra later;\nnanosleep.u32 50;\nadd.u32 %v, %v, 1;\nlater:\nbar.warp.sync %n;\nshfl.sync.bfly.b32 %d, %v, 16, 31, %n;";
    same(&NEW, sleep);
}

#[test]
fn registers_that_nobody_wrote_can_be_read() {
    same(&BOTH, "add.u32 %d, %w1, %w2;\n@%p add.u32 %d, %d, %w3;\n@!%p mov.u32 %n, 3;\nadd.u32 %d, %d, %n;");
}
