// SPDX-License-Identifier: MIT OR Apache-2.0
// Thread block clusters, bulk copies and warp-group matrix instructions of sm_90.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) clusters(int *out) {
    __shared__ int value;
    cg::cluster_group cluster = cg::this_cluster();
    value = threadIdx.x;
    cluster.sync();
    int *other = cluster.map_shared_rank(&value, cluster.block_rank() ^ 1);
    out[threadIdx.x] = *other + cluster.num_blocks();
    cluster.sync();
}
extern "C" __global__ void bulk(const void *map, float *out, unsigned long long descriptor) {
    __shared__ alignas(128) float tile[256];
    __shared__ unsigned long long barrier;
    unsigned at = __cvta_generic_to_shared(tile), bar = __cvta_generic_to_shared(&barrier);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" :: "r"(bar));
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(at), "l"(map), "r"(0), "r"(4), "r"(bar) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(1024));
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n@done bra.uni DONE;\nbra.uni AGAIN;\nDONE:\n}" :: "r"(bar));
    unsigned leader;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xFFFFFFFF; selp.b32 %0, 1, 0, p; }" : "=r"(leader));
    float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\nwgmma.fence.sync.aligned;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, p, 1, -1, 0, 1;\n"
                 "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n}"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "l"(descriptor), "r"(leader));
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    out[threadIdx.x] = d0 + d1 + d2 + d3 + tile[threadIdx.x];
}
