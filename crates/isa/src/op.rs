// SPDX-License-Identifier: MIT OR Apache-2.0
//! The opcode table: one line per operation, with what it computes.
//!
//! `ty` is the operation's type unless said otherwise; `a`, `b`, `c`, `d` are sources 0 to 3, `p`, `q` predicate destinations, `x`, `y`, `z`
//! predicate sources 0 to 2. Source modifiers (negate, absolute value) apply to sources before the operation.

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Op { $($(#[$doc])* $name,)* }

        impl Op {
            pub fn name(self) -> &'static str {
                match self { $(Op::$name => $text,)* }
            }
            pub const ALL: &'static [Op] = &[$(Op::$name,)*];
        }
    };
}

ops! {
    // ---- moving ----
    /// dst = a. 32 bits in the machine; any width in the compiler.
    Mov = "MOV",
    /// dst = x ? a : b
    Sel = "SEL",
    /// dst = special register `Sub::SReg`.
    S2r = "S2R",
    /// Bytes of (b:a) chosen by the nibbles of c, or by a `Sub::Prmt` mode.
    Prmt = "PRMT",

    // ---- integer ----
    /// dst = a + b + c + (CARRY_IN ? x : 0), modulo 2^32; p = carry out of a + b + x when p is not PT (then c is RZ). Negated sources are
    /// complemented and add one in total per source, except with CARRY_IN where a negated source is only complemented (subtract with borrow: x is "no borrow").
    Iadd3 = "IADD3",
    /// dst = low 32 bits of a * b + c
    Imad = "IMAD",
    /// dst = high 32 bits of a * b, plus c (type S32 or U32 decides signedness)
    ImadHi = "IMAD.HI",
    /// pair dst = a * b (32 x 32 -> 64, signedness by type) + pair c; p = carry out of the addition when p is not PT; CARRY_IN adds x
    ImadWide = "IMAD.WIDE",
    /// dst = (a << shift) + b, `Sub::Shift(n)`; p = carry out of the addition when p is not PT
    Lea = "LEA",
    /// dst = high word of ((c:a) << shift) + b + (CARRY_IN ? x : 0), `Sub::Shift(n)`; c is the high word of the shifted value
    LeaHi = "LEA.HI",
    /// dst = min or max of a, b (`Sub::MinMax`)
    Imnmx = "IMNMX",
    /// dst = |a|
    Iabs = "IABS",
    /// dst = |a - b| + c
    Isad = "ISAD",
    /// dst = a << b; amounts of 32 and more give 0 (or wrap with WRAP)
    Shl = "SHL",
    /// dst = a >> b, arithmetic for S32; amounts of 32 and more fill with sign or 0 (or wrap with WRAP)
    Shr = "SHR",
    /// Funnel shift of (b:a): RIGHT gives the low word of the value >> c, else the high word of the value << c; amounts clamp at 32, or wrap with WRAP
    Shf = "SHF",
    /// dst = truth table `Sub::Lut` over (a, b, c): bit of the table at index (a<<2 | b<<1 | c)
    Lop3 = "LOP3",
    /// dst = bit field of a at position b[7:0], length c[7:0] (as PTX bfe)
    Bfe = "BFE",
    /// dst = b with field a inserted at position c[7:0], length d[7:0] (as PTX bfi)
    Bfi = "BFI",
    Popc = "POPC",
    /// Position of the most significant 1 (or non-sign bit for S32), 0xffffffff if none; SHIFTAMT gives 31 - position
    Bfind = "FLO",
    Brev = "BREV",
    /// dst = c + dot product of the bytes of a (type) and b (type `ty2`)
    Dp4a = "DP4A",
    /// dst = c + dot product of halfwords of a and the low (or high with HIGH) bytes of b
    Dp2a = "DP2A",
    /// p = (a cmp b) bool x; q = !(a cmp b) bool x. `Sub::Cmp`
    Isetp = "ISETP",
    /// As ISETP for the high words of a 64-bit comparison; y is the result of the unsigned (or equality) comparison of the low words
    IsetpX = "ISETP.EX",

    // ---- predicates ----
    /// p = truth table `Sub::Lut` over (x, y, z)
    Plop3 = "PLOP3",

    // ---- floating point (F32, F64, F16, F16x2, Bf16, Bf16x2) ----
    Fadd = "FADD",
    Fmul = "FMUL",
    Ffma = "FFMA",
    Fmnmx = "FMNMX",
    /// p = (a cmp b) bool x; q = !(a cmp b) bool x. For packed halves p and q are the two lanes' results
    Fsetp = "FSETP",
    /// Special functions on F32, and the high word of an F64 for the 64-bit seeds (`Sub::Mufu`)
    Mufu = "MUFU",
    /// p = the fast division sequence is not safe for a / b
    Fchk = "FCHK",
    /// p = property `Sub::Testp` holds for a
    Testp = "TESTP",
    /// dst (type `ty`) = convert a (type `ty2`), rounding in `rnd`, flags FTZ, SAT, ROUND_INT (result rounded to an integer), RELU, SATFINITE
    /// For `ty` F16x2 or Bf16x2 with `ty2` F32: dst = pack(hi = a, lo = b)
    Cvt = "CVT",

    // ---- between lanes ----
    /// dst = shuffle of a, lane b, clamp/segment mask c; p = lane was in range; d = member mask with SYNC
    Shfl = "SHFL",
    /// ballot: dst = mask; all/any/uni: p = result; of predicate x among active lanes; a = member mask with SYNC
    Vote = "VOTE",
    /// dst = mask of lanes whose a equals mine; all: p = all equal; b = member mask
    Match = "MATCH",
    /// dst = reduction of a over member mask b (`Sub::Atom` names the operation)
    Redux = "REDUX",
    /// dst = mask of active lanes
    ActiveMask = "ACTIVEMASK",
    /// p = this lane is the leader of the member mask a; dst = the leader's lane
    Elect = "ELECT",

    // ---- memory; `mem` says where and how ----
    /// dst run = [a + off], `mem.vec` elements of `ty`
    Ld = "LD",
    /// [a + off] = run b
    St = "ST",
    /// dst = old [a + off]; memory = op(old, b); cas: b is compared, c is stored
    Atom = "ATOM",
    /// As ATOM without result
    Red = "RED",
    /// dst run of 4 = texture a (pair or constant) at run b; c = level, bias or gradient run, d = second gradient run. `Sub::Tex`
    Tex = "TEX",
    /// dst run of 4 = gather of component `Sub::Tld4`
    Tld4 = "TLD4",
    /// dst = attribute `Sub::Query` of texture or surface a
    Txq = "TXQ",
    /// Surface load: dst run = surface a at run b
    Suld = "SULD",
    /// Surface store: surface a at run b = run c
    Sust = "SUST",
    /// Surface reduction
    Sured = "SURED",
    /// Fence; scope and ordering in `mem`
    Membar = "MEMBAR",
    /// Prefetch, discard and other hints: address a + off; no effect on values
    Cctl = "CCTL",
    /// p = generic address pair a lies in space `mem.space`
    IsSpace = "QSPC",

    // ---- control ----
    Nop = "NOP",
    /// Jump of the active lanes whose guard holds; `target`, `reconv`
    Bra = "BRA",
    /// Jump to entry a of `Program::tables[target]`
    Brx = "BRX",
    /// Call the function at `target`
    Call = "CALL",
    /// Call the function whose address is in pair a
    CallInd = "CALL.IND",
    Ret = "RET",
    Exit = "EXIT",
    /// Barrier a with b threads (RZ: all); `Sub::Bar`; reductions take x and give p or dst
    Bar = "BAR",
    /// Wait for the lanes of mask a
    WarpSync = "WARPSYNC",
    /// Sleep about a nanoseconds
    Nanosleep = "NANOSLEEP",
    Trap = "BPT.TRAP",
    Brkpt = "BPT.PAUSE",
    /// A service of the driver (`Sub::Sys`): arguments are read from the stack at a + off, the result, if any, goes to pair dst
    Sys = "SYS",

    // ---- compiler only ----
    /// SSA join: one source per predecessor, in predecessor order
    Phi = "phi",
    /// Wide value from parts, lowest first
    Pack = "pack",
    /// Part `Sub::Part(i)` of wide value a
    Part = "part",
    /// An undefined value
    Undef = "undef",
}
