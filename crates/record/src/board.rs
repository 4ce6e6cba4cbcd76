// SPDX-License-Identifier: MIT OR Apache-2.0
//! A page of memory that the processes of a session share: how far the kernel is that runs, and whether all should stop. Numbers
//! only, each read and written whole; a sequence number shows readers that they are consistent.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

const WORDS: usize = 64;
const BYTES: usize = WORDS * 8;

/// Words of the page.
const STOP: usize = 0;
const ENDED: usize = 1;
const SEQUENCE: usize = 2;
const FIGURES: usize = 3;
const NAME: usize = FIGURES + 8;
/// Bytes of a kernel's name that are passed on.
const NAME_BYTES: usize = (WORDS - NAME) * 8;

/// Why processes should stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It was requested by the user.
    Interrupt = 1,
    /// The time limit is reached.
    Timeout = 2,
}

/// How far a kernel is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    pub process: u64,
    pub launch: u64,
    pub ctas_done: u64,
    pub ctas: u64,
    /// Cycles since its launch; 0 for a functional device.
    pub cycles: u64,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    pub kernel: String,
}

pub struct Board {
    words: *const AtomicU64,
}

// SAFETY: the page is only touched through atomics, and stays mapped for as long as the board lives.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

impl Board {
    /// A new page in a new file.
    pub fn create(path: &Path) -> std::io::Result<Board> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        file.set_len(BYTES as u64)?;
        Board::map(&file)
    }

    pub fn open(path: &Path) -> std::io::Result<Board> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < BYTES as u64 {
            return Err(std::io::Error::other("the board of the session is too small"));
        }
        Board::map(&file)
    }

    fn map(file: &File) -> std::io::Result<Board> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of a file that is at least this long; nothing is overwritten.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Board { words: at.cast::<AtomicU64>() })
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < WORDS, "the board has {WORDS} words");
        // SAFETY: the mapping holds `WORDS` aligned words and is only accessed as atomics.
        unsafe { &*self.words.add(at) }
    }

    /// Asks all processes to stop.
    pub fn stop(&self, why: Stop) {
        let _ = self.word(STOP).compare_exchange(0, why as u64, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Takes an interrupt back: programs that handle it themselves may go on. A limit stays.
    pub fn resume(&self) {
        let interrupt = Stop::Interrupt as u64;
        let _ = self.word(STOP).compare_exchange(interrupt, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether processes should stop, and why.
    pub fn stopped(&self) -> Option<Stop> {
        match self.word(STOP).load(Ordering::Relaxed) {
            0 => None,
            2 => Some(Stop::Timeout),
            _ => Some(Stop::Interrupt),
        }
    }

    /// Tells that a process ended at a limit.
    pub fn limit_reached(&self) {
        self.word(ENDED).store(1, Ordering::Relaxed);
    }

    pub fn is_limit_reached(&self) -> bool {
        self.word(ENDED).load(Ordering::Relaxed) != 0
    }

    pub fn show(&self, progress: &Progress) {
        // Odd while the page changes. Processes that write at the same time spoil each other's figures, which somebody looks at
        // for a tenth of a second.
        let sequence = self.word(SEQUENCE).load(Ordering::Relaxed) | 1;
        self.word(SEQUENCE).store(sequence, Ordering::Release);
        std::sync::atomic::fence(Ordering::SeqCst);
        let Progress { process, launch, ctas_done, ctas, cycles, .. } = *progress;
        let figures = [
            process,
            launch,
            ctas_done,
            ctas,
            cycles,
            progress.warp_instructions,
            progress.thread_instructions,
            progress.kernel.len().min(NAME_BYTES) as u64,
        ];
        for (at, figure) in figures.into_iter().enumerate() {
            self.word(FIGURES + at).store(figure, Ordering::Relaxed);
        }
        for (at, bytes) in progress.kernel.as_bytes().chunks(8).take(WORDS - NAME).enumerate() {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.word(NAME + at).store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
        self.word(SEQUENCE).store(sequence.wrapping_add(1), Ordering::Release);
    }

    /// The figures that were shown last, with a number that changes with them; `None` while they change or before the first.
    pub fn look(&self) -> Option<(u64, Progress)> {
        let sequence = self.word(SEQUENCE).load(Ordering::Acquire);
        if sequence % 2 == 1 || sequence == 0 {
            return None;
        }
        let figure = |at| self.word(FIGURES + at).load(Ordering::Relaxed);
        let mut name = Vec::with_capacity(NAME_BYTES);
        for at in 0..WORDS - NAME {
            name.extend(self.word(NAME + at).load(Ordering::Relaxed).to_le_bytes());
        }
        name.truncate(figure(7) as usize);
        let progress = Progress {
            process: figure(0),
            launch: figure(1),
            ctas_done: figure(2),
            ctas: figure(3),
            cycles: figure(4),
            warp_instructions: figure(5),
            thread_instructions: figure(6),
            kernel: String::from_utf8_lossy(&name).into_owned(),
        };
        std::sync::atomic::fence(Ordering::SeqCst);
        (self.word(SEQUENCE).load(Ordering::Acquire) == sequence).then_some((sequence, progress))
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map`, and nothing borrows from it any more.
        unsafe { libc::munmap(self.words.cast_mut().cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_writes_another_reads() {
        let path = std::env::temp_dir().join(format!("warpwatt-board-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let one = Board::create(&path).expect("it can be made");
        let other = Board::open(&path).expect("it is there");
        assert_eq!((other.look(), other.stopped(), other.is_limit_reached()), (None, None, false));
        let progress = Progress {
            process: 1,
            launch: 2,
            ctas_done: 3,
            ctas: 4,
            cycles: 5,
            warp_instructions: 6,
            thread_instructions: 7,
            kernel: "scan".repeat(3),
        };
        one.show(&progress);
        let first = other.look().expect("something is shown");
        assert_eq!(first.1, progress);
        one.show(&Progress { kernel: "x".repeat(9999), ..progress });
        let second = other.look().expect("something is shown");
        assert_eq!(second.1.kernel, "x".repeat(NAME_BYTES));
        assert_ne!(first.0, second.0);
        other.stop(Stop::Interrupt);
        assert_eq!(one.stopped(), Some(Stop::Interrupt));
        other.resume();
        assert_eq!(one.stopped(), None);
        other.stop(Stop::Timeout);
        other.stop(Stop::Interrupt);
        other.resume();
        one.limit_reached();
        assert_eq!(
            (one.stopped(), other.is_limit_reached()),
            (Some(Stop::Timeout), true),
            "the first reason stays"
        );
        std::fs::remove_file(&path).expect("it can be removed");
    }

    #[test]
    fn a_file_that_is_too_short_is_refused() {
        let path = std::env::temp_dir().join(format!("warpwatt-short-board-{}", std::process::id()));
        std::fs::write(&path, b"short").expect("it can be written");
        assert!(Board::open(&path).is_err());
        std::fs::remove_file(&path).expect("it can be removed");
    }
}
