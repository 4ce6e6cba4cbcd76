// SPDX-License-Identifier: MIT OR Apache-2.0
//! The closed vocabularies of PTX: instruction names and instruction suffixes.

use warpwatt_base::Sym;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $other:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name {
            $($variant,)*
            /// A word that PTX may know and we do not.
            $other(Sym),
        }

        impl $name {
            pub fn parse(text: &str) -> Option<$name> {
                match text {
                    $($text => Some($name::$variant),)*
                    _ => None,
                }
            }

            /// The word as written; `None` for one we do not know (its symbol names it).
            pub fn text(self) -> Option<&'static str> {
                match self {
                    $($name::$variant => Some($text),)*
                    $name::$other(_) => None,
                }
            }

            /// Every known word.
            pub const ALL: &'static [&'static str] = &[$($text,)*];
        }
    };
}

words! {
    /// An instruction name: the part before the first dot.
    Opcode, Unknown {
        Abs = "abs", Activemask = "activemask", Add = "add", Addc = "addc", Alloca = "alloca", And = "and",
        Applypriority = "applypriority", Atom = "atom", Bar = "bar", Barrier = "barrier", Bfe = "bfe", Bfi = "bfi",
        Bfind = "bfind", Bmsk = "bmsk", Bra = "bra", Brev = "brev", Brkpt = "brkpt", Brx = "brx", Call = "call",
        Clusterlaunchcontrol = "clusterlaunchcontrol", Clz = "clz", Cnot = "cnot", Copysign = "copysign", Cos = "cos", Cp = "cp", Createpolicy = "createpolicy",
        Cvt = "cvt", Cvta = "cvta", Discard = "discard", Div = "div", Dp2a = "dp2a", Dp4a = "dp4a", Elect = "elect",
        Ex2 = "ex2", Exit = "exit", Fence = "fence", Fma = "fma", Fns = "fns", Getctarank = "getctarank",
        Griddepcontrol = "griddepcontrol", Isspacep = "isspacep", Istypep = "istypep", Ld = "ld", Ldmatrix = "ldmatrix",
        Ldu = "ldu", Lg2 = "lg2", Lop3 = "lop3", Mad = "mad", Mad24 = "mad24", Madc = "madc", Mapa = "mapa",
        Match = "match", Max = "max", Mbarrier = "mbarrier", Membar = "membar", Min = "min", Mma = "mma", Mov = "mov",
        Movmatrix = "movmatrix", Mul = "mul", Mul24 = "mul24", Multimem = "multimem", Nanosleep = "nanosleep",
        Neg = "neg", Not = "not", Or = "or", Pmevent = "pmevent", Popc = "popc", Prefetch = "prefetch",
        Prefetchu = "prefetchu", Prmt = "prmt", Rcp = "rcp", Red = "red", Redux = "redux", Rem = "rem", Ret = "ret",
        Rsqrt = "rsqrt", Sad = "sad", Selp = "selp", Set = "set", Setmaxnreg = "setmaxnreg", Setp = "setp", Shf = "shf",
        Shfl = "shfl", Shl = "shl", Shr = "shr", Sin = "sin", Slct = "slct", Sqrt = "sqrt", St = "st",
        Stackrestore = "stackrestore", Stacksave = "stacksave", Stmatrix = "stmatrix", Sub = "sub", Subc = "subc",
        Suld = "suld", Suq = "suq", Sured = "sured", Sust = "sust", Szext = "szext", Tanh = "tanh", Tcgen05 = "tcgen05",
        Tensormap = "tensormap", Testp = "testp", Tex = "tex", Tld4 = "tld4", Trap = "trap", Txq = "txq",
        Vabsdiff = "vabsdiff", Vabsdiff2 = "vabsdiff2", Vabsdiff4 = "vabsdiff4", Vadd = "vadd", Vadd2 = "vadd2",
        Vadd4 = "vadd4", Vavrg2 = "vavrg2", Vavrg4 = "vavrg4", Vmad = "vmad", Vmax = "vmax", Vmax2 = "vmax2",
        Vmax4 = "vmax4", Vmin = "vmin", Vmin2 = "vmin2", Vmin4 = "vmin4", Vote = "vote", Vset = "vset", Vset2 = "vset2",
        Vset4 = "vset4", Vshl = "vshl", Vshr = "vshr", Vsub = "vsub", Vsub2 = "vsub2", Vsub4 = "vsub4",
        Wgmma = "wgmma", Wmma = "wmma", Xor = "xor",
    }
}

