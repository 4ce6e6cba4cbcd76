// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lengths of Huffman codewords, none longer than a limit.
//!
//! E2MC limits lengths by a minimum frequency (section III-B2c): symbols that are rarer count as that frequent. The minimum is raised in steps of an
//! eighth until the tree is no deeper than the limit.

/// Length of each symbol's codeword, in bits. At most `2^limit` symbols; a symbol that never occurs counts as one that occurred once.
pub fn limited_lengths(frequencies: &[u64], limit: u32) -> Vec<u8> {
    let mut order: Vec<usize> = (0..frequencies.len()).collect();
    order.sort_by_key(|&symbol| (frequencies[symbol], symbol));
    let mut floor = 1;
    loop {
        // Raising the smallest leaves the order as it is.
        let weights: Vec<u64> = order.iter().map(|&symbol| frequencies[symbol].max(floor)).collect();
        let depths = depths(&weights);
        if depths.iter().all(|&depth| u32::from(depth) <= limit) {
            let mut lengths = vec![0; frequencies.len()];
            order.iter().zip(depths).for_each(|(&symbol, depth)| lengths[symbol] = depth);
            return lengths;
        }
        floor += floor / 8 + 1;
    }
}

/// Depths of the leaves of a Huffman tree over ascending weights. Of equal weights leaves are joined before inner nodes, which keeps the tree flat.
fn depths(weights: &[u64]) -> Vec<u8> {
    let leaves = weights.len();
    if leaves <= 1 {
        return vec![1; leaves];
    }
    // Inner nodes come into being in the order of their weights, so two queues take the place of a heap.
    let mut joined: Vec<u64> = Vec::with_capacity(leaves - 1);
    let mut parent = vec![0usize; 2 * leaves - 1];
    let (mut leaf, mut inner) = (0, 0);
    for node in leaves..2 * leaves - 1 {
        let mut weight = 0u64;
        for _ in 0..2 {
            let takes_leaf = leaf < leaves && (inner >= joined.len() || weights[leaf] <= joined[inner]);
            let child = if takes_leaf {
                weight = weight.saturating_add(weights[leaf]);
                leaf += 1;
                leaf - 1
            } else {
                weight = weight.saturating_add(joined[inner]);
                inner += 1;
                leaves + inner - 1
            };
            parent[child] = node;
        }
        joined.push(weight);
    }
    let mut depth = vec![0u8; 2 * leaves - 1];
    for node in (0..2 * leaves - 2).rev() {
        depth[node] = depth[parent[node]].saturating_add(1);
    }
    depth.truncate(leaves);
    depth
}
