// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs of any form give what doing their nodes one by one gives, however they are spread over lanes.

use warpwatt_base::SplitMix64;
use warpwatt_cuda::abi::driver::{KernelNode, Memcpy3d, MemsetNode};
use warpwatt_cuda::driver::context::cuCtxSynchronize;
use warpwatt_cuda::driver::graph::*;
use warpwatt_cuda::driver::graph_exec::*;
use warpwatt_cuda::driver::graph_nodes::*;
use warpwatt_cuda::driver::memory::cuMemFree_v2;
use warpwatt_cuda::driver::{In, Out};

use crate::setup::*;

/// Each pair of nodes writes a word of its own: a value or the word of a pair before it, and then perhaps that times three.
enum Work {
    Set(u32),
    Copy(usize),
}

#[test]
fn lanes_keep_the_order_of_edges() {
    let _turn = ready();
    let scale = function(module(), c"scale");
    let mut random = SplitMix64::new(7);
    for _ in 0..30 {
        let count = 2 + random.below(60) as usize;
        let at = buffer(&vec![u32::MAX; count]);
        let (mut ends, mut expected): (Vec<u64>, Vec<u32>) = Default::default();
        let mut graph = 0;
        ok(cuGraphCreate(Out::from(&mut graph), 0));
        for k in 0..count {
            let work = match k > 0 && random.below(4) > 0 {
                true => Work::Copy(random.below(k as u32) as usize),
                false => Work::Set(random.below(1000)),
            };
            let word = at + 4 * k as u64;
            let mut node = 0;
            let (mut value, mut end) = match work {
                Work::Set(value) => {
                    let params = MemsetNode { dst: word, pitch: 0, value, element: 4, width: 1, height: 1 };
                    ok(cuGraphAddMemsetNode(Out::from(&mut node), graph, In::NULL, 0, In::from(&params), 0));
                    (value, node)
                }
                Work::Copy(from) => {
                    let params = Memcpy3d {
                        src_type: 2,
                        src_device: at + 4 * from as u64,
                        dst_type: 2,
                        dst_device: word,
                        width: 4,
                        height: 1,
                        depth: 1,
                        ..Memcpy3d::default()
                    };
                    // A second edge that changes nothing but the form.
                    let other = ends[random.below(k as u32) as usize];
                    let after = if other == ends[from] { vec![other] } else { vec![other, ends[from]] };
                    let list = In::first(&after);
                    ok(cuGraphAddMemcpyNode(
                        Out::from(&mut node),
                        graph,
                        list,
                        after.len(),
                        In::from(&params),
                        0,
                    ));
                    (expected[from], node)
                }
            };
            if random.below(2) == 0 {
                let arguments = Arguments::new(&[word, 1, 3]);
                let params = KernelNode {
                    function: scale,
                    grid: [1; 3],
                    block: [1; 3],
                    params: arguments.list().address(),
                    ..KernelNode::default()
                };
                let mut kernel = 0;
                let after = In::from(&end);
                ok(cuGraphAddKernelNode_v2(Out::from(&mut kernel), graph, after, 1, In::from(&params)));
                value = value.wrapping_mul(3);
                end = kernel;
            }
            ends.push(end);
            expected.push(value);
        }
        let mut exec = 0;
        ok(cuGraphInstantiateWithFlags(Out::from(&mut exec), graph, 0));
        for _ in 0..2 {
            write(at, &vec![u32::MAX; count]);
            ok(cuGraphLaunch(exec, 0));
            ok(cuCtxSynchronize());
            assert_eq!(read(at, count), expected);
        }
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(graph));
        ok(cuMemFree_v2(at));
    }
}
