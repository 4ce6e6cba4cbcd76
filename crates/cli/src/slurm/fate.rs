// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of a point whose task is over and whose result is not there: it is submitted again, with more memory where that was what was missing, or it has failed.

use super::batch::Limits;
use super::queue::End;

/// Times that a task may end by itself while a point runs.
const TRIES: u32 = 3;
/// Times that a task may be taken away by the cluster while a point runs.
const LOST_TRIES: u32 = 10;

/// A task that is over.
pub struct Case<'a> {
    pub end: &'a End,
    /// What its batch was allowed.
    pub limits: Limits,
    /// What the settings say a task has.
    pub memory_mb: u64,
    /// It ran a point to its end, the last time that it was started.
    pub ran_others: bool,
    /// A point of it was begun.
    pub began: bool,
    /// Why it could run nothing, in its own words.
    pub refused: Option<&'a str>,
    /// It was over before this process came: what happened to it is no answer to the command that runs now.
    pub before: bool,
    /// The last lines that it printed.
    pub printed: &'a str,
}

/// What is done about a point.
#[derive(Clone, PartialEq, Debug)]
pub enum Fate {
    Again { tries: u32, memory_mb: u64 },
    Failed(String),
}

impl Case<'_> {
    /// The fate of one of its points, which was under way or was not, and whose task ended so many times before while it ran.
    pub fn fate(&self, running: bool, tries: u32) -> Fate {
        let again = |tries| Fate::Again { tries, memory_mb: self.memory_mb };
        if self.before && (*self.end == End::Cancelled || self.refused.is_some()) {
            return again(0);
        }
        if let Some(reason) = self.refused.filter(|_| !self.end.is_memory()) {
            return Fate::Failed(reason.to_owned());
        }
        if *self.end == End::Cancelled {
            return Fate::Failed("its job was cancelled; repeat the command to submit it again".to_owned());
        }
        // What waited for another point is run again; a task that began none is tried a few times, like a point that ends its task.
        if !running && self.began {
            return again(tries);
        }
        if running && self.end.is_memory() {
            let Limits { memory_mb, .. } = self.limits;
            return match memory_mb > self.memory_mb {
                false => Fate::Again { tries, memory_mb: memory_mb.saturating_mul(2) },
                true => Fate::Failed(format!(
                    "killed because it exceeded its memory: {} MB were not enough, nor were {memory_mb}; raise `memory` in `[slurm]`",
                    self.memory_mb
                )),
            };
        }
        if running && *self.end == End::Timeout && !self.ran_others {
            let minutes = self.limits.time_minutes;
            return Fate::Failed(format!(
                "it did not end within {minutes} minutes, the time limit of its task; raise `time` in `[slurm]`"
            ));
        }
        let most = if matches!(self.end, End::Lost(_)) { LOST_TRIES } else { TRIES };
        match tries + 1 < most {
            true => again(tries + 1),
            false => {
                let what = if running { "while it ran" } else { "before it began" };
                let printed =
                    if self.printed.is_empty() { String::new() } else { format!(": {}", self.printed) };
                Fate::Failed(format!(
                    "its task ended {most} times {what}, with {}{printed}",
                    self.end.shown()
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(end: &End) -> Case<'_> {
        Case {
            end,
            limits: Limits { memory_mb: 1000, time_minutes: 60 },
            memory_mb: 1000,
            ran_others: false,
            began: true,
            refused: None,
            before: false,
            printed: "",
        }
    }

    fn again(tries: u32, memory_mb: u64) -> Fate {
        Fate::Again { tries, memory_mb }
    }

    #[test]
    fn memory_is_doubled_once_for_what_ran() {
        for end in
            [End::OutOfMemory, End::Failed { code: 0, signal: 9 }, End::Failed { code: 137, signal: 0 }]
        {
            assert_eq!(case(&end).fate(true, 0), again(0, 2000));
            assert_eq!(case(&end).fate(false, 0), again(0, 1000), "others need no more");
            let mut second = case(&end);
            second.limits.memory_mb = 2000;
            let Fate::Failed(reason) = second.fate(true, 0) else { panic!("once is enough") };
            assert!(reason.contains("1000 MB were not enough, nor were 2000"), "{reason}");
        }
    }

    #[test]
    fn what_was_lost_or_not_begun_is_run_again() {
        let lost = End::Lost("NODE_FAIL".to_owned());
        assert_eq!(case(&lost).fate(true, 0), again(1, 1000));
        assert_eq!(case(&lost).fate(false, 0), again(0, 1000));
        assert_eq!(case(&lost).fate(true, 5), again(6, 1000), "a cluster may lose nodes often");
        assert!(matches!(case(&lost).fate(true, 9), Fate::Failed(_)));
        let crash = End::Failed { code: 1, signal: 0 };
        assert_eq!(case(&crash).fate(true, 1), again(2, 1000));
        assert!(matches!(case(&crash).fate(true, 2), Fate::Failed(_)));
        // Results that a completed task never delivered, and a task that never ran.
        assert_eq!(case(&End::Completed).fate(false, 0), again(0, 1000));
        let never = Case { began: false, printed: "warpwatt: not found", ..case(&crash) };
        assert_eq!(never.fate(false, 0), again(1, 1000));
        let Fate::Failed(reason) = never.fate(false, 2) else { panic!("it ends") };
        assert!(reason.contains("3 times before it began") && reason.contains("not found"), "{reason}");
        for end in [End::OutOfMemory, End::Timeout, End::Unknown, End::Completed] {
            let never = Case { began: false, ..case(&end) };
            assert!(matches!(never.fate(false, 2), Fate::Failed(_)), "{end:?} ends");
        }
    }

    #[test]
    fn a_point_that_takes_a_whole_time_limit_has_failed() {
        assert!(
            matches!(case(&End::Timeout).fate(true, 0), Fate::Failed(reason) if reason.contains("60 minutes"))
        );
        let late = Case { ran_others: true, ..case(&End::Timeout) };
        assert_eq!(late.fate(true, 0), again(1, 1000), "it was begun late");
        assert_eq!(case(&End::Timeout).fate(false, 0), again(0, 1000));
    }

    #[test]
    fn what_was_cancelled_or_refused_is_not_run_again_by_itself() {
        assert!(matches!(case(&End::Cancelled).fate(false, 0), Fate::Failed(_)));
        let other = Case { refused: Some("another build"), ..case(&End::Failed { code: 2, signal: 0 }) };
        assert_eq!(other.fate(false, 0), Fate::Failed("another build".to_owned()));
        // The next command is an answer to that.
        assert_eq!(Case { before: true, ..case(&End::Cancelled) }.fate(true, 2), again(0, 1000));
    }
}
