// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forces between the atoms of a gas from lists of neighbours, after SHOC's MD.

use crate::check::Check;
use crate::fused::{Fused, with_fused};
use crate::job::{FLOAT4, Job};
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
const ATOMS: Dim = Dim::new("atoms", [300, 1_920, 11_520, 23_040]);
const NEIGHBOURS: Dim = Dim::new("neighbours", [20, 128, 128, 128]);
const PASSES: Dim = Dim::new("passes", [1, 1, 1, 4]);
/// Atoms in a cube of edge 1: 12288 in a cube of edge 20.
const DENSITY: f64 = 1.536;
const CUTOFF_SQUARED: f32 = 16.0;
const REPEL: f32 = 1.5;
const ATTRACT: f32 = 2.0;

static INFO: Info = Info {
    name: "md",
    about: "forces between atoms",
    domain: "physics",
    suite: "SHOC",
    program: "MD",
    kernels: &[Kernel::after("md_forces", "compute_lj_force", [256, 1, 1], "once a pass")],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[ATOMS, NEIGHBOURS, PASSES],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "blocks of 256 threads, an atom a thread, 128 neighbours each, positions through a texture, as SHOC's with 12288 atoms and more",
    values_from: "uniform positions in a cube; SHOC's has an edge of 20 for any number of atoms, ours the density of its least problem. Neighbours are the nearest atoms, by distance, as SHOC's; cutoff and constants are SHOC's",
    generator: 3,
    source: include_str!("../cuda/md.cu"),
    ptx: include_str!("../ptx/md.ptx"),
};

pub struct Md;

impl Workload for Md {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (count, near) = (ATOMS.at(size), NEIGHBOURS.at(size));
        let edge = libm::cbrt(f64::from(count) / DENSITY) as f32;
        let mut rng = Rng::new(seed);
        let atoms: Vec<[f32; 4]> =
            (0..count).map(|_| [0; 3].map(|_: i32| rng.float(0.0, edge))).map(at_rest).collect();
        let lists = neighbours(&atoms, near as usize, edge);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let places = job.upload("positions", atoms.as_flattened())?;
        let texture = job.linear_texture(places, 16 * atoms.len(), FLOAT4);
        // The k-th neighbours of all atoms side by side.
        let by_rank: Vec<i32> =
            (0..near as usize).flat_map(|rank| lists.iter().map(move |list| list[rank] as i32)).collect();
        let lists_there = job.upload("neighbours", &by_rank)?;
        let forces_there = job.zeros::<f32>("forces", 4 * atoms.len())?;
        for _ in 0..PASSES.at(size) {
            let args = Args::new().ptr(forces_there).ptr(places).u64(texture).ptr(lists_there);
            job.launch("md_forces", count.div_ceil(BLOCK), BLOCK, args.i32(near as i32).i32(count as i32))?;
        }
        let found: Vec<f32> = job.download(forces_there, 4 * atoms.len())?;
        job.finish()?;

        let expected = forces(&atoms, &lists);
        Ok(Check::exact().output("forces", expected.as_flattened(), &found))
    }
}

fn at_rest([x, y, z]: [f32; 3]) -> [f32; 4] {
    [x, y, z, 0.0]
}

with_fused! {
    /// The nearest atoms of each, by distance.
    fn neighbours(atoms: &[[f32; 4]], near: usize, edge: f32) -> Vec<Vec<u32>> { |fused| neighbours_with(fused, atoms, near, edge) }
}

