// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launch files: the examples, every kind of step, and what is said about mistakes in them and in PTX.

use crate::common::{Folder, Ran, STORE_PTX, warpwatt};

fn example(path: &str) -> Ran {
    warpwatt(&["run", "--launch", path, "--functional"])
}

/// Runs a launch file of the test's own beside the `store` kernel.
fn with_store(folder: &Folder, text: &str) -> Ran {
    let ptx = folder.file("store.ptx", STORE_PTX);
    let launch = folder.file("launch.toml", text);
    warpwatt(&["run", "--ptx", &ptx, "--launch", &launch, "--functional"])
}

const BUFFER: &str = "[[buffer]]\nname = \"data\"\ntype = \"u32\"\ncount = 8\n";
const LAUNCH: &str =
    "[[step]]\nlaunch = \"store\"\ngrid = 1\nblock = 8\nargs = [\"buf:data\", { u32 = 8 }, { u32 = 5 }]\n";

#[test]
fn the_examples_pass() {
    let saxpy = example("examples/saxpy/saxpy.toml").expect(0);
    assert!(saxpy.out.contains("saxpy(int, float"), "{}", saxpy.out);
    assert!(
        saxpy.out.contains("check passed: 1 000 values compared, largest error 0, tolerance 0"),
        "{}",
        saxpy.out
    );
    let smooth = example("examples/smooth/smooth.toml").expect(0);
    assert!(smooth.out.starts_with("4 values are above the limit\n"), "{}", smooth.out);
    let json = warpwatt(&["run", "--launch", "examples/smooth/smooth.toml", "--functional", "--json", "-"])
        .expect(0);
    let json = json.says("4 values are above the limit").json();
    assert_eq!(json["check"]["compared"], 101);
    assert_eq!(json["kernels"][0]["shared_bytes"], 272);
}

#[test]
fn numbers_fit_their_types_and_parameters() {
    let folder = Folder::new();
    let with =
        |argument: &str| with_store(&folder, &format!("{BUFFER}{}", LAUNCH.replace("{ u32 = 5 }", argument)));
    with("{ i32 = 3000000000 }").expect(3).says("3000000000 is not a i32");
    with("{ i32 = 0xfffffff0 }").expect(0);
    with("{ i32 = -5 }").expect(0);
    with("{ f32 = 5.0 }").expect(3).says("argument 3 of `store` is given as f32, but the parameter is u32");
    with("{ u32 = 5.5 }").expect(3);
}

#[test]
fn steps_do_what_they_say() {
    let folder = Folder::new();
    let text = format!(
        "{BUFFER}[[buffer]]\nname = \"copy\"\ntype = \"u32\"\ncount = 8\nfill = 9\n{LAUNCH}\
         [[step]]\ncompare = \"data\"\niota = {{ start = 5 }}\n\
         [[step]]\ncopy = \"copy\"\nfrom = \"data\"\nfrom_offset = 8\noffset = 4\nbytes = 8\n\
         [[step]]\ncompare = \"copy\"\nvalues = [9, 7, 8, 9, 9, 9, 9, 9]\n\
         [[step]]\nmemset = \"copy\"\nvalue = 1\nbytes = 4\n\
         [[step]]\nwrite = \"copy\"\noffset = 4\nvalues = [1, 2]\n\
         [[step]]\ncompare = \"copy\"\nvalues = [0x01010101, 1, 2, 9]\n\
         [[step]]\ndump = \"data\"\nfile = \"raw.bin\"\n\
         [[step]]\ndump = \"data\"\nfile = \"text.txt\"\nformat = \"text\"\nbytes = 8\n\
         [[step]]\ncompare = \"data\"\nfile = \"raw.bin\"\n\
         [[step]]\nfree = \"copy\"\n"
    );
    let ran = with_store(&folder, &text).expect(0);
    assert!(ran.out.contains("check passed: 28 values compared"), "{}", ran.out);
    assert_eq!(std::fs::read_to_string(folder.path("text.txt")).expect("dumped"), "5\n6\n");
    assert_eq!(std::fs::read(folder.path("raw.bin")).expect("dumped").len(), 32);
}

#[test]
fn a_comparison_that_fails_ends_with_code_1() {
    let folder = Folder::new();
    let text =
        format!("{BUFFER}{LAUNCH}[[step]]\ncompare = \"data\"\nvalues = [5, 6, 7, 8, 9, 10, 11, 13]\n");
    let ran = with_store(&folder, &text)
        .expect(1)
        .says("`data` differs in 1 of 8 elements; element 7 is 12, expected 13");
    assert!(ran.out.contains("check FAILED"), "{}", ran.out);
    with_store(&folder, &text.replace("13]", "13]\nabs = 1")).expect(0);
}

