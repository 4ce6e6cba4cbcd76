// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which face of a cube map a direction hits, and where.

/// (face, s, t) with s and t in [0, 1]. Faces in the order +x, -x, +y, -y, +z, -z.
pub fn face(direction: [f32; 3]) -> (u32, f32, f32) {
    let [x, y, z] = direction;
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    let (face, m, s, t) = if ax >= ay && ax >= az {
        if x >= 0.0 { (0, ax, -z, -y) } else { (1, ax, z, -y) }
    } else if ay >= az {
        if y >= 0.0 { (2, ay, x, z) } else { (3, ay, x, -z) }
    } else if z >= 0.0 {
        (4, az, x, -y)
    } else {
        (5, az, -x, -y)
    };
    if m == 0.0 {
        return (4, 0.5, 0.5);
    }
    (face, (s / m + 1.0) * 0.5, (t / m + 1.0) * 0.5)
}
