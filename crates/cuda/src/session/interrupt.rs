// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ctrl-C: sets the flag that the device looks at, so that partial results can be written. Programs that handle it themselves, as
//! Python does, are left alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Set by the handler, which may touch nothing but atomics.
static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static SIGNALLED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: libc::c_int) {
    if SIGNALLED.swap(true, Ordering::Relaxed) {
        // The second time, the person means it.
        // SAFETY: `_exit` is async-signal-safe.
        unsafe { libc::_exit(130) };
    }
    if let Some(flag) = FLAG.get() {
        flag.store(true, Ordering::Relaxed);
    }
}

/// Lets Ctrl-C set the flag, unless the program handles or ignores it itself. Returns whether it does now.
pub fn install(flag: &Arc<AtomicBool>) -> bool {
    let _ = FLAG.set(flag.clone());
    // SAFETY: the handler only uses atomics and `_exit`, and the set-up is plain C data.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGINT, std::ptr::null(), &mut before) != 0
            || before.sa_sigaction != libc::SIG_DFL
        {
            return false;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGINT, &action, std::ptr::null_mut()) == 0
    }
}

/// Ends this process as Ctrl-C does, so that whoever waits for it sees the signal.
pub fn die() -> ! {
    // SAFETY: plain C calls; the signal is unblocked and not handled, so that it ends the process.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_DFL);
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, libc::SIGINT);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &only, std::ptr::null_mut());
        libc::raise(libc::SIGINT);
        libc::_exit(130)
    }
}
