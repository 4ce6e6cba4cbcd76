// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of a whole warp give the bits that the path lane by lane gives, for random images, samplers, coordinates and masks.

use warpwatt_base::SplitMix64;
use warpwatt_isa::{AtomOp, LodMode, MemAttr, Reg, Src, SurfClamp};
use warpwatt_memory::texture::{Format, Level, Sampler, Storage};

use super::*;

const GEOMS: [TexGeom; 7] =
    [TexGeom::D1, TexGeom::D2, TexGeom::D3, TexGeom::A1d, TexGeom::A2d, TexGeom::Cube, TexGeom::Acube];

fn pick<T: Copy>(random: &mut SplitMix64, from: &[T]) -> T {
    from[random.below(from.len() as u32) as usize]
}

fn flip(random: &mut SplitMix64) -> bool {
    random.below(2) == 1
}

fn format(random: &mut SplitMix64) -> Format {
    let kind = pick(random, &[ChannelKind::Float, ChannelKind::Unsigned, ChannelKind::Signed]);
    let bits = if kind == ChannelKind::Float { pick(random, &[16, 32]) } else { pick(random, &[8, 16, 32]) };
    Format { kind, bits, channels: pick(random, &[1, 2, 4]) }
}

fn sampler(random: &mut SplitMix64) -> Sampler {
    let modes = [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Mirror, AddressMode::Border];
    Sampler {
        address: [0; 3].map(|_| pick(random, &modes)),
        filter: pick(random, &[Filter::Point, Filter::Linear]),
        mip_filter: pick(random, &[Filter::Point, Filter::Linear]),
        normalized: flip(random),
        read_normalized: flip(random),
        srgb: random.below(16) == 0,
        border: if flip(random) { [0.0; 4] } else { [1.5, -2.0, f32::INFINITY, 0.25] },
        ..Sampler::default()
    }
}

/// A device with an image of random bytes, which may end before the image does.
fn image(random: &mut SplitMix64, geom: TexGeom) -> (DeviceMemory, u64) {
    let mut memory = DeviceMemory::new(1 << 20).expect("a small device");
    let (format, sampler) = (format(random), sampler(random));
    let two_d = !matches!(geom, TexGeom::D1 | TexGeom::A1d);
    let mut side = || 1 + random.below(9);
    let (width, height) = (side(), if two_d { side() } else { 1 });
    let depth = match geom {
        TexGeom::D1 | TexGeom::D2 => 1,
        TexGeom::Cube | TexGeom::Acube => 12,
        _ => side(),
    };
    let pitch = u64::from(width * format.texel_bytes() + 16 * random.below(2));
    let slice = pitch * u64::from(height);
    let bytes = slice * u64::from(depth);
    let bytes = if random.below(16) == 0 { bytes / 2 + 1 } else { bytes };
    let base = memory.alloc(bytes, "image").expect("room");
    let texels: Vec<u8> = (0..bytes).map(|_| random.below(256) as u8).collect();
    memory.write(base, &texels).expect("inside");
    let shape = match geom {
        TexGeom::D1 if flip(random) => Shape::Linear,
        TexGeom::D1 => Shape::D1,
        TexGeom::D2 => Shape::D2,
        TexGeom::D3 => Shape::D3,
        TexGeom::A1d => Shape::Layered1d,
        TexGeom::A2d => Shape::Layered2d,
        TexGeom::Cube | TexGeom::Acube => Shape::Cube,
    };
    let level = Level { address: base, width, height, depth, pitch, slice };
    let storage = Storage { shape, format, levels: vec![level; 1 + usize::from(random.below(16) == 0)] };
    let handle = memory.images.create(Image { storage, sampler });
    (memory, handle)
}

/// Coordinates of all kinds: inside, around, far away, whole, and NaN.
fn coordinate(random: &mut SplitMix64, integer: bool) -> u32 {
    if integer {
        return match random.below(8) {
            0 => random.below(u32::MAX),
            _ => (random.below(14) as i32 - 2) as u32,
        };
    }
    let near = (random.below(4000) as f32 - 1000.0) / 1024.0;
    let value = match random.below(8) {
        0 => pick(
            random,
            &[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e30, -3e9, 1e-30, -1e-30, 8_388_609.0],
        ),
        1 => random.below(12) as f32 - 2.0,
        2 | 3 => near * 8.0,
        _ => near,
    };
    value.to_bits()
}

