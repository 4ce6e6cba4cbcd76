// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texels for all lanes: read from memory, unpacked into channels, converted to numbers, and interpolated.

use std::sync::LazyLock;

use warpwatt_isa::Ty;
use warpwatt_memory::DeviceMemory;
use warpwatt_memory::texture::{ChannelKind, Format, Image, Level};

use super::{LANES, Words, extent, host};
use crate::machine::Window;
use crate::rows::lanes_of;
use crate::texture::{sample, texel};

/// Most texels along an axis: mirroring counts to twice as many.
const MOST_TEXELS: u32 = 1 << 30;

/// Four channels of all lanes: bits of floats, or integers.
#[derive(Clone, Copy)]
pub(super) struct Channels(pub [Words; 4]);

impl Channels {
    pub const ZERO: Channels = Channels([[0; LANES]; 4]);
}

/// The texels of a level, all of which may be read.
pub(super) struct Texels<'m> {
    pub image: &'m Image,
    pub level: &'m Level,
    pub decoding: Decoding,
    host: *const u8,
    pub texel_bytes: u32,
    border: [u32; 4],
    /// Channels that can be other than zero.
    pub used_channels: usize,
}

impl<'m> Texels<'m> {
    #[inline(always)]
    pub fn new(
        memory: &DeviceMemory,
        image: &'m Image,
        level: &'m Level,
        window: &mut Window,
    ) -> Option<Texels<'m>> {
        if [level.width, level.height, level.depth].iter().any(|&n| n == 0 || n >= MOST_TEXELS) {
            return None;
        }
        let format = image.storage.format;
        let texel_bytes = format.texel_bytes();
        let host = host(memory, level, extent(level, texel_bytes)?, window)?;
        let decoding = Decoding::new(format, image.sampler.read_normalized, image.sampler.srgb)?;
        let border = texel::to_bits(sample::border(image), Ty::U32);
        let stored = usize::from(format.channels);
        let used_channels = if border[stored..].iter().all(|&bits| bits == 0) { stored } else { 4 };
        Some(Texels { image, level, decoding, host, texel_bytes, border, used_channels })
    }

    /// The guest address of a texel; `None` for the border.
    #[inline(always)]
    pub fn address(&self, [x, y, z]: [i32; 3]) -> Option<u64> {
        if x | y | z < 0 {
            return None;
        }
        let Level { address, slice, pitch, .. } = *self.level;
        Some(address + z as u64 * slice + y as u64 * pitch + x as u64 * u64::from(self.texel_bytes))
    }

    /// Where texels lie in the level, and which of them are of the border, a bit each: these have some other place.
    #[inline(always)]
    pub fn offsets(&self, x: &[i32; LANES], y: &[i32; LANES], z: &[i32; LANES]) -> (Words, u32) {
        let mut sign = 0;
        let mut offsets = [0; LANES];
        // All of it is less than the extent, which fits.
        let (slice, pitch) = (self.level.slice as u32, self.level.pitch as u32);
        for lane in 0..LANES {
            sign |= x[lane] | y[lane] | z[lane];
            let offset = |index: i32, step: u32| (index.max(0) as u32).wrapping_mul(step);
            offsets[lane] = offset(z[lane], slice)
                .wrapping_add(offset(y[lane], pitch))
                .wrapping_add(offset(x[lane], self.texel_bytes));
        }
        let mut outside = 0;
        if sign < 0 {
            for lane in 0..LANES {
                outside |= u32::from(x[lane] | y[lane] | z[lane] < 0) << lane;
            }
        }
        (offsets, outside)
    }

    /// The texels at these places.
    #[inline(always)]
    pub fn at(&self, x: &[i32; LANES], y: &[i32; LANES], z: &[i32; LANES], out: &mut Channels) {
        let (offsets, outside) = self.offsets(x, y, z);
        // SAFETY: every index is below the extent of its axis, whose texels lie there.
        unsafe { gather(self.host, &offsets, self.texel_bytes, &mut out.0) };
        self.decoding.decode(&mut out.0);
        for lane in lanes_of(outside) {
            out.0.iter_mut().zip(self.border).for_each(|(words, border)| words[lane] = border);
        }
    }
}

