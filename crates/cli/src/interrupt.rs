// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stops a run from outside: Ctrl-C, and the time limit. Both set the flag that the device polls; partial results
//! are written afterwards.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Set by the signal handler, which may touch nothing but atomics.
static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// The first signal received; 0 for none.
static SIGNALLED: AtomicI32 = AtomicI32::new(0);

extern "C" fn on_signal(signal: libc::c_int) {
    if SIGNALLED.swap(signal, Ordering::Relaxed) != 0 {
        // The second time, the person means it.
        // SAFETY: `_exit` is async-signal-safe.
        unsafe { libc::_exit(128 + signal) };
    }
    if let Some(flag) = FLAG.get() {
        flag.store(true, Ordering::Relaxed);
    }
}

/// The flag that stops a run; Ctrl-C, SIGTERM and SIGHUP set it from now on, unless they are ignored, as by `nohup`.
pub fn flag() -> Arc<AtomicBool> {
    let flag = FLAG.get_or_init(Arc::default).clone();
    // SAFETY: the handler only uses atomics and `_exit`, and the set-up is plain C data.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before);
            if before.sa_sigaction != libc::SIG_IGN {
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }
    flag
}

/// The signal that terminated the process, if any.
pub fn signalled() -> Option<i32> {
    Some(SIGNALLED.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}

/// A time limit that is in force until dropped.
pub struct Timeout {
    _stop: Sender<()>,
    expired: Arc<AtomicBool>,
}

impl Timeout {
    pub fn start(seconds: f64, flag: Arc<AtomicBool>) -> Timeout {
        let (stop, stopped) = channel::<()>();
        let expired = Arc::new(AtomicBool::new(false));
        let mark = expired.clone();
        std::thread::spawn(move || {
            if stopped.recv_timeout(Duration::from_secs_f64(seconds)) == Err(RecvTimeoutError::Timeout) {
                mark.store(true, Ordering::Relaxed);
                flag.store(true, Ordering::Relaxed);
            }
        });
        Timeout { _stop: stop, expired }
    }

    pub fn expired(&self) -> bool {
        self.expired.load(Ordering::Relaxed)
    }
}
