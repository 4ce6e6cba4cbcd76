// SPDX-License-Identifier: MIT OR Apache-2.0
//! One axis of a texture fetch for all lanes: which texels, and how they are weighted.

use warpwatt_memory::texture::{AddressMode, Filter, Image};

use super::LANES;
use crate::texture::sample;

/// The index of the border.
const BORDER: i32 = -1;

/// The texels left and right of each place, or [`BORDER`], and the weight of the right one.
pub(super) struct Axis {
    index: [[i32; LANES]; 2],
    pub weight: [f32; LANES],
    pub filtered: bool,
}

impl Axis {
    pub const ZERO: Axis = Axis { index: [[0; LANES]; 2], weight: [0.0; LANES], filtered: false };

    #[inline(always)]
    pub fn whole(index: [i32; LANES]) -> Axis {
        Axis { index: [index, index], ..Axis::ZERO }
    }

    /// The left (0) or right (1) texels; without filtering they are the same.
    #[inline(always)]
    pub fn texels(&self, side: usize) -> &[i32; LANES] {
        &self.index[if self.filtered { side } else { 0 }]
    }
}

/// The largest integer that is not above `x`.
#[inline(always)]
fn floor<const WIDE: bool>(x: f32) -> f32 {
    if WIDE {
        return x.floor();
    }
    // From 2^23 on all numbers are whole; NaN stays NaN.
    let whole = x as i32 as f32;
    let floor = if whole > x { whole - 1.0 } else { whole };
    if x.abs() < 8_388_608.0 { floor } else { x }
}

/// `sample::axis` for all lanes.
#[inline(always)]
pub(super) fn axis<const WIDE: bool>(
    x: &[f32; LANES],
    n: u32,
    image: &Image,
    which: usize,
    filter: Filter,
) -> Axis {
    let normalized = image.sampler.normalized;
    let mode = match image.sampler.address[which] {
        AddressMode::Wrap | AddressMode::Mirror if !normalized => AddressMode::Clamp,
        mode => mode,
    };
    let mut at = *x;
    // Loops rather than closures, which would be compiled without the host's vector instructions where they are not inlined.
    for x in &mut at {
        *x = if x.is_nan() { 0.0 } else { *x };
    }
    if normalized {
        match mode {
            AddressMode::Wrap => {
                for x in &mut at {
                    *x -= floor::<WIDE>(*x);
                }
            }
            AddressMode::Mirror => {
                for x in &mut at {
                    *x -= 2.0 * floor::<WIDE>(*x * 0.5);
                }
            }
            _ => {}
        }
        for x in &mut at {
            *x *= n as f32;
        }
    }
    // Infinity cannot be wrapped: it means texel 0, alone.
    let nowhere = if filter == Filter::Linear { 0.5 } else { 0.0 };
    let near = |x: f32| if x.is_nan() { nowhere } else { x.clamp(-sample::FAR, sample::FAR) };
    for x in &mut at {
        *x = near(*x);
    }
    let mut axis = Axis::ZERO;
    // SAFETY: after `near`, numbers are such as fit in 32 bits.
    let whole = |x: f32| unsafe { x.to_int_unchecked::<i32>() };
    match filter {
        Filter::Point => {
            for lane in 0..LANES {
                axis.index[0][lane] = whole(floor::<WIDE>(at[lane]));
            }
        }
        Filter::Linear => {
            for lane in 0..LANES {
                let shifted = at[lane] - 0.5;
                let left = floor::<WIDE>(shifted);
                axis.weight[lane] = whole((shifted - left) * 256.0 + 0.5) as f32 / 256.0;
                axis.index[0][lane] = whole(left);
                axis.index[1][lane] = whole(left) + 1;
            }
            axis.filtered = true;
            wrap(&mut axis.index[1], n, mode);
        }
    }
    wrap(&mut axis.index[0], n, mode);
    axis
}

/// `sample::wrap` for all lanes. Repeated coordinates were brought near, so that they are off by one repetition at most.
#[inline(always)]
pub(super) fn wrap(index: &mut [i32; LANES], n: u32, mode: AddressMode) {
    let n = n as i32;
    let near = |i: i32, period: i32| {
        let i = if i < 0 { i + period } else { i };
        if i >= period { i - period } else { i }
    };
    match mode {
        AddressMode::Clamp => index.iter_mut().for_each(|i| *i = (*i).max(0).min(n - 1)),
        AddressMode::Border => {
            index.iter_mut().for_each(|i| *i = if *i >= 0 && *i < n { *i } else { BORDER });
        }
        AddressMode::Wrap => index.iter_mut().for_each(|i| *i = near(*i, n)),
        AddressMode::Mirror => index.iter_mut().for_each(|i| {
            let period = near(*i, 2 * n);
            *i = if period < n { period } else { 2 * n - 1 - period };
        }),
    }
}
