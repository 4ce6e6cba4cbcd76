// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread in which kernels are compiled and simulated. It has a stack of its own, deep enough for any PTX, whatever thread of
//! the program asks; and a bug of ours ends there as a message instead of unwinding through C.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::core::signals;

const STACK_BYTES: usize = 256 << 20;

type Job = Box<dyn FnOnce() + Send>;

pub struct Worker {
    jobs: Sender<Job>,
    done: Receiver<Option<String>>,
}

impl Worker {
    pub fn start() -> std::io::Result<Worker> {
        let (jobs, inbox) = channel::<Job>();
        let (outbox, done) = channel();
        signals::spawn("warpwatt", STACK_BYTES, move || {
            for job in inbox {
                let outcome = catch_unwind(AssertUnwindSafe(job));
                let message = outcome.err().map(|payload| message(payload.as_ref()));
                if outbox.send(message).is_err() {
                    break;
                }
            }
        })?;
        Ok(Worker { jobs, done })
    }

    /// Runs `work` on the worker's stack and waits for it. A panic becomes its message.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, String> {
        let mut result = None;
        let slot = &mut result;
        let job: Box<dyn FnOnce() + Send + '_> = Box::new(move || *slot = Some(work()));
        // SAFETY: the job is run and dropped before `done` has its answer, or, if the worker is gone, never; this function does
        // not return before, so nothing that the job borrows ends while it runs.
        let job: Job = unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Job>(job) };
        let gone = || "the simulating thread has ended".to_owned();
        self.jobs.send(job).map_err(|_| gone())?;
        match self.done.recv() {
            Ok(None) => result.ok_or_else(gone),
            Ok(Some(message)) => Err(message),
            Err(_) => Err(gone()),
        }
    }
}

/// The message of a panic.
pub fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_borrows_from_its_caller_and_a_panic_is_a_message() {
        let worker = Worker::start().unwrap();
        let mut sum = 0;
        worker.run(|| sum += 5).unwrap();
        assert_eq!(sum, 5);
        assert_eq!(worker.run(|| -> i32 { panic!("oh {}", 1) }), Err("oh 1".to_owned()));
        assert_eq!(worker.run(|| 3), Ok(3), "the worker thread is alive");
    }
}