words! {
    /// A suffix of an instruction: `.rn`, `.f32`, `.global`, … without the dot. Suffixes that carry data
    /// (`.L2::128B`, `.m16n8k16`) are kept as `Other`.
    Mod, Other {
        // types
        U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64", S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64",
        B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128", F16 = "f16", F16x2 = "f16x2", Bf16 = "bf16",
        Bf16x2 = "bf16x2", Tf32 = "tf32", F32 = "f32", F64 = "f64", Pred = "pred", E4m3x2 = "e4m3x2",
        E5m2x2 = "e5m2x2", F32x2 = "f32x2", U16x2 = "u16x2", S16x2 = "s16x2",
        // vectors
        V2 = "v2", V4 = "v4", V8 = "v8",
        // spaces
        Const = "const", Global = "global", Local = "local", Param = "param", Shared = "shared", Sreg = "sreg",
        SharedCta = "shared::cta", SharedCluster = "shared::cluster", ParamEntry = "param::entry",
        ParamFunc = "param::func",
        // rounding and float modes
        Rn = "rn", Rz = "rz", Rm = "rm", Rp = "rp", Rna = "rna", Rni = "rni", Rzi = "rzi", Rmi = "rmi", Rpi = "rpi",
        Ftz = "ftz", Sat = "sat", Satfinite = "satfinite", Relu = "relu", Nan = "NaN", XorsignAbs = "xorsign", Abs = "abs",
        Approx = "approx", Full = "full", Noftz = "noftz", Oob = "oob",
        // integer modes
        Lo = "lo", Hi = "hi", Wide = "wide", Cc = "cc", L = "l", R = "r", Clamp = "clamp", Wrap = "wrap", Shiftamt = "shiftamt",
        F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16",
        // comparisons and boolean operators
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge", Ls = "ls", Hs = "hs", Equ = "equ", Neu = "neu",
        Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu", Num = "num", NanTest = "nan", And = "and", Or = "or", Xor = "xor",
        Finite = "finite", Infinite = "infinite", Number = "number", Notanumber = "notanumber", Normal = "normal",
        Subnormal = "subnormal",
        // memory
        Volatile = "volatile", Relaxed = "relaxed", Acquire = "acquire", Release = "release", AcqRel = "acq_rel",
        Sc = "sc", Weak = "weak", Mmio = "mmio", Cta = "cta", Cluster = "cluster", Gpu = "gpu", Sys = "sys", Gl = "gl",
        Ca = "ca", Cg = "cg", Cs = "cs", Cv = "cv", Lu = "lu", Wb = "wb", Wt = "wt", Nc = "nc", To = "to",
        Unified = "unified", Add = "add", Inc = "inc", Dec = "dec", Min = "min", Max = "max", Exch = "exch", Cas = "cas",
        L1 = "L1", L2 = "L2", Proxy = "proxy", Alias = "alias", Async = "async",
        // warp and control
        Uni = "uni", Sync = "sync", Aligned = "aligned", Arrive = "arrive", Red = "red", Popc = "popc", Warp = "warp",
        All = "all", Any = "any", Ballot = "ballot", Up = "up", Down = "down", Bfly = "bfly", Idx = "idx", Mode = "mode",
        // textures
        D1 = "1d", D2 = "2d", D3 = "3d", A1d = "a1d", A2d = "a2d", Cube = "cube", Acube = "acube", D2ms = "2dms",
        A2dms = "a2dms", Base = "base", Level = "level", Grad = "grad", Trap = "trap", Zero = "zero",
        Width = "width", Height = "height", Depth = "depth", ChannelDataType = "channel_data_type",
        ChannelOrder = "channel_order", NormalizedCoords = "normalized_coords", ArraySize = "array_size",
        NumMipmapLevels = "num_mipmap_levels", NumSamples = "num_samples", MemoryLayout = "memory_layout",
        FilterMode = "filter_mode", AddrMode0 = "addr_mode_0", AddrMode1 = "addr_mode_1", AddrMode2 = "addr_mode_2",
        ForceUnnormalizedCoords = "force_unnormalized_coords", P = "p", G = "g", A = "a", B = "b",
        Texref = "texref", Samplerref = "samplerref", Surfref = "surfref",
        B0 = "b0", B1 = "b1", B2 = "b2", B3 = "b3", H0 = "h0", H1 = "h1",
    }
}