#[test]
fn mistakes_are_all_reported_with_place_and_advice() {
    let folder = Folder::new();
    let text = "[[buffer]]\nname = \"x\"\ntype = \"f23\"\ncount = 4\n\n[[buffer]]\nname = \"y\"\ncount = 4\nfil = 0\n\n\
                [[step]]\nlaunch = \"k\"\ngird = 1\nblock = [1, 2, 3, 4]\nargs = [\"buf:z\", 5]\n\n[[step]]\nlunch = \"k\"\n";
    let ran = with_store(&folder, text).expect(3);
    for words in [
        "there is no element type `f23`",
        "did you mean `f32`?",
        "a buffer has no key `fil`",
        "did you mean `fill`?",
        "launch.toml:9:1",
        "a launch step has no key `gird`",
        "did you mean `grid`?",
        "this launch step has no `grid`",
        "`block` has 4 extents",
        "there is no buffer `z`",
        "the type of this argument is not given",
        "this step does not say what to do",
        "did you mean `launch`?",
    ] {
        assert!(ran.err.contains(words), "`{words}` is not in\n{}", ran.err);
    }
}

#[test]
fn broken_toml_and_impossible_requests_end_with_code_3() {
    let folder = Folder::new();
    with_store(&folder, "[[buffer]\nname = 1").expect(3).says("launch.toml:1");
    with_store(&folder, "[[buffer]]\nname = \"x\"\nbytes = 99_999_999_999\n").expect(3).says("allowed: 0 to");
    with_store(&folder, "[[buffer]]\nname = \"x\"\ntype = \"u8\"\nvalues = [256]\n")
        .expect(3)
        .says("256 is not a u8");
    with_store(&folder, "[[buffer]]\nname = \"x\"\n").expect(3).says("the size of buffer `x` is not given");
    with_store(&folder, &format!("{BUFFER}{BUFFER}")).expect(3).says("a name of its own");
    with_store(&folder, &format!("{BUFFER}[[step]]\nwrite = \"data\"\noffset = 99\nfill = 1\n"))
        .expect(3)
        .says("outside of `data`");
    with_store(&folder, "[[buffer]]\nname = \"x\"\nfile = \"none.bin\"\n").expect(74).says("none.bin");
    with_store(&folder, &format!("{BUFFER}[[step]]\nsymbol = \"nope\"\nfill = 1\n"))
        .expect(3)
        .says("has no variable `nope`");
}

#[test]
fn launches_are_checked_before_they_run() {
    let folder = Folder::new();
    let launch = |from: &str, to: &str| with_store(&folder, &format!("{BUFFER}{}", LAUNCH.replace(from, to)));
    launch("\"store\"", "\"stor\"").expect(3).says("did you mean `store`?");
    launch(", { u32 = 5 }", "").expect(3).says("the kernel has 3 parameters, but 2 arguments are given");
    launch("{ u32 = 5 }", "{ u64 = 5 }").expect(3).says("argument 3 has 8 bytes, but the parameter is");
    launch("block = 8", "block = [64, 64]").expect(3).says("a block of 4096 threads; the maximum is 1024");
    launch("block = 8", "block = 0").expect(3).says("the block has an extent of 0 in x");
    launch("grid = 1", "grid = [1, 70000]").expect(3).says("the grid has an extent of 70000 in y");
    launch("block = 8", "block = 8\nshared = 300_000")
        .expect(3)
        .says("300000 bytes of shared memory per block");
}

#[test]
fn bad_ptx_is_shown_with_its_place() {
    let folder = Folder::new();
    let broken = STORE_PTX.replace("add.u32 %r2", "ad.u32 %r2");
    let ptx = folder.file("broken.ptx", &broken);
    let line = broken.lines().position(|line| line.contains("ad.u32")).expect("the line") + 1;
    let ran = warpwatt(&["compile", &ptx]).expect(3).says(&format!("broken.ptx:{line}:")).says("ad.u32");
    assert!(ran.out.contains("refused"), "{}", ran.out);
    let launch = folder.file("launch.toml", &format!("{BUFFER}{LAUNCH}"));
    let args = ["run", "--ptx", &ptx, "--launch", &launch, "--functional", "--json", "-"];
    let record = warpwatt(&args).expect(3).says("kernel `store` of").json();
    assert_eq!(record["status"], "failed");
    assert_eq!(record["diagnostics"][0]["line"], line);
}

