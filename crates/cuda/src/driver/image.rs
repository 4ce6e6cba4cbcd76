// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formats and shapes of arrays and textures as the driver API numbers them (`CUarray_format`, `CUDA_ARRAY3D_*`).

use warpwatt_runtime::texture::{ChannelKind, Format, Shape};

use crate::core::{Code, Result};

pub const LAYERED: u32 = 1;
pub const CUBEMAP: u32 = 4;
/// Layered, surface, cube map and gather; others mean things that we do not have.
pub const KNOWN_FLAGS: u32 = 0xf;

/// Kind and bits of a channel for each plain format.
const FORMATS: [(u32, ChannelKind, u8); 8] = [
    (0x01, ChannelKind::Unsigned, 8),
    (0x02, ChannelKind::Unsigned, 16),
    (0x03, ChannelKind::Unsigned, 32),
    (0x08, ChannelKind::Signed, 8),
    (0x09, ChannelKind::Signed, 16),
    (0x0a, ChannelKind::Signed, 32),
    (0x10, ChannelKind::Float, 16),
    (0x20, ChannelKind::Float, 32),
];

pub fn format(number: u32, channels: u32) -> Result<Format> {
    if !matches!(channels, 1 | 2 | 4) {
        return Err(Code::INVALID_VALUE);
    }
    let row = FORMATS.iter().find(|row| row.0 == number).ok_or(Code::INVALID_VALUE)?;
    Ok(Format { kind: row.1, bits: row.2, channels: channels as u8 })
}

pub fn number(format: Format) -> u32 {
    let same = |row: &&(u32, ChannelKind, u8)| row.1 == format.kind && row.2 == format.bits;
    FORMATS.iter().find(same).map_or(0x20, |row| row.0)
}

/// The shape of an array of this extent, where 0 says that a dimension is not used.
pub fn shape(extent: [u64; 3], flags: u32) -> Result<Shape> {
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Code::NOT_SUPPORTED);
    }
    let [width, height, depth] = extent;
    Ok(match (flags & CUBEMAP != 0, flags & LAYERED != 0) {
        (true, layered) => {
            let faces = if layered { depth > 0 && depth.is_multiple_of(6) } else { depth == 6 };
            if !faces || width != height {
                return Err(Code::INVALID_VALUE);
            }
            Shape::Cube
        }
        (false, true) if depth == 0 => return Err(Code::INVALID_VALUE),
        (false, true) if height == 0 => Shape::Layered1d,
        (false, true) => Shape::Layered2d,
        (false, false) if depth > 0 => Shape::D3,
        (false, false) if height > 0 => Shape::D2,
        (false, false) => Shape::D1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_go_there_and_back() {
        for row in FORMATS {
            for channels in [1, 2, 4] {
                assert_eq!(number(format(row.0, channels).unwrap()), row.0);
            }
        }
        assert_eq!(format(0x20, 3), Err(Code::INVALID_VALUE));
        assert_eq!(format(0xb0, 1), Err(Code::INVALID_VALUE));
    }

    #[test]
    fn extents_and_flags_make_shapes() {
        assert_eq!(shape([8, 0, 0], 0), Ok(Shape::D1));
        assert_eq!(shape([8, 8, 0], 0), Ok(Shape::D2));
        assert_eq!(shape([8, 8, 8], 0), Ok(Shape::D3));
        assert_eq!(shape([8, 0, 3], LAYERED), Ok(Shape::Layered1d));
        assert_eq!(shape([8, 4, 3], LAYERED), Ok(Shape::Layered2d));
        assert_eq!(shape([8, 8, 6], CUBEMAP), Ok(Shape::Cube));
        assert_eq!(shape([8, 4, 6], CUBEMAP), Err(Code::INVALID_VALUE));
        assert_eq!(shape([8, 8, 0], 0x40), Err(Code::NOT_SUPPORTED));
    }
}
