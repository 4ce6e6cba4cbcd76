// SPDX-License-Identifier: MIT OR Apache-2.0
// The other half of rdc.cu.
__device__ int shared_counter = 100;
__device__ int twice_plus(int x) { return 2 * x + 100; }