#[test]
fn a_neighbour_that_is_broken_does_no_harm() {
    let folder = Folder::new();
    let neighbour = ".visible .entry other() { frobnicate.u32 %r1; ret; }\n";
    let ptx = folder.file("two.ptx", &format!("{STORE_PTX}{neighbour}"));
    let compare = "[[step]]\ncompare = \"data\"\niota = { start = 5 }\n";
    let launch = folder.file("launch.toml", &format!("{BUFFER}{LAUNCH}{compare}"));
    warpwatt(&["run", "--ptx", &ptx, "--launch", &launch, "--functional"]).expect(0);
    let other = folder.file("other.toml", "[[step]]\nlaunch = \"other\"\ngrid = 1\nblock = 1\n");
    warpwatt(&["run", "--ptx", &ptx, "--launch", &other, "--functional"]).expect(3).says("frobnicate");
}

#[test]
fn truncated_and_garbled_ptx_gives_diagnostics() {
    let folder = Folder::new();
    for cut in (0..STORE_PTX.len()).step_by(37) {
        let ptx = folder.file("cut.ptx", &STORE_PTX[..cut]);
        let ran = warpwatt(&["compile", &ptx]);
        assert!(ran.code == 0 || ran.code == 3, "cut at {cut}: {} {}", ran.code, ran.err);
        assert!(ran.code == 0 || ran.err.contains("cut.ptx:"), "cut at {cut}: {}", ran.err);
    }
    let ptx = folder.path("bytes.ptx");
    std::fs::write(&ptx, [0xff, 0x00, 0xfe, b'.', b'v', 0x80]).expect("written");
    warpwatt(&["compile", &ptx]).expect(3).says("bytes.ptx:");
}

const FETCH_PTX: &str = r#".version 7.0
.target sm_50
.address_size 64

.global .texref image;

// out[0] is sampled through the argument, out[1] through the reference, both half-way between two texels
.visible .entry fetch(.param .u64 out, .param .u64 object)
{
    .reg .f32 %f<10>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [object];
    mov.f32 %f1, 0f3F800000;
    mov.f32 %f2, 0f3F000000;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd2, {%f1, %f2}];
    st.global.f32 [%rd1], %f3;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [image, {%f1, %f2}];
    st.global.f32 [%rd1+4], %f3;
    ret;
}
"#;

#[test]
fn textures_lie_over_buffers() {
    let folder = Folder::new();
    let ptx = folder.file("fetch.ptx", FETCH_PTX);
    let text = "[[buffer]]\nname = \"texels\"\ntype = \"f32\"\nvalues = [10, 20, 30, 40]\n\
                [[buffer]]\nname = \"out\"\ntype = \"f32\"\ncount = 2\n\
                [[texture]]\nname = \"smooth\"\nbuffer = \"texels\"\nextent = [2, 2]\nformat = \"f32\"\nfilter = \"linear\"\n\
                [[texture]]\nname = \"sharp\"\nbuffer = \"texels\"\nextent = [2, 2]\nformat = \"f32\"\nreference = \"image\"\n\
                [[step]]\nlaunch = \"fetch\"\ngrid = 1\nblock = 1\nargs = [\"buf:out\", { texture = \"smooth\" }]\n\
                [[step]]\ncompare = \"out\"\nvalues = [15, 20]\n";
    let run = |text: &str| {
        let launch = folder.file("fetch.toml", text);
        warpwatt(&["run", "--ptx", &ptx, "--launch", &launch, "--functional"])
    };
    run(text).expect(0);
    run(&text.replace("reference = \"image\"", "")).expect(4).says("reference is not bound");
    run(&text.replace("extent = [2, 2]", "extent = [2, 4]")).expect(3).says("32 bytes do not fit");
    run(&text.replace("extent = [2, 2]", "extent = [99999999, 99999999]")).expect(3).says("texels");
    run(&text.replace("\"linear\"", "\"cubic\"")).expect(3).says("it is one of point, linear");
    run(&text.replace("format = \"f32\"", "format = \"f33\""))
        .expect(3)
        .says("there is no texel format `f33`");
    run(&text.replace("texture = \"smooth\"", "texture = \"smoth\""))
        .expect(3)
        .says("there is no texture `smoth`");
}
