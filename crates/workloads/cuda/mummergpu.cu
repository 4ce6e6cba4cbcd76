// SPDX-License-Identifier: MIT OR Apache-2.0
// The longest matches of reads with a genome, from every place of a read, a read a thread. The suffix tree of the genome is walked from
// its root: children of a node, labels of edges and the genome itself are read through textures.

extern "C" __global__ void mummer_match(cudaTextureObject_t children, cudaTextureObject_t edges,
                                        cudaTextureObject_t genome, const unsigned char *__restrict__ reads, int count,
                                        int length, int least, int *__restrict__ matched, int *__restrict__ places)
{
    int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read >= count)
        return;
    const unsigned char *own = reads + read * length;
#pragma unroll 1
    for (int first = 0; first + least <= length; first++) {
        int at = first, place = 0;
        unsigned node = 0;
#pragma unroll 1
        while (at < length) {
            unsigned base = own[at];
            uint4 next = tex1Dfetch<uint4>(children, node);
            node = base < 2 ? (base == 0 ? next.x : next.y) : (base == 2 ? next.z : next.w);
            if (node == 0)
                break;
            uint4 edge = tex1Dfetch<uint4>(edges, node);
            unsigned from = edge.x, end = edge.y;
            while (from < end && at < length && tex1Dfetch<unsigned char>(genome, from) == own[at]) {
                from++;
                at++;
            }
            place = from;
            if (from < end)
                break;
        }
        matched[read * length + first] = at - first;
        places[read * length + first] = place - (at - first);
    }
}
