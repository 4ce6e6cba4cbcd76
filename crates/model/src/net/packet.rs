// SPDX-License-Identifier: MIT OR Apache-2.0
//! What travels between SMs and memory partitions.

/// Bytes of a line of the L1 data cache and of the L2 slices: what one packet is about.
pub const LINE_BYTES: u64 = 128;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PacketKind {
    /// Wants the words of a line.
    Read,
    /// Brings words of a line.
    Write,
    /// Brings operands of an atomic operation; wants old values if it is to be answered with data.
    Atomic,
    /// An atomic operation whose old values are not used.
    Reduction,
    /// Answers `Read` and `Atomic`.
    Data,
    /// Answers `Write` and `Reduction`.
    Ack,
}

impl PacketKind {
    /// The kind of the answer to a request.
    #[inline(always)]
    pub fn answer(self) -> PacketKind {
        match self {
            PacketKind::Read | PacketKind::Atomic => PacketKind::Data,
            _ => PacketKind::Ack,
        }
    }
}

/// Who in an SM asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Client {
    L1d,
    Constant,
    Texture,
    Instruction,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Of the line, a multiple of [`LINE_BYTES`].
    pub address: u64,
    /// Which of the line's 32 words of 4 bytes are meant.
    pub words: u32,
    /// Lanes of the warp instruction behind it; 32 for instruction fetches and write-backs.
    pub lanes: u8,
    /// Atomics: the most lanes that work on one word.
    pub rounds: u8,
    pub kind: PacketKind,
    pub client: Client,
    pub sm: u16,
    pub partition: u16,
    /// Set when it is sent.
    pub flits: u8,
    /// The asker's own note, which comes back with the answer.
    pub tag: u32,
    /// Cycle in which the request was made.
    pub born: u64,
    /// Cycle in which it is whole at the receiver; set by the network.
    pub arrive: u64,
}

impl Packet {
    /// What lies in places that no packet has been in.
    pub const NONE: Packet = Packet {
        address: 0,
        words: 0,
        lanes: 0,
        rounds: 0,
        kind: PacketKind::Read,
        client: Client::L1d,
        sm: 0,
        partition: 0,
        flits: 0,
        tag: 0,
        born: 0,
        arrive: 0,
    };

    /// Words that it moves besides the header.
    #[inline(always)]
    pub fn moved_words(&self) -> u32 {
        match self.kind {
            PacketKind::Read | PacketKind::Ack => 0,
            // The usual case, without counting where the host has no instruction for that.
            _ if self.words == u32::MAX => LINE_BYTES as u32 / 4,
            PacketKind::Write | PacketKind::Data | PacketKind::Atomic | PacketKind::Reduction => {
                self.words.count_ones()
            }
        }
    }

    /// Bytes besides the header.
    #[inline(always)]
    pub fn payload(&self) -> u32 {
        4 * self.moved_words()
    }

    /// The answer to a request.
    #[inline(always)]
    pub fn answer(&self) -> Packet {
        Packet { kind: self.kind.answer(), ..*self }
    }
}
