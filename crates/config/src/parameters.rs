// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every parameter of the timed GPU. Defaults are those of a GTX 480 (GF100).
//!
//! Cycles without a domain are core cycles: 700 MHz on a GTX 480, at which each scheduler issues one warp instruction a cycle.

use crate::choice;
use crate::declare::{Parameter, Refusal, Section, parameters};
use crate::value::Value;

choice! {
    /// Which ready warp a scheduler issues from.
    Policy {
        /// The last issued warp as long as it is ready, then the oldest.
        Gto = "gto",
        /// Round robin.
        Lrr = "lrr",
        /// Round robin among few active warps; those that wait for memory are replaced by pending ones.
        TwoLevel = "two-level",
    }
}

choice! {
    /// Which set of the L1 data cache a line belongs to.
    SetIndex {
        /// The line number modulo the number of sets.
        Modulo = "modulo",
        /// Address bits 7 to 11 xor bits 13, 14, 15, 17 and 19, with bits from 12 on above them.
        Fermi = "fermi",
    }
}

choice! {
    /// When a line that is being fetched gets its place in the L1 data cache.
    Allocation {
        /// With the miss: as long as the line is on its way, the place is taken, and a set is full when all of its ways are.
        Miss = "miss",
        /// With the data: a miss takes nothing but a miss status register.
        Fill = "fill",
    }
}

choice! {
    /// How SMs and memory partitions are connected.
    Topology {
        Crossbar = "crossbar",
        /// A grid of routers with XY routing.
        Mesh = "mesh",
    }
}

choice! {
    /// Which request a memory controller serves first.
    DramPolicy {
        /// The oldest that hits an open row, then the oldest.
        FrFcfs = "fr-fcfs",
        /// The oldest.
        Fcfs = "fcfs",
    }
}