struct Rows {
    src: Vec<[Row; 4]>,
    mask: u32,
}

impl Rows {
    fn new(random: &mut SplitMix64, handle: u64, integer: bool) -> Rows {
        let mut coordinates = [Row([0; 32]); 4];
        for row in &mut coordinates {
            row.0 = [0; 32].map(|_| coordinate(random, integer));
        }
        let mut data = [Row([0; 32]); 4];
        for row in &mut data {
            row.0 = [0; 32].map(|_| random.below(u32::MAX));
        }
        let mut handles =
            [Row([handle as u32; 32]), Row([(handle >> 32) as u32; 32]), Row([0; 32]), Row([0; 32])];
        if random.below(16) == 0 {
            handles[0].0[random.below(32) as usize] = 0;
        }
        let mask = if flip(random) { u32::MAX } else { random.below(u32::MAX) | 1 };
        Rows { src: vec![handles, coordinates, data, data], mask }
    }

    fn args(&self, dst: &mut [Row; 4]) -> TextureArgs {
        let src = [0, 1, 2, 3].map(|operand: usize| self.src[operand].as_ptr());
        TextureArgs { dst: dst.as_mut_ptr(), src, mask: self.mask }
    }
}

fn with_operands(mut uop: Uop) -> Uop {
    (0..3).for_each(|k| uop.src[k] = Src::Reg(Reg(0)));
    uop
}

/// The texels that were accessed.
#[derive(Default, PartialEq, Debug)]
struct Listed(Vec<(u64, u64)>);

impl Trace for Listed {
    fn texel(&mut self, address: u64, bytes: u64) {
        self.0.push((address, bytes));
    }
}

const BEFORE: [Row; 4] = [Row([0xdead_beef; 32]); 4];

/// Runs an operation for a whole warp with each instruction set of the host, the second time with the window of the first.
fn each_level(mut run: impl FnMut(&mut Near)) {
    for level in lanes::Level::available() {
        let window = &mut crate::machine::NO_WINDOW.clone();
        (0..2).for_each(|_| run(&mut Near { window, level }));
    }
}

fn same(a: &[Row; 4], b: &[Row; 4]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.0 == b.0)
}

#[test]
fn fetches_of_a_warp_are_those_of_its_lanes() {
    let mut random = SplitMix64::new(14);
    let mut at_once = [0; 7];
    for round in 0..6000 {
        let which = random.below(7) as usize;
        let geom = GEOMS[which];
        let (memory, handle) = image(&mut random, geom);
        let integer = flip(&mut random) && !matches!(geom, TexGeom::Cube | TexGeom::Acube);
        let ty = pick(&mut random, &[Ty::F32, Ty::U32, Ty::S32, Ty::F16x2]);
        let mut uop = Uop::new(Op::Tex, ty);
        uop.ty2 = if integer { Ty::S32 } else { Ty::F32 };
        uop.sub = Sub::Tex(geom, pick(&mut random, &[LodMode::Base, LodMode::Level, LodMode::Grad]));
        if random.below(8) == 0 {
            (uop.op, uop.sub) = (Op::Tld4, Sub::Tld4(geom, random.below(4) as u8));
        }
        let (uop, rows) = (with_operands(uop), Rows::new(&mut random, handle, integer));
        let (mut plain, mut read) = (BEFORE, Listed::default());
        // SAFETY: every operand has four rows.
        let by_lane = unsafe { read_by_lane(&memory, &uop, &rows.args(&mut plain), &mut read) };
        each_level(|near| {
            let (mut fast, mut untraced, mut list) = (BEFORE, BEFORE, Listed::default());
            // SAFETY: as above.
            let [warp, other] = unsafe {
                let other = warp::read(&memory, &uop, &rows.args(&mut untraced), near, &mut Untraced);
                [warp::read(&memory, &uop, &rows.args(&mut fast), near, &mut list), other]
            };
            assert_eq!((warp, same(&fast, &untraced)), (other, true), "round {round}");
            match warp {
                Some(()) => {
                    let image = memory.images.get(handle);
                    let right = by_lane.is_ok() && same(&plain, &fast) && read == list;
                    assert!(right, "round {round}, {}: {uop:?} of {image:?}", near.level.name());
                    at_once[which] += 1;
                }
                None => {
                    let nothing = same(&fast, &BEFORE) && list == Listed::default();
                    assert!(nothing, "round {round}: nothing is done by halves");
                }
            }
        });
    }
    assert!(at_once.iter().all(|&count| count > 800), "most fit: {at_once:?}");
}