/// Atoms are dealt to cells; a ring of cells more is looked at until the nearest are certain.
#[inline(always)]
fn neighbours_with(fused: impl Fused, atoms: &[[f32; 4]], near: usize, edge: f32) -> Vec<Vec<u32>> {
    let side = (edge / 1.5).ceil().max(1.0) as usize;
    let width = edge / side as f32;
    let cell = |place: f32| ((place / width) as usize).min(side - 1);
    let mut cells = vec![Vec::new(); side * side * side];
    for (at, [x, y, z, _]) in atoms.iter().enumerate() {
        cells[(cell(*z) * side + cell(*y)) * side + cell(*x)].push(at as u32);
    }
    // Atoms cell after cell, and where those of each cell start.
    let order = cells.concat();
    let mut starts = vec![0];
    starts.extend(cells.iter().scan(0, |end, cell| {
        *end += cell.len();
        Some(*end)
    }));
    let places: Vec<[f32; 4]> = order.iter().map(|at| atoms[*at as usize]).collect();
    // Spheres that hold fewer atoms in the mean need not be looked at.
    let filled = |reach: &usize| 4.2 * (reach.pow(3) * atoms.len()) as f32 >= (near * cells.len()) as f32;
    let first = (1..side).find(filled).unwrap_or(side);
    let mut found: Vec<u64> = vec![0; atoms.len()];
    let mut lists = Vec::with_capacity(atoms.len());
    for (at, own) in atoms.iter().enumerate() {
        let middle = [cell(own[0]), cell(own[1]), cell(own[2])];
        let mut reach = first;
        let count = loop {
            let range =
                |axis: usize| middle[axis].saturating_sub(reach)..(middle[axis] + reach + 1).min(side);
            let all = reach >= side;
            let certain = (reach as f32 * width) * (reach as f32 * width);
            let furthest = if all { f32::INFINITY } else { certain };
            // Squared distance, whose bits are in the order of its values, above the place in `order`. The atom itself is among them, with distance 0.
            let mut count = 0;
            for z in range(2) {
                for y in range(1) {
                    let row = (z * side + y) * side;
                    let run = starts[row + range(0).start]..starts[row + range(0).end];
                    for (place, other) in run.clone().zip(&places[run]) {
                        let (dx, dy, dz) = (other[0] - own[0], other[1] - own[1], other[2] - own[2]);
                        let square = fused.fma(dz, dz, fused.fma(dy, dy, dx * dx));
                        found[count] = u64::from(square.to_bits()) << 32 | place as u64;
                        count += usize::from(square <= furthest);
                    }
                }
            }
            if all || count > near {
                break count;
            }
            reach += 1;
        };
        let found = &mut found[..count];
        let nearest = if count > near + 1 { found.select_nth_unstable(near + 1).0 } else { found };
        nearest.sort_unstable();
        let mut list: Vec<u32> = nearest.iter().map(|key| order[*key as u32 as usize]).collect();
        list.retain(|other| *other as usize != at);
        lists.push(list);
    }
    lists
}

/// Atoms whose forces are computed at the same time.
const LANES: usize = 8;

/// Places of as many atoms, by axis.
#[inline(always)]
fn side_by_side(of: impl Fn(usize) -> [f32; 4]) -> [[f32; LANES]; 3] {
    let mut places = [[0.0; LANES]; 3];
    let [xs, ys, zs] = &mut places;
    for (lane, ((x, y), z)) in xs.iter_mut().zip(ys).zip(zs).enumerate() {
        [*x, *y, *z, _] = of(lane);
    }
    places
}

with_fused! {
    /// The force on each atom, by its neighbours one after the other.
    fn forces(atoms: &[[f32; 4]], lists: &[Vec<u32>]) -> Vec<[f32; 4]> { |fused| forces_with(fused, atoms, lists) }
}

