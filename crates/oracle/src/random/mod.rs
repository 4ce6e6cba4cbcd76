// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random kernels: legal PTX whose result does not depend on the order in which threads run.
//!
//! A kernel is a tree of statements over pools of registers, all of which are set at the start and stored at the end. So any statement can be
//! taken out and the kernel stays legal, which is how a failing one is made small. Barriers and exchanges between lanes stand only where all
//! threads of a block come; a thread stores only to its own part of memory; accumulators in memory have one commutative operation each.

mod arith;
mod flow;
mod memory;

use warpwatt_base::SplitMix64;

/// Bytes of the input buffer, which all threads read.
pub const INPUT_BYTES: usize = 1024;
/// Bytes of the output buffer that each thread owns: scratch first, then the registers at the end.
pub const OUTPUT_BYTES: usize = 1024;
const SCRATCH_BYTES: usize = 256;
/// Bytes of the accumulators.
pub const SUMS_BYTES: usize = 256;
/// Bytes of a thread's array in local memory.
const LOCAL_BYTES: usize = 64;

/// A piece of a kernel's body.
#[derive(Clone, Debug)]
pub enum Node {
    Text(String),
    /// A construct around others: each part is the text before some statements.
    Block {
        parts: Vec<(String, Vec<Node>)>,
        close: String,
    },
}

#[derive(Clone, Debug)]
pub struct Kernel {
    pub seed: u64,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub input: Vec<u8>,
    pub sums: Vec<u8>,
    target: u32,
    pools: Pools,
    functions: Vec<Function>,
    body: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Function {
    /// As calls write it, with the comma that follows.
    name: &'static str,
    text: String,
}

/// How many registers of each kind there are.
#[derive(Clone, Debug)]
struct Pools {
    words: u32,
    longs: u32,
    floats: u32,
    doubles: u32,
    shorts: u32,
    preds: u32,
}

/// Something that makes statements.
struct Maker {
    rng: SplitMix64,
    pools: Pools,
    target: u32,
    threads: u32,
    labels: u32,
    /// Functions with a word or a float as argument and result.
    functions: u32,
    /// All threads of the block come here.
    uniform: bool,
    depth: u32,
    /// Statements that may still be made.
    left: u32,
}

impl Maker {
    fn below(&mut self, bound: u32) -> u32 {
        self.rng.below(bound)
    }

    fn one_in(&mut self, of: u32) -> bool {
        self.rng.chance(of)
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.rng.below(from.len() as u32) as usize]
    }

    fn word(&mut self) -> String {
        format!("%r{}", self.rng.below(self.pools.words))
    }

    fn long(&mut self) -> String {
        format!("%d{}", self.rng.below(self.pools.longs))
    }

    fn float(&mut self) -> String {
        format!("%f{}", self.rng.below(self.pools.floats))
    }

    fn double(&mut self) -> String {
        format!("%e{}", self.rng.below(self.pools.doubles))
    }

    fn short(&mut self) -> String {
        format!("%h{}", self.rng.below(self.pools.shorts))
    }

    fn pred(&mut self) -> String {
        format!("%p{}", self.rng.below(self.pools.preds))
    }

    /// A register or, now and then, a literal.
    fn word_or_literal(&mut self) -> String {
        if self.one_in(4) { self.literal().to_string() } else { self.word() }
    }

    fn literal(&mut self) -> i32 {
        let random = self.rng.next_u32();
        match self.below(6) {
            0 => 0,
            1 => 1,
            2 => -1,
            3 => (random & 31) as i32,
            4 => 1i32.wrapping_shl(random & 31).wrapping_sub((random >> 8 & 1) as i32),
            _ => random as i32,
        }
    }

    fn float_literal(&mut self) -> String {
        let bits: [u32; 8] =
            [0x3f80_0000, 0xbf00_0000, 0, 0x8000_0000, 0x4049_0fdb, 0x7f7f_ffff, 0x0012_3456, 0x4b00_0001];
        format!("0f{:08X}", bits[self.below(8) as usize])
    }