/// The bytes at each offset, as words of all lanes: the first word of all lanes, then the second, and so on.
///
/// # Safety
/// As many bytes must lie at each offset.
#[inline(always)]
pub(super) unsafe fn gather(host: *const u8, offsets: &Words, bytes: u32, out: &mut [Words; 4]) {
    // SAFETY: offsets were clamped to the image by the caller.
    unsafe {
        let at = |lane: usize| host.add(offsets[lane] as usize);
        match bytes {
            1 => {
                for lane in 0..LANES {
                    out[0][lane] = at(lane).read().into();
                }
            }
            2 => {
                for lane in 0..LANES {
                    out[0][lane] = at(lane).cast::<u16>().read_unaligned().into();
                }
            }
            4 => {
                for lane in 0..LANES {
                    out[0][lane] = at(lane).cast::<u32>().read_unaligned();
                }
            }
            8 => {
                for lane in 0..LANES {
                    let word = at(lane).cast::<u64>().read_unaligned();
                    (out[0][lane], out[1][lane]) = (word as u32, (word >> 32) as u32);
                }
            }
            _ => {
                for lane in 0..LANES {
                    let words = at(lane).cast::<[u32; 4]>().read_unaligned();
                    for k in 0..4 {
                        out[k][lane] = words[k];
                    }
                }
            }
        }
    }
}

/// Unpacks words into channels of `bits` bits; missing channels are zero.
#[inline(always)]
pub(super) fn unpack(words: &mut [Words; 4], bits: u8, channels: usize) {
    let packed = [words[0], words[1]];
    for (k, words) in words.iter_mut().enumerate() {
        if k >= channels {
            *words = [0; LANES];
            continue;
        }
        match bits {
            8 => {
                for lane in 0..LANES {
                    words[lane] = packed[0][lane] >> (8 * k) & 0xff;
                }
            }
            16 => {
                for lane in 0..LANES {
                    words[lane] = packed[k / 2][lane] >> (16 * (k % 2)) & 0xffff;
                }
            }
            _ => {}
        }
    }
}

/// How the channels of a texel become numbers: `texel::decode` for all lanes.
#[derive(Clone, Copy)]
pub(super) struct Decoding {
    bits: u8,
    channels: usize,
    number: Number,
}

#[derive(Clone, Copy)]
enum Number {
    /// As stored, without a sign.
    Bits,
    Signed,
    Half,
    Fraction,
    SignedFraction,
    Srgb,
}

impl Decoding {
    /// `None` for formats that are decoded lane by lane.
    #[inline(always)]
    pub fn new(format: Format, read_normalized: bool, srgb: bool) -> Option<Decoding> {
        let small = format.bits < 32;
        let number = match format.kind {
            ChannelKind::Float if small => Number::Half,
            ChannelKind::Unsigned if small && read_normalized => match srgb && format.bits == 8 {
                true => Number::Srgb,
                false => Number::Fraction,
            },
            ChannelKind::Signed if small && read_normalized => match srgb && format.bits == 8 {
                true => return None,
                false => Number::SignedFraction,
            },
            ChannelKind::Signed if small => Number::Signed,
            _ => Number::Bits,
        };
        Some(Decoding { bits: format.bits, channels: usize::from(format.channels), number })
    }

