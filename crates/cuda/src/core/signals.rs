// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that no signal of the program's reaches: its handlers run in its own threads, as without us.

use std::thread::{Builder, JoinHandle};

/// Starts a thread with all signals blocked.
pub fn spawn(
    name: &str,
    stack_bytes: usize,
    work: impl FnOnce() + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    // SAFETY: plain C structures on the stack; the caller's own mask is put back before anything else happens.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let thread = Builder::new().name(name.to_owned()).stack_size(stack_bytes).spawn(work);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        thread
    }
}
