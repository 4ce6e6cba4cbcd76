// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ctrl-C, and the signals that ask a program to end (`timeout` and batch systems send SIGTERM, a terminal that closes SIGHUP): they set the flag that the device looks
//! at, so that partial results can be written. Programs that handle them themselves, as Python does Ctrl-C, are left alone.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Set by the handler, which may touch nothing but atomics.
static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// The process that has the device; forked children have the handler, but nothing in them checks the flag.
static OWNER: AtomicI32 = AtomicI32::new(0);
/// The first signal that came, 0 for none, and when, in nanoseconds.
static CAUGHT: AtomicI32 = AtomicI32::new(0);
static SINCE: AtomicU64 = AtomicU64::new(0);
/// Signals that come this soon after the first are the same wish: `timeout` sends one to a process and one to its group, and
/// `warpwatt exec` passes on what it gets.
const TOGETHER: u64 = 500_000_000;

extern "C" fn on_signal(signal: libc::c_int) {
    // SAFETY: plain C calls that are async-signal-safe. The signal is blocked here, and ends the process when this returns.
    unsafe {
        if libc::getpid() != OWNER.load(Ordering::Relaxed) {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
            return;
        }
    }
    let now = now();
    if CAUGHT.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        SINCE.store(now, Ordering::Relaxed);
    } else if now.saturating_sub(SINCE.load(Ordering::Relaxed)) > TOGETHER {
        // The second time, the person means it.
        // SAFETY: `_exit` is async-signal-safe.
        unsafe { libc::_exit(128 + signal) };
    }
    if let Some(flag) = FLAG.get() {
        flag.store(true, Ordering::Relaxed);
    }
}

fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: async-signal-safe, with a place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The signal that our handler got, if one came.
pub fn caught() -> Option<i32> {
    Some(CAUGHT.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}

/// Lets the signals set the flag, unless the program handles or ignores them itself. Returns whether Ctrl-C does now.
pub fn install(flag: &Arc<AtomicBool>) -> bool {
    let _ = FLAG.set(flag.clone());
    OWNER.store(std::process::id() as i32, Ordering::Relaxed);
    handle(libc::SIGTERM);
    handle(libc::SIGHUP);
    handle(libc::SIGINT)
}

/// Handles a signal, unless the program does or ignores it. Returns whether we do now.
fn handle(signal: i32) -> bool {
    // SAFETY: the handler only uses atomics and async-signal-safe calls, and the set-up is plain C data.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &mut before) != 0 || before.sa_sigaction != libc::SIG_DFL
        {
            return false;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &action, std::ptr::null_mut()) == 0
    }
}

/// Ends this process as the signal does, so that whoever waits for it sees the signal.
pub fn die(signal: i32) -> ! {
    // SAFETY: plain C calls; the signal is unblocked and not handled, so that it ends the process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &only, std::ptr::null_mut());
        libc::raise(signal);
        libc::_exit(128 + signal)
    }
}
