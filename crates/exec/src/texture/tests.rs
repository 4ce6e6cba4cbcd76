// SPDX-License-Identifier: MIT OR Apache-2.0
//! Behaviour of texture and surface accesses against hand-computed texels.

use warpwatt_isa::{LodMode, MemAttr, SurfClamp};
use warpwatt_memory::texture::{Format, Sampler, Storage};

use super::*;

const F32: Format = Format { kind: ChannelKind::Float, bits: 32, channels: 1 };
const U8X4: Format = Format { kind: ChannelKind::Unsigned, bits: 8, channels: 4 };

/// A 4 x 2 image with texel (x, y) = 10 y + x.
fn grid(sampler: Sampler) -> (DeviceMemory, u64) {
    let mut memory = DeviceMemory::new(1 << 20).expect("a small device");
    let base = memory.alloc(4 * 2 * 4, "image").expect("room");
    for y in 0..2u64 {
        for x in 0..4u64 {
            memory.write(base + (y * 4 + x) * 4, &((10 * y + x) as f32).to_le_bytes()).expect("inside");
        }
    }
    let handle = memory.images.create(Image { storage: Storage::pitched(base, 4, 2, 16, F32), sampler });
    (memory, handle)
}

fn tex2d(memory: &mut DeviceMemory, handle: u64, x: f32, y: f32) -> f32 {
    let mut uop = Uop::new(Op::Tex, Ty::F32);
    uop.sub = Sub::Tex(TexGeom::D2, LodMode::Base);
    let out = run(&uop, memory, handle, &[x.to_bits(), y.to_bits()], &[]);
    f32::from_bits(out.unwrap_or_else(|e| panic!("{}", e.detail))[0])
}

fn run(
    uop: &Uop,
    memory: &mut DeviceMemory,
    handle: u64,
    coords: &[u32],
    data: &[u32],
) -> Result<[u32; 4], TextureFault> {
    let splat = |words: &[u32]| -> Vec<Row> {
        (0..4).map(|k| Row([words.get(k).copied().unwrap_or(0); 32])).collect()
    };
    let handle_rows = splat(&[handle as u32, (handle >> 32) as u32]);
    let (coord_rows, data_rows) = (splat(coords), splat(data));
    let mut dst = splat(&[]);
    let mut full = *uop;
    for k in 0..3 {
        full.src[k] = warpwatt_isa::Src::Reg(warpwatt_isa::Reg(0));
    }
    let src = [handle_rows.as_ptr(), coord_rows.as_ptr(), data_rows.as_ptr(), data_rows.as_ptr()];
    // SAFETY: every row pointer has four rows behind it.
    let args = TextureArgs { dst: dst.as_mut_ptr(), src, mask: 1 << 5 };
    let window = &mut crate::machine::NO_WINDOW.clone();
    let near = &mut Near { window, level: lanes::Level::detect() };
    // SAFETY: the rows are local arrays, long enough for every geometry.
    unsafe {
        match writes(&full) {
            true => write(memory, &full, &args, near, &mut Untraced),
            false => read(memory, &full, &args, near, &mut Untraced),
        }?
    }
    assert_eq!(dst[0].0[4], 0, "lanes outside of the mask keep their values");
    Ok([dst[0].0[5], dst[1].0[5], dst[2].0[5], dst[3].0[5]])
}

#[test]
fn point_sampling_takes_the_texel_the_coordinate_is_in() {
    let (mut memory, t) = grid(Sampler::default());
    assert_eq!(tex2d(&mut memory, t, 2.9, 1.0), 12.0);
    assert_eq!(tex2d(&mut memory, t, -5.0, 0.5), 0.0, "clamps left");
    assert_eq!(tex2d(&mut memory, t, 99.0, 99.0), 13.0, "clamps right and down");
}

#[test]
fn linear_filtering_interpolates_between_texel_centres() {
    let (mut memory, t) = grid(Sampler { filter: Filter::Linear, ..Sampler::default() });
    assert_eq!(tex2d(&mut memory, t, 1.5, 0.5), 1.0, "at a centre");
    assert_eq!(tex2d(&mut memory, t, 2.0, 0.5), 1.5, "half way in x");
    assert_eq!(tex2d(&mut memory, t, 2.0, 1.0), 6.5, "half way in both");
    // 1/3 has no 8-bit fraction: the weight is 85/256.
    assert_eq!(tex2d(&mut memory, t, 1.5 + 1.0 / 3.0, 0.5), 1.0 + 85.0 / 256.0);
}

#[test]
fn normalised_coordinates_wrap_and_mirror() {
    let sampler = Sampler {
        normalized: true,
        address: [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Clamp],
        ..Sampler::default()
    };
    let (mut memory, t) = grid(sampler);
    assert_eq!(tex2d(&mut memory, t, 1.25 + 0.01, 0.25), 1.0);
    assert_eq!(tex2d(&mut memory, t, -0.24, 0.25), 3.0);
    assert_eq!(tex2d(&mut memory, t, 0.0, 1.25), 10.0, "mirrored once");
    assert_eq!(tex2d(&mut memory, t, 0.0, 1.75), 0.0);
}