    #[inline(always)]
    pub fn decode(&self, words: &mut [Words; 4]) {
        unpack(words, self.bits, self.channels);
        let eight = self.bits == 8;
        let signed = |word: u32| if eight { word as u8 as i8 as i32 } else { word as u16 as i16 as i32 };
        let fraction = |value: i32, [high, low]: [f32; 2]| value as f32 * high + value as f32 * low;
        for (k, words) in words.iter_mut().enumerate().take(self.channels) {
            match self.number {
                Number::Bits => {}
                Number::Signed => words.iter_mut().for_each(|word| *word = signed(*word) as u32),
                Number::Half => words.iter_mut().for_each(|word| *word = float_of_half(*word)),
                Number::Fraction => {
                    let parts = if eight { RECIPROCALS[0] } else { RECIPROCALS[1] };
                    words.iter_mut().for_each(|word| *word = fraction(*word as i32, parts).to_bits());
                }
                Number::SignedFraction => {
                    let parts = if eight { RECIPROCALS[2] } else { RECIPROCALS[3] };
                    words.iter_mut().for_each(|word| {
                        let value = fraction(signed(*word), parts);
                        *word = if value < -1.0 { -1.0f32 } else { value }.to_bits();
                    });
                }
                Number::Srgb if k < 3 => {
                    let table = &*LINEAR_FROM_SRGB;
                    words.iter_mut().for_each(|word| *word = table[*word as usize & 0xff]);
                }
                Number::Srgb => {
                    words
                        .iter_mut()
                        .for_each(|word| *word = fraction(*word as i32, RECIPROCALS[0]).to_bits());
                }
            }
        }
    }
}

/// 1/255, 1/65535, 1/127 and 1/32767 in two parts. The first has 6 bits, so that its product with a channel is exact; the sum of both products is
/// rounded once, to what a division gives (a test goes through all values).
const RECIPROCALS: [[f32; 2]; 4] = [parts(255.0), parts(65535.0), parts(127.0), parts(32767.0)];

const fn parts(of: f64) -> [f32; 2] {
    let whole = 1.0 / of;
    // A float of which the upper 5 bits of the fraction are kept.
    let high = f64::from_bits(whole.to_bits() & !((1 << 47) - 1));
    [high as f32, (whole - high) as f32]
}

static LINEAR_FROM_SRGB: LazyLock<[u32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|raw| texel::linear_from_srgb(texel::normalized(raw as u32, 8, false)).to_bits())
});

/// A half-precision number as a float of the same value; NaN becomes quiet.
#[inline(always)]
fn float_of_half(half: u32) -> u32 {
    let sign = (half & 0x8000) << 16;
    let rest = (half & 0x7fff) << 13;
    // The exponents differ by 112, which a product brings in for small numbers, too.
    let finite = (f32::from_bits(rest) * f32::from_bits((112 + 127) << 23)).to_bits();
    let quiet = if rest & 0x007f_e000 != 0 { 0x0040_0000 } else { 0 };
    let special = 0x7f80_0000 | rest | quiet;
    sign | if rest >= 0x7c00 << 13 { special } else { finite }
}

/// Moves floats towards others by a weight; a weight of zero leaves them as they are.
#[inline(always)]
pub(super) fn mix(to: &mut Channels, other: &Channels, weight: &[f32; LANES], channels: usize) {
    for (to, other) in to.0.iter_mut().zip(&other.0).take(channels) {
        for lane in 0..LANES {
            let (a, b, w) = (f32::from_bits(to[lane]), f32::from_bits(other[lane]), weight[lane]);
            to[lane] = if w == 0.0 { to[lane] } else { sample::blend(a, b, w).to_bits() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(format: Format, raw: u32) -> u32 {
        let decoding = Decoding::new(format, true, false).expect("at once");
        let mut words = [[raw; LANES]; 4];
        decoding.decode(&mut words);
        words[0][7]
    }

    #[test]
    fn every_channel_is_the_number_that_one_lane_gets() {
        let sampler = warpwatt_memory::texture::Sampler { read_normalized: true, ..Default::default() };
        for (kind, bits) in [
            (ChannelKind::Unsigned, 8),
            (ChannelKind::Unsigned, 16),
            (ChannelKind::Signed, 8),
            (ChannelKind::Signed, 16),
            (ChannelKind::Float, 16),
        ] {
            let format = Format { kind, bits, channels: 1 };
            for raw in 0..1_u32 << bits {
                let plain = texel::decode(&raw.to_le_bytes()[..usize::from(bits / 8)], format, &sampler);
                let plain = texel::to_bits(plain, Ty::F32)[0];
                assert_eq!(decoded(format, raw), plain, "{raw} of {format:?}");
            }
        }
    }
}
