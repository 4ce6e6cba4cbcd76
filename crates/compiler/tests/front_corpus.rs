// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real compilers' output is lowered to SSA that verifies; what is refused is refused for a reason that is listed here.

use std::path::{Path, PathBuf};

use warpwatt_compiler::{front, verify};

fn files(dir: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
    let mut found: Vec<PathBuf> = std::fs::read_dir(&dir)
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

/// Words that an expected refusal contains: tensor cores, asynchronous copies, clusters, functions of other modules.
const REFUSED: &[&str] = &[
    "`wmma.",
    "`mma.",
    "`wgmma.",
    "`ldmatrix.",
    "`mbarrier.",
    "`cp.async",
    "`barrier.cluster",
    "clusters",
    "`mapa.",
    "no module defines it",
    "dynamic parallelism",
    "`tcgen05",
];

/// How many kernels were lowered and refused.
fn lower_all(path: &Path) -> (usize, usize) {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).expect(&name);
    let parsed = warpwatt_ptx::parse(&name, &text);
    let layout = front::layout(&parsed.module);
    assert!(layout.diagnostics.is_empty(), "{name}: {:#?}", layout.diagnostics);
    let (mut lowered, mut refused) = (0, 0);
    for kernel in &layout.kernels {
        match front::lower(&parsed.module, &layout, &kernel.name) {
            Ok(program) => {
                lowered += 1;
                assert!(program.functions[0].is_kernel);
                for f in &program.functions {
                    verify::ssa(f).unwrap_or_else(|e| panic!("{name}: {}: {e}", f.name));
                }
            }
            Err(problems) => {
                refused += 1;
                for p in problems {
                    let expected = REFUSED.iter().any(|word| p.message.contains(word));
                    assert!(expected, "{}", p.render(&name, &text, false));
                }
            }
        }
    }
    (lowered, refused)
}

#[test]
fn every_workload_is_lowered() {
    for path in files("../workloads/ptx") {
        let (lowered, refused) = lower_all(&path);
        assert!(lowered > 0 && refused == 0, "{}", path.display());
    }
}

#[test]
fn the_corpus_is_lowered_or_refused_for_a_known_reason() {
    let mut total = (0, 0);
    for path in files("../ptx/tests/corpus") {
        let (lowered, refused) = lower_all(&path);
        total = (total.0 + lowered, total.1 + refused);
    }
    assert!(total.0 > 3 * total.1, "{total:?}");
}
