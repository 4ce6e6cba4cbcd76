// SPDX-License-Identifier: MIT OR Apache-2.0
//! Special registers (PTX ISA, "Special Registers") that S2R reads. Block and grid sizes are constants in bank 0 instead.

macro_rules! sregs {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum SReg { $($(#[$doc])* $name,)* }

        impl SReg {
            pub fn name(self) -> &'static str {
                match self { $(SReg::$name => $text,)* }
            }
        }
    };
}

sregs! {
    TidX = "SR_TID.X", TidY = "SR_TID.Y", TidZ = "SR_TID.Z",
    CtaidX = "SR_CTAID.X", CtaidY = "SR_CTAID.Y", CtaidZ = "SR_CTAID.Z",
    LaneId = "SR_LANEID",
    /// Warp within the block's SM slot; PTX allows it to change, here it is constant.
    WarpId = "SR_WARPID", NWarpId = "SR_NWARPID",
    SmId = "SR_SMID", NSmId = "SR_NSMID",
    GridIdLo = "SR_GRIDID.LO", GridIdHi = "SR_GRIDID.HI",
    LaneMaskEq = "SR_EQMASK", LaneMaskLt = "SR_LTMASK", LaneMaskLe = "SR_LEMASK", LaneMaskGt = "SR_GTMASK",
    LaneMaskGe = "SR_GEMASK",
    ClockLo = "SR_CLOCKLO", ClockHi = "SR_CLOCKHI",
    GlobalTimerLo = "SR_GLOBALTIMERLO", GlobalTimerHi = "SR_GLOBALTIMERHI",
    DynamicSmemSize = "SR_DYNAMIC_SMEM_SIZE", TotalSmemSize = "SR_TOTAL_SMEM_SIZE",
    /// `%pm` and `%envreg` but for the workspace (`bank0`) read as zero.
    Zero = "SR_ZERO",
}