#[test]
fn border_mode_gives_the_border_outside() {
    let sampler =
        Sampler { address: [AddressMode::Border; 3], border: [7.0, 0.0, 0.0, 0.0], ..Sampler::default() };
    let (mut memory, t) = grid(sampler);
    assert_eq!(tex2d(&mut memory, t, -0.5, 0.0), 7.0);
    assert_eq!(tex2d(&mut memory, t, 0.5, 0.0), 0.0);
}

#[test]
fn small_integers_read_as_fractions_when_asked() {
    let mut memory = DeviceMemory::new(1 << 20).expect("a small device");
    let base = memory.alloc(8, "pixels").expect("room");
    memory.write(base, &[255, 0, 51, 255, 1, 2, 3, 4]).expect("inside");
    let storage = Storage::linear(base, 8, U8X4);
    let fractions =
        Image { storage: storage.clone(), sampler: Sampler { read_normalized: true, ..Sampler::default() } };
    let raw = Image { storage, sampler: Sampler::default() };
    let (f, i) = (memory.images.create(fractions), memory.images.create(raw));
    let mut uop = Uop::new(Op::Tex, Ty::F32);
    uop.ty2 = Ty::S32;
    uop.sub = Sub::Tex(TexGeom::D1, LodMode::Base);
    let out = run(&uop, &mut memory, f, &[0], &[]).ok().expect("a texel").map(f32::from_bits);
    assert_eq!(out, [1.0, 0.0, 0.2, 1.0]);
    uop.ty = Ty::U32;
    assert_eq!(run(&uop, &mut memory, i, &[1], &[]).ok(), Some([1, 2, 3, 4]));
    assert_eq!(run(&uop, &mut memory, i, &[2], &[]).ok(), Some([0; 4]), "past the end of linear memory");
}

#[test]
fn cube_faces_follow_the_largest_component() {
    assert_eq!(cube::face([2.0, 0.0, 0.0]), (0, 0.5, 0.5));
    assert_eq!(cube::face([0.1, -3.0, 0.2]).0, 3);
    assert_eq!(cube::face([-1.0, 1.0, -4.0]).0, 5);
}

#[test]
fn gather_returns_the_footprint_counter_clockwise_from_the_lower_left() {
    let (mut memory, t) = grid(Sampler::default());
    let mut uop = Uop::new(Op::Tld4, Ty::F32);
    uop.sub = Sub::Tld4(TexGeom::D2, 0);
    let out = run(&uop, &mut memory, t, &[2.0f32.to_bits(), 1.0f32.to_bits()], &[])
        .ok()
        .expect("texels")
        .map(f32::from_bits);
    assert_eq!(out, [11.0, 12.0, 2.0, 1.0]);
}

#[test]
fn surfaces_store_load_clamp_and_trap() {
    let (mut memory, s) = grid(Sampler::default());
    let mut uop = Uop::new(Op::Sust, Ty::U32);
    uop.mem = MemAttr { vec: 1, ..MemAttr::default() };
    uop.sub = Sub::Surf(TexGeom::D2, SurfClamp::Trap, false);
    let value = 99.0f32.to_bits();
    run(&uop, &mut memory, s, &[8, 1], &[value]).ok().expect("inside");
    assert_eq!(tex2d(&mut memory, s, 2.5, 1.5), 99.0, "x counts bytes");
    let fault = run(&uop, &mut memory, s, &[16, 1], &[value]).expect_err("outside traps");
    assert_eq!((fault.lane, fault.kind), (5, FaultKind::OutOfBounds));
    let mut load = Uop::new(Op::Suld, Ty::U32);
    load.sub = Sub::Surf(TexGeom::D2, SurfClamp::Zero, false);
    assert_eq!(run(&load, &mut memory, s, &[8, 1], &[]).ok().map(|r| r[0]), Some(value));
    assert_eq!(run(&load, &mut memory, s, &[8, 7], &[]).ok().map(|r| r[0]), Some(0));
    load.sub = Sub::Surf(TexGeom::D2, SurfClamp::Clamp, false);
    assert_eq!(run(&load, &mut memory, s, &[8, 7], &[]).ok().map(|r| r[0]), Some(value));
}

#[test]
fn queries_tell_size_and_sampler() {
    let (mut memory, t) = grid(Sampler { normalized: true, ..Sampler::default() });
    let mut uop = Uop::new(Op::Txq, Ty::U32);
    for (query, answer) in
        [(Query::Width, 4), (Query::Height, 2), (Query::NormalizedCoords, 1), (Query::AddrMode0, 2)]
    {
        uop.sub = Sub::Query(query);
        assert_eq!(run(&uop, &mut memory, t, &[], &[]).ok().map(|r| r[0]), Some(answer), "{query:?}");
    }
}

#[test]
fn a_stale_handle_is_a_fault() {
    let (mut memory, t) = grid(Sampler::default());
    memory.images.destroy(t);
    let mut uop = Uop::new(Op::Txq, Ty::U32);
    uop.sub = Sub::Query(Query::Width);
    assert_eq!(run(&uop, &mut memory, t, &[], &[]).err().map(|e| e.kind), Some(FaultKind::WrongSpace));
}