#[inline(always)]
fn forces_with(fused: impl Fused, atoms: &[[f32; 4]], lists: &[Vec<u32>]) -> Vec<[f32; 4]> {
    let mut forces = Vec::with_capacity(atoms.len());
    for (own, lists) in atoms.chunks(LANES).zip(lists.chunks(LANES)) {
        // Lanes without an atom repeat the last one.
        let last = own.len() - 1;
        let [x, y, z] = side_by_side(|lane| own[lane.min(last)]);
        let mut sums = [[0.0f32; LANES]; 3];
        for rank in 0..lists[0].len() {
            let [other_x, other_y, other_z] =
                side_by_side(|lane| atoms[lists[lane.min(last)][rank] as usize]);
            for lane in 0..LANES {
                let towards = [x[lane] - other_x[lane], y[lane] - other_y[lane], z[lane] - other_z[lane]];
                let [dx, dy, dz] = towards;
                let square = fused.fma(dz, dz, fused.fma(dy, dy, dx * dx));
                let inverse = 1.0 / square;
                let sixth = inverse * inverse * inverse;
                let force = inverse * sixth * fused.fma(REPEL, sixth, -ATTRACT);
                for (sums, towards) in sums.iter_mut().zip(towards) {
                    let sum = fused.fma(towards, force, sums[lane]);
                    sums[lane] = if square < CUTOFF_SQUARED { sum } else { sums[lane] };
                }
            }
        }
        for lane in 0..own.len() {
            forces.push(at_rest(sums.map(|sums| sums[lane])));
        }
    }
    forces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::fma;

    fn apart(one: [f32; 4], other: [f32; 4]) -> ([f32; 3], f32) {
        let [dx, dy, dz] = [0, 1, 2].map(|axis| one[axis] - other[axis]);
        ([dx, dy, dz], fma(dz, dz, fma(dy, dy, dx * dx)))
    }

    /// The force on one atom.
    fn force(own: [f32; 4], others: impl Iterator<Item = [f32; 4]>) -> [f32; 4] {
        let mut sum = [0.0; 3];
        for other in others {
            let (towards, square) = apart(own, other);
            if square < CUTOFF_SQUARED {
                let inverse = 1.0 / square;
                let sixth = inverse * inverse * inverse;
                let force = inverse * sixth * fma(REPEL, sixth, -ATTRACT);
                sum = [0, 1, 2].map(|axis| fma(towards[axis], force, sum[axis]));
            }
        }
        at_rest(sum)
    }

    #[test]
    fn neighbours_are_those_of_a_plain_search() {
        let mut rng = Rng::new(5);
        let atoms: Vec<[f32; 4]> =
            (0..200).map(|_| at_rest([0; 3].map(|_: i32| rng.float(0.0, 5.0)))).collect();
        let lists = neighbours(&atoms, 30, 5.0);
        for (at, list) in lists.iter().enumerate() {
            let mut all: Vec<u32> = (0..200).filter(|other| *other as usize != at).collect();
            all.sort_by(|one, other| {
                let square = |other: &u32| apart(atoms[at], atoms[*other as usize]).1;
                square(one).total_cmp(&square(other))
            });
            assert_eq!(list[..], all[..30], "atom {at}");
        }
    }

    #[test]
    fn forces_of_many_atoms_are_those_of_each() {
        let mut rng = Rng::new(6);
        let atoms: Vec<[f32; 4]> =
            (0..43).map(|_| at_rest([0; 3].map(|_: i32| rng.float(0.0, 9.0)))).collect();
        let lists = neighbours(&atoms, 30, 9.0);
        let of = |(own, list): (&[f32; 4], &Vec<u32>)| {
            force(*own, list.iter().map(|other| atoms[*other as usize]))
        };
        let plain: Vec<[f32; 4]> = atoms.iter().zip(&lists).map(of).collect();
        let found = forces(&atoms, &lists);
        assert_eq!(found, plain);
    }

    #[test]
    fn two_atoms_push_each_other_apart_and_distant_ones_do_nothing() {
        let (here, there, far) = (at_rest([0.0; 3]), at_rest([0.5, 0.0, 0.0]), at_rest([0.0, 9.0, 0.0]));
        let push = force(here, [there, far].into_iter());
        assert!(push[0] < -1000.0 && push[1] == 0.0);
        assert_eq!(force(there, [here].into_iter())[0], -push[0]);
    }
}