parameters! {
    /// The whole GPU and its work distributor.
    gpu: Gpu = "gpu" {
        sms: u32 = 15, 1..=1024, "", "Streaming multiprocessors.";
        partitions: u32 = 6, 1..=128, "", "Memory partitions, each with an L2 slice and a memory controller.";
        memory_mb: u32 = 4096, 64..=1048576, "MB", "Device memory, in units of 2^20 bytes. The host needs memory only for what programs touch.";
        concurrent_kernels: u32 = 16, 1..=32, "", "Maximum number of kernels of different streams that run at the same time.";
        kernel_launch_cycles: u32 = 2800, 1..=1000000, "cycles", "From the launch of a kernel to the dispatch of its first block, on an idle GPU. Launches of one stream start at least this far apart.";
        kernel_gap_cycles: u32 = 700, 1..=1000000, "cycles", "From the end of a kernel to the dispatch of the first block of the next kernel, if that was launched before the end; at most kernel_launch_cycles.";
        host_wait_cycles: u32 = 4900, 0..=1000000, "cycles", "From the end of a kernel that the host waits for until the host continues.";
        cta_launch_cycles: u32 = 64, 4..=10000, "cycles", "From the dispatch of a block to its first instruction fetch; no shorter than an epoch.";
        cta_done_cycles: u32 = 64, 4..=10000, "cycles", "From the end of a block until the work distributor is notified; no shorter than an epoch.";
        cta_interval: u32 = 1, 1..=1000, "cycles", "Between two dispatches of the work distributor.";
    }
    /// Frequencies of the clock domains.
    clock: Clocks = "clock" {
        core_mhz: u32 = 700, 100..=4000, "MHz", "SMs: schedulers issue at this rate.";
        noc_mhz: u32 = 1400, 100..=4000, "MHz", "Network between SMs and memory partitions.";
        l2_mhz: u32 = 700, 100..=4000, "MHz", "L2 slices.";
        dram_mhz: u32 = 924, 100..=16000, "MHz", "Command clock of the memory; `dram.beats` data beats move in one.";
    }
    /// Copies between host and device.
    pcie: Pcie = "pcie" {
        latency_ns: u32 = 8000, 1..=10000000, "ns", "Latency of a copy: its time without the bytes.";
        bandwidth_mbs: u32 = 5600, 1..=1000000, "MB/s", "Bandwidth of a copy between host and device.";
        fills_l2: bool = true, 0..=0, "", "Lines that the host copies or fills are allocated in L2, except where they would evict a dirty line.";
    }
    /// A streaming multiprocessor.
    sm: Sm = "sm" {
        warps: u32 = 48, 1..=64, "warps", "Resident warps.";
        threads: u32 = 1536, 32..=2048, "threads", "Resident threads.";
        ctas: u32 = 8, 1..=32, "blocks", "Resident blocks.";
        block_threads: u32 = 1024, 32..=1024, "threads", "Maximum threads of a block; larger blocks are refused.";
        registers: u32 = 32768, 1024..=262144, "registers", "32-bit registers.";
        thread_registers: u32 = 255, 16..=255, "registers", "Maximum registers of a thread; a kernel that needs more spills to local memory.";
        register_unit: u32 = 64, 32..=1024, "registers", "Allocation granularity of registers per warp; a multiple of 32.";
        onchip_bytes: u32 = 65536, 8192..=262144, "bytes", "On-chip memory, split into shared memory and the L1 data cache.";
        schedulers: u32 = 2, 1..=4, "", "Warp schedulers; each issues at most one instruction a cycle.";
        scheduler: Policy = Policy::Gto, 0..=0, "", "Scheduling policy: which ready warp issues.";
        active_warps: u32 = 8, 1..=64, "warps", "Active warps of each scheduler with the two-level policy.";
        branch_cycles: u32 = 6, 0..=100, "cycles", "From the issue of a branch until the warp fetches again.";
        barrier_cycles: u32 = 6, 0..=100, "cycles", "From the last arrival at a barrier until its warps continue.";
        independent_threads: bool = false, 0..=0, "", "Threads of a warp make progress independently, and barriers count threads in all programs. Otherwise a warp has a reconvergence stack, which switches to other lanes only if the warp would make no progress.";
    }
    /// Instruction fetch.
    fetch: Fetch = "sm.fetch" {
        warps: u32 = 1, 1..=8, "warps", "Warps for which instructions are fetched in one cycle.";
        width: u32 = 2, 1..=8, "instructions", "Instructions per fetch, within a cache line.";
        buffer: u32 = 4, 1..=16, "instructions", "Instruction buffer of a warp.";
        cycles: u32 = 2, 1..=50, "cycles", "From fetch to a decoded instruction on a hit.";
        instruction_bytes: u32 = 8, 4..=16, "bytes", "Size of an instruction in memory; a power of two.";
    }
    /// L1 instruction cache.
    icache: Icache = "sm.icache" {
        sets: u32 = 16, 1..=1024, "", "Sets.";
        ways: u32 = 4, 1..=32, "", "Ways.";
        line_bytes: u32 = 128, 32..=128, "bytes", "Line size; a power of two.";
        mshrs: u32 = 4, 1..=64, "", "Miss status registers (MSHRs): outstanding misses.";
        prefetch: u32 = 2, 0..=8, "lines", "Lines prefetched after the line that a warp fetches from, if MSHRs are free.";
    }
    /// Second-level cache of instructions and constants, with lines of 128 bytes. On the card neighbouring SMs share one; since they run the same code, each SM is modelled with one of the full size.
    second: Second = "sm.second" {
        bytes: u32 = 32768, 0..=1048576, "bytes", "Size. If it is smaller than a set, the cache does not exist and misses go to L2.";
        ways: u32 = 4, 1..=32, "", "Ways.";
        cycles: u32 = 40, 1..=500, "cycles", "Latency of a hit, from the miss in the first level.";
        interval: u32 = 4, 1..=64, "cycles", "Cycles between two lines that it returns.";
    }
    /// Register file and operand collectors.
    rf: RegisterFile = "sm.rf" {
        banks: u32 = 16, 1..=64, "", "Independent banks; each reads one operand of a warp (128 bytes) per cycle.";
        sub_banks: u32 = 8, 1..=32, "", "SRAM arrays that make up a bank; an access of a whole warp activates all of them. A power of two.";
        shared_port: bool = true, 0..=0, "", "Reads and writes of a bank share its port; otherwise it has one for each.";
        collectors_sp: u32 = 8, 1..=64, "", "Operand collectors of the SP units and of control instructions.";
        collectors_sfu: u32 = 8, 1..=64, "", "Operand collectors of the SFU.";
        collectors_fp64: u32 = 6, 1..=64, "", "Operand collectors of the double-precision unit.";
        collectors_mem: u32 = 4, 1..=64, "", "Operand collectors of the load/store and texture units.";
        collectors_shared: u32 = 0, 0..=64, "", "Operand collectors of one pool for all units, load/store included; 0: each kind of unit has its own (collectors_sp, _sfu, _fp64, _mem). With a shared pool, memory instructions need a collector and an entry in the queue of their unit (collectors_mem).";
        collector_ports: u32 = 2, 1..=8, "", "Operands that a collector can receive in a cycle.";
        write_back: u32 = 2, 1..=8, "registers", "Registers of a warp that the execution units write in one cycle.";
        write_back_memory: u32 = 1, 1..=8, "registers", "Registers of a warp that the memory unit writes in one cycle.";
    }
    /// Number of execution units.
    units: Units = "sm.units" {
        sp: u32 = 2, 1..=8, "", "Integer and single-precision units, each of 32 lanes per cycle.";
        sfu: u32 = 1, 1..=8, "", "Special function units.";
        fp64: u32 = 1, 1..=8, "", "Double-precision units.";
        ldst: u32 = 1, 1..=4, "", "Instructions that the load/store unit accepts in a cycle.";
    }
    /// Cycles from dispatch to result, by class of instruction.
    latency: Latency = "sm.latency" {
        int_add: u32 = 6, 1..=500, "cycles", "Integer addition.";
        int_mul: u32 = 6, 1..=500, "cycles", "Integer multiplication.";
        int_wide: u32 = 8, 1..=500, "cycles", "32 by 32 to 64 bit multiply-add.";
        logic: u32 = 6, 1..=500, "cycles", "Logic, permutation, bit fields.";
        shift: u32 = 6, 1..=500, "cycles", "Shifts.";
        min_max: u32 = 6, 1..=500, "cycles", "Integer minimum and maximum.";
        compare: u32 = 6, 1..=500, "cycles", "Integer comparison.";
        moves: u32 = 6, 1..=500, "cycles", "Moves, selections, special registers.";
        fp32: u32 = 6, 1..=500, "cycles", "Single precision.";
        fp16: u32 = 6, 1..=500, "cycles", "Half precision.";
        fp64: u32 = 12, 1..=500, "cycles", "Double precision.";
        convert: u32 = 8, 1..=500, "cycles", "Conversions.";
        special: u32 = 16, 1..=500, "cycles", "Reciprocal, square root, logarithm, exponential, sine and cosine.";
        bit_count: u32 = 8, 1..=500, "cycles", "Counting and finding bits.";
        dot: u32 = 6, 1..=500, "cycles", "Dot products of bytes.";
        shuffle: u32 = 12, 1..=500, "cycles", "Shuffles between lanes.";
        vote: u32 = 6, 1..=500, "cycles", "Votes and other collectives.";
    }
    /// Cycles between two warps in one unit, by class of instruction.
    initiation: Initiation = "sm.initiation" {
        int_add: u32 = 1, 1..=64, "cycles", "Integer addition.";
        int_mul: u32 = 2, 1..=64, "cycles", "Integer multiplication.";
        int_wide: u32 = 2, 1..=64, "cycles", "32 by 32 to 64 bit multiply-add.";
        logic: u32 = 1, 1..=64, "cycles", "Logic, permutation, bit fields.";
        shift: u32 = 2, 1..=64, "cycles", "Shifts.";
        min_max: u32 = 2, 1..=64, "cycles", "Integer minimum and maximum.";
        compare: u32 = 1, 1..=64, "cycles", "Integer comparison.";
        moves: u32 = 1, 1..=64, "cycles", "Moves, selections, special registers.";
        fp32: u32 = 1, 1..=64, "cycles", "Single precision.";
        fp16: u32 = 1, 1..=64, "cycles", "Half precision.";
        fp64: u32 = 4, 1..=64, "cycles", "Double precision.";
        convert: u32 = 4, 1..=64, "cycles", "Conversions.";
        special: u32 = 4, 1..=64, "cycles", "Reciprocal, square root, logarithm, exponential, sine and cosine.";
        bit_count: u32 = 2, 1..=64, "cycles", "Counting and finding bits.";
        dot: u32 = 2, 1..=64, "cycles", "Dot products of bytes.";
        shuffle: u32 = 2, 1..=64, "cycles", "Shuffles between lanes.";
        vote: u32 = 1, 1..=64, "cycles", "Votes and other collectives.";
    }
    /// Shared memory.
    shared: Shared = "sm.shared" {
        bytes: u32 = 49152, 1024..=233472, "bytes", "Shared memory; the rest of the on-chip memory is the L1 data cache.";
        small_bytes: u32 = 16384, 0..=233472, "bytes", "Shared memory while kernels run that prefer L1 (cudaFuncSetCacheConfig) and need no more than this; 0: the split is fixed.";
        banks: u32 = 32, 1..=64, "", "Banks, each of 4 bytes per cycle.";
        cycles: u32 = 20, 1..=500, "cycles", "Latency of an access without bank conflicts.";
        atomic_cycles: u32 = 4, 1..=500, "cycles", "Cycles of each round of an atomic operation on shared memory.";
    }
    /// L1 data cache, with lines of 128 bytes.
    l1d: L1d = "sm.l1d" {
        ways: u32 = 4, 1..=32, "", "Ways; the sets follow from the size.";
        large_ways: u32 = 6, 1..=32, "", "Ways while shared memory has sm.shared.small_bytes.";
        set_index: SetIndex = SetIndex::Fermi, 0..=0, "", "How a line is mapped to a set. The hash was published for 32 and 64 sets; fewer sets use its lower bits, more sets address bits above it, and a number of sets that is not a power of two the line number modulo the sets.";
        allocate: Allocation = Allocation::Fill, 0..=0, "", "When a line is allocated on a miss: at the miss or at the fill.";
        cycles: u32 = 26, 1..=500, "cycles", "Latency of a hit.";
        mshrs: u32 = 64, 1..=256, "", "Miss status registers (MSHRs): lines being fetched.";
        merges: u32 = 8, 1..=64, "", "Accesses that can wait for one line (merged misses).";
        miss_queue: u32 = 8, 1..=64, "", "Entries of the queue of requests to the network.";
        global: bool = true, 0..=0, "", "Loads of global memory are cached here; otherwise only those of local memory.";
    }
    /// Constant cache; parameters and constant operands go through it.
    constant: Constant = "sm.constant" {
        sets: u32 = 64, 1..=1024, "", "Sets.";
        ways: u32 = 2, 1..=32, "", "Ways.";
        line_bytes: u32 = 64, 32..=128, "bytes", "Line size; a power of two.";
        cycles: u32 = 12, 1..=500, "cycles", "Latency of an indexed load that hits; a constant operand that hits takes no time.";
        mshrs: u32 = 2, 1..=64, "", "Miss status registers (MSHRs): outstanding misses.";
    }
    /// Texture cache with a fragment queue.
    texture: Texture = "sm.texture" {
        sets: u32 = 4, 1..=1024, "", "Sets.";
        ways: u32 = 24, 1..=64, "", "Ways.";
        line_bytes: u32 = 128, 32..=128, "bytes", "Line size; a power of two.";
        cycles: u32 = 60, 1..=1000, "cycles", "Latency of a hit: addressing and filtering.";
        fragments: u32 = 128, 1..=1024, "", "Entries of the fragment queue, in which texture accesses wait in order for their lines.";
        mshrs: u32 = 128, 1..=256, "", "Entries of the reorder buffer: lines being fetched.";
    }
    /// Network between SMs and memory partitions: one for requests, one for replies.
    noc: Noc = "noc" {
        topology: Topology = Topology::Crossbar, 0..=0, "", "How SMs and memory partitions are connected.";
        cycles: u32 = 64, 4..=1000, "cycles", "Latency from sender to receiver without contention and without the hops of a mesh; no shorter than an epoch.";
        flit_bytes: u32 = 32, 4..=256, "bytes", "Flit size: bytes that a link moves per network cycle.";
        header_bytes: u32 = 8, 1..=64, "bytes", "Header of each packet.";
        buffer_flits: u32 = 96, 4..=1024, "flits", "Buffer of a receiver for each sender; no smaller than the largest packet.";
        hop_cycles: u32 = 4, 1..=100, "network cycles", "Latency of one hop of a mesh: router and link.";
        mesh_columns: u32 = 5, 1..=32, "", "Width of the mesh.";
    }
    /// An L2 slice, with lines of 128 bytes.
    l2: L2 = "l2" {
        sets: u32 = 64, 1..=8192, "", "Sets.";
        ways: u32 = 16, 1..=64, "", "Ways.";
        cycles: u32 = 24, 1..=1000, "L2 cycles", "Latency of a hit, from the acceptance of a request to its reply.";
        mshrs: u32 = 64, 1..=256, "", "Miss status registers (MSHRs): lines being fetched.";
        merges: u32 = 4, 1..=64, "", "Requests that can wait for one line (merged misses).";
        queue: u32 = 8, 1..=64, "", "Entries of the queue of requests to the memory controller.";
        atomic_cycles: u32 = 2, 1..=100, "L2 cycles", "Time of each word of an atomic operation; lanes that access the same word are serialised.";
        write_fetch: bool = false, 0..=0, "", "A full-line write that misses fetches the line first, as a partial write always does.";
        port_bytes: u32 = 64, 8..=128, "bytes", "Data that a slice reads or writes in an L2 cycle; a power of two.";
    }
    /// Memory controllers and DRAM. Timing constraints are in command clocks.
    dram: Dram = "dram" {
        policy: DramPolicy = DramPolicy::FrFcfs, 0..=0, "", "Scheduling policy of requests.";
        channels: u32 = 2, 1..=4, "", "Independent channels of a controller.";
        bus_bytes: u32 = 4, 1..=32, "bytes", "Data bus of a channel; a power of two.";
        beats: u32 = 4, 2..=8, "beats", "Data beats in a command clock: 4 for GDDR5, 2 for DDR and HBM. A power of two.";
        burst: u32 = 8, 4..=16, "beats", "Beats of one access; with the bus they give the access granularity. A power of two.";
        banks: u32 = 16, 1..=64, "", "Banks of a channel; a power of two.";
        groups: u32 = 4, 1..=16, "", "Bank groups; a divisor of the banks.";
        upper_groups: bool = false, 0..=0, "", "The upper bits of a bank number select its group; otherwise the lower bits do, and neighbouring memory ranges lie in different groups.";
        row_bytes: u32 = 2048, 256..=65536, "bytes", "Row of a bank over all chips of a channel; a power of two.";
        interleave_bytes: u32 = 256, 128..=65536, "bytes", "Consecutive addresses in one partition; a power of two.";
        bank_hash: bool = true, 0..=0, "", "Bank numbers are hashed with row bits.";
        address_hash: bool = true, 0..=0, "", "Partitions and channels are hashed with higher address bits, so that no stride maps to only a few of them.";
        queue: u32 = 64, 1..=256, "", "Entries of the queue that the scheduler selects from.";
        write_queue: bool = true, 0..=0, "", "Writes are collected in a queue of their own and drained together; otherwise reads and writes share one queue, whose oldest access to an open row decides the direction.";
        return_queue: u32 = 16, 1..=256, "", "Entries of the queue of lines read that wait for the L2 slice.";
        cycles: u32 = 155, 1..=1000, "cycles", "Fixed part of the latency, to DRAM and back.";
        t_ccd: u32 = 2, 1..=64, "clocks", "Minimum time between accesses to different bank groups.";
        t_ccdl: u32 = 3, 1..=64, "clocks", "Minimum time between accesses to one bank group.";
        t_rrd: u32 = 6, 1..=64, "clocks", "Minimum time between activations of different banks.";
        t_faw: u32 = 24, 1..=256, "clocks", "Window in which at most four activations are allowed.";
        t_rcd: u32 = 12, 1..=64, "clocks", "Minimum time from activation to access.";
        t_ras: u32 = 28, 1..=128, "clocks", "Minimum time from activation to precharge.";
        t_rp: u32 = 12, 1..=64, "clocks", "Minimum time from precharge to activation.";
        t_rc: u32 = 40, 1..=256, "clocks", "Minimum time between activations of one bank.";
        t_cl: u32 = 12, 1..=64, "clocks", "Latency from a read command to its data.";
        t_wl: u32 = 4, 1..=64, "clocks", "Latency from a write command to its data.";
        t_cdlr: u32 = 5, 1..=64, "clocks", "Minimum time from the end of write data to a read.";
        t_wr: u32 = 12, 1..=64, "clocks", "Minimum time from the end of write data to a precharge.";
        t_rtp: u32 = 2, 1..=64, "clocks", "Minimum time from a read to a precharge.";
        t_refi: u32 = 3600, 100..=1000000, "clocks", "Interval between refreshes.";
        t_rfc: u32 = 96, 1..=4096, "clocks", "Duration of a refresh.";
    }
    /// What energy depends on besides structure and clocks; nothing of it changes a counter.
    power: Power = "power" {
        node_nm: u32 = 0, 0..=90, "nm", "Feature size; 0: that of the technology.";
        kelvin: u32 = 0, 0..=400, "K", "Temperature of the die; 0: that of the technology.";
        core_mv: u32 = 0, 0..=3000, "mV", "Supply voltage of the SMs; 0: from the technology's curve for clock.core_mhz.";
        noc_mv: u32 = 0, 0..=3000, "mV", "Supply voltage of the network; 0: from the technology's curve for clock.noc_mhz.";
        l2_mv: u32 = 0, 0..=3000, "mV", "Supply voltage of the L2 slices; 0: from the technology's curve for clock.l2_mhz.";
    }
}