#[test]
fn surface_accesses_of_a_warp_are_those_of_its_lanes() {
    let mut random = SplitMix64::new(15);
    let mut at_once = [0; 3];
    for round in 0..4000 {
        let geom = GEOMS[random.below(5) as usize];
        let (mut memory, handle) = image(&mut random, geom);
        let level = memory.images.get(handle).expect("an image").storage.levels[0];
        let op = pick(&mut random, &[Op::Suld, Op::Sust, Op::Sured]);
        let formatted = flip(&mut random) && op != Op::Sured;
        let clamp = pick(&mut random, &[SurfClamp::Clamp, SurfClamp::Zero, SurfClamp::Trap]);
        let ty = match (op, formatted) {
            (_, true) => Ty::U32,
            (Op::Sured, _) => pick(&mut random, &[Ty::U32, Ty::S32, Ty::U64]),
            _ => pick(&mut random, &[Ty::U8, Ty::U16, Ty::U32, Ty::U64]),
        };
        let vec = match (op, ty) {
            (Op::Sured, _) => 1,
            _ if formatted => 4,
            (_, Ty::U64) => pick(&mut random, &[1, 2]),
            _ => pick(&mut random, &[1, 2, 4]),
        };
        let mut uop = Uop::new(op, ty);
        uop.mem = MemAttr { vec, ..MemAttr::default() };
        let red = pick(&mut random, &[AtomOp::Add, AtomOp::Min, AtomOp::Max, AtomOp::Xor]);
        uop.sub = match op {
            Op::Sured => Sub::SurfRed(geom, clamp, red),
            _ => Sub::Surf(geom, clamp, formatted),
        };
        let (uop, mut rows) = (with_operands(uop), Rows::new(&mut random, handle, true));
        if !formatted {
            // Bytes, in whole accesses.
            let step =
                surface::bytes(&uop, memory.images.get(handle).expect("an image").storage.format, false);
            let x = usize::from(geom.layered());
            rows.src[1][x].0.iter_mut().for_each(|x| *x = x.wrapping_mul(step as u32));
        }
        let before =
            memory.bytes(level.address, 1).map(|_| contents(&memory, level.address)).expect("a byte");
        let stores = writes(&uop);
        let mut plain = BEFORE;
        // SAFETY: every operand has four rows.
        let by_lane = unsafe {
            match stores {
                true => write_by_lane(&mut memory, &uop, &rows.args(&mut plain), &mut Untraced),
                false => read_by_lane(&memory, &uop, &rows.args(&mut plain), &mut Untraced),
            }
        };
        let plain_after = contents(&memory, level.address);
        each_level(|near| {
            memory.write(level.address, &before).expect("inside");
            let mut fast = BEFORE;
            // SAFETY: as above.
            let warp = unsafe {
                match stores {
                    true => warp::write(&mut memory, &uop, &rows.args(&mut fast), near),
                    false => warp::read(&memory, &uop, &rows.args(&mut fast), near, &mut Untraced),
                }
            };
            let after = contents(&memory, level.address);
            match warp {
                Some(()) => {
                    let right = by_lane.is_ok() && same(&plain, &fast) && plain_after == after;
                    assert!(right, "round {round}, {}: {uop:?}", near.level.name());
                    at_once[[Op::Suld, Op::Sust, Op::Sured].iter().position(|&o| o == op).unwrap_or(0)] += 1;
                }
                None => assert!(same(&fast, &BEFORE) && after == before, "round {round}: done by halves"),
            }
        });
    }
    assert!(at_once.iter().all(|&count| count > 800), "most fit: {at_once:?}");
}

/// The bytes of the allocation that starts here.
fn contents(memory: &DeviceMemory, address: u64) -> Vec<u8> {
    let bytes = memory.find(address).expect("an allocation").size;
    memory.bytes(address, bytes).expect("it is live").to_vec()
}
