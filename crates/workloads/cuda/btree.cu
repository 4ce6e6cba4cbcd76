// SPDX-License-Identifier: MIT OR Apache-2.0
// Searches in a B+ tree, a block of threads a query and a thread a key of the current node. The first kernel finds the record of a
// key, the second the first record and the number of records of a range of keys. A node has 256 children; key i is the least key below
// child i, and a largest key follows the last one. Leaves have records in place of children.

#define ORDER 256
#define ROW (ORDER + 1)

extern "C" __global__ void btree_find(const int *__restrict__ keys, const int *__restrict__ children, int height,
                                      const int *__restrict__ queries, int *__restrict__ answers)
{
    __shared__ int next;
    int t = threadIdx.x;
    int key = queries[blockIdx.x];
    int node = 0;
#pragma unroll 1
    for (int level = 0; level < height; level++) {
        if (keys[node * ROW + t] <= key && key < keys[node * ROW + t + 1])
            next = children[node * ORDER + t];
        __syncthreads();
        node = next;
        __syncthreads();
    }
    if (keys[node * ROW + t] == key)
        answers[blockIdx.x] = children[node * ORDER + t];
}

extern "C" __global__ void btree_range(const int *__restrict__ keys, const int *__restrict__ children, int height,
                                       const int *__restrict__ starts, const int *__restrict__ ends,
                                       int *__restrict__ firsts, int *__restrict__ lengths)
{
    __shared__ int low, high, first;
    int t = threadIdx.x;
    int start = starts[blockIdx.x], end = ends[blockIdx.x];
    int from = 0, to = 0;
#pragma unroll 1
    for (int level = 0; level < height; level++) {
        if (keys[from * ROW + t] <= start && start < keys[from * ROW + t + 1])
            low = children[from * ORDER + t];
        if (keys[to * ROW + t] <= end && end < keys[to * ROW + t + 1])
            high = children[to * ORDER + t];
        __syncthreads();
        from = low;
        to = high;
        __syncthreads();
    }
    // Records are numbered in the order of their keys.
    if (keys[from * ROW + t] == start) {
        first = children[from * ORDER + t];
        firsts[blockIdx.x] = first;
    }
    __syncthreads();
    if (keys[to * ROW + t] == end)
        lengths[blockIdx.x] = children[to * ORDER + t] - first + 1;
}