    fn float_or_literal(&mut self) -> String {
        if self.one_in(6) { self.float_literal() } else { self.float() }
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    fn statements(&mut self, most: u32) -> Vec<Node> {
        let count = 1 + self.below(most);
        let mut made = Vec::new();
        for _ in 0..count {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            made.push(self.statement());
        }
        made
    }

    fn statement(&mut self) -> Node {
        match self.below(100) {
            0..18 => Node::Text(self.word_op()),
            18..28 => Node::Text(self.long_op()),
            28..33 => Node::Text(self.short_op()),
            33..45 => Node::Text(self.float_op()),
            45..50 => Node::Text(self.double_op()),
            50..54 => Node::Text(self.half_op()),
            54..59 => Node::Text(self.conversion()),
            59..66 => Node::Text(self.comparison()),
            66..69 => Node::Text(self.carry_chain()),
            69..80 => Node::Text(self.access()),
            80 => Node::Text(self.own_atomic()),
            81 => Node::Text(self.accumulate()),
            82..86 if self.uniform => Node::Text(self.exchange()),
            86..89 => self.calling(),
            _ if self.depth < 4 => self.construct(),
            _ => Node::Text(self.word_op()),
        }
    }

    /// Puts a guard before an instruction, sometimes.
    fn guarded(&mut self, instruction: String) -> String {
        if self.one_in(6) {
            let not = if self.one_in(2) { "!" } else { "" };
            format!("@{not}{} {instruction}", self.pred())
        } else {
            instruction
        }
    }
}

impl Kernel {
    pub fn random(seed: u64) -> Kernel {
        let mut rng = SplitMix64::new(seed);
        let pools = Pools {
            words: 3 + rng.below(20),
            longs: 2 + rng.below(8),
            floats: 2 + rng.below(12),
            doubles: 1 + rng.below(4),
            shorts: 1 + rng.below(4),
            preds: 2 + rng.below(6),
        };
        let target = [53, 60, 75, 75, 90][rng.below(5) as usize];
        let block =
            [[32, 1, 1], [64, 1, 1], [16, 4, 1], [8, 4, 3], [96, 1, 1], [128, 1, 1]][rng.below(6) as usize];
        let grid = [[1, 1, 1], [2, 1, 1], [1, 2, 1], [1, 1, 2]][rng.below(4) as usize];
        let input = input(&mut rng);
        let sums = (0..SUMS_BYTES).map(|_| rng.next_u32() as u8).collect();
        let left = 10 + rng.below(70);
        let threads = block.iter().product();
        let mut maker =
            Maker { rng, pools, target, threads, labels: 0, functions: 0, uniform: true, depth: 0, left };
        let functions = maker.make_functions();
        maker.uniform = true;
        let mut body = Vec::new();
        while maker.left > 0 {
            body.extend(maker.statements(8));
        }
        let Maker { pools, .. } = maker;
        Kernel { seed, grid, block, dynamic_shared: 8 * threads, input, sums, target, pools, functions, body }
    }

    pub fn threads(&self) -> usize {
        self.grid.iter().chain(&self.block).product::<u32>() as usize
    }

    /// The whole module.
    pub fn text(&self) -> String {
        let mut text = format!(".version 7.8\n.target sm_{}\n.address_size 64\n\n", self.target);
        text += &memory::declarations();
        let mut body = String::new();
        self.body.iter().for_each(|node| write_node(&mut body, node));
        for function in self.functions.iter().filter(|function| body.contains(function.name)) {
            text += &function.text;
            text += "\n";
        }
        text +=
            ".visible .entry kernel(.param .u64 in, .param .u64 out, .param .u64 sums, .param .u32 n)\n{\n";
        text += &self.prologue();
        text += &body;
        text += &self.epilogue();
        text += "    ret;\n}\n";
        text
    }

    /// Makes the kernel smaller for as long as it still fails.
    pub fn shrink(mut self, mut fails: impl FnMut(&Kernel) -> bool) -> Kernel {
        loop {
            let mut smaller = false;
            let mut index = 0;
            while index < count(&self.body) {
                // What is inside of a construct may do without it; otherwise the whole is left out.
                for unwrap in [false, true] {
                    let mut candidate = self.clone();
                    if remove(&mut candidate.body, &mut index.clone(), unwrap) && fails(&candidate) {
                        self = candidate;
                        smaller = true;
                        break;
                    }
                }
                index += 1;
            }
            if !smaller {
                return self;
            }
        }
    }
}

/// Numbers that make trouble, among random ones.
fn input(rng: &mut SplitMix64) -> Vec<u8> {
    let special =
        [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x3f80_0000, 0x7f80_0000, 0x0000_0001, 0x3c00_bc00];
    let mut bytes = Vec::new();
    while bytes.len() < INPUT_BYTES {
        let word = match rng.below(4) {
            0 => special[rng.below(special.len() as u32) as usize],
            1 => rng.below(100),
            2 => 0x3800_0000 + rng.below(0x1000_0000),
            _ => rng.next_u32(),
        };
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn write_node(text: &mut String, node: &Node) {
    match node {
        Node::Text(lines) => {
            text.push_str("    ");
            text.push_str(lines);
            text.push('\n');
        }
        Node::Block { parts, close } => {
            for (before, body) in parts {
                text.push_str("    ");
                text.push_str(before);
                text.push('\n');
                body.iter().for_each(|node| write_node(text, node));
            }
            text.push_str("    ");
            text.push_str(close);
            text.push('\n');
        }
    }
}

fn count(body: &[Node]) -> usize {
    let inside = |node: &Node| match node {
        Node::Text(_) => 0,
        Node::Block { parts, .. } => parts.iter().map(|(_, body)| count(body)).sum(),
    };
    body.iter().map(|node| 1 + inside(node)).sum()
}

/// Takes out the statement at `index` (counted depth first), or puts its inner statements in its place.
fn remove(body: &mut Vec<Node>, index: &mut usize, unwrap: bool) -> bool {
    for at in 0..body.len() {
        if *index == 0 {
            let node = body.remove(at);
            let Node::Block { parts, .. } = node else { return !unwrap };
            if unwrap {
                let inner: Vec<Node> = parts.into_iter().flat_map(|(_, body)| body).collect();
                body.splice(at..at, inner);
            }
            return true;
        }
        *index -= 1;
        if let Node::Block { parts, .. } = &mut body[at] {
            for (_, inner) in parts {
                let size = count(inner);
                if *index < size {
                    return remove(inner, index, unwrap);
                }
                *index -= size;
            }
        }
    }
    false
}
