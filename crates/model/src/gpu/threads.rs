// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs actors in rounds, an epoch each, on several threads.
//!
//! Every thread has a list of actors that it works off first, so that their state stays in its cache; a thread that is through with its own
//! list helps with the others'. A round is over when all actors have run, not when all threads have come by: a thread that the
//! system suspends delays no other thread unless it is in the middle of an actor. Which thread runs an actor makes no difference to the actor.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::thread::{self, Thread};

/// Turns of a waiting thread that only touch the processor, and those that then offer it to others, before it goes to sleep.
const SPINS: u32 = 1000;
const YIELDS: u32 = 100;

/// What follows a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A round on all threads.
    All,
    /// A round with so little to do that the caller's thread does it alone, without waking the others.
    Alone,
    /// No further round.
    Stop,
}

/// Parts of actors, one for each actor of a kind, that different threads work on at the same time.
///
/// In a round, an item is accessed only by the one thread that runs the actor it belongs to, through [`Cells::get`]. Between
/// rounds, all items are accessed by `&mut`, through [`Cells::as_mut_slice`].
pub struct Cells<T>(Box<[UnsafeCell<T>]>);

// SAFETY: sharing `Cells` gives access to items through `get` alone, whose callers promise that no item is used by two at a time. All
// that is left is that items are used on one thread after the other.
unsafe impl<T: Send> Sync for Cells<T> {}

impl<T> FromIterator<T> for Cells<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Cells(items.into_iter().map(UnsafeCell::new).collect())
    }
}

impl<T> Cells<T> {
    /// The item, for the thread that runs the actor it belongs to.
    ///
    /// # Safety
    /// As long as the reference lives, there must be no other to the same item. In a round of [`rounds`] this holds if `work` gets an
    /// item for no actor but its own, and once.
    #[expect(clippy::mut_from_ref, reason = "that is what this type is for; see the safety section")]
    pub unsafe fn get(&self, index: usize) -> &mut T {
        // SAFETY: by the caller's promise there is no other reference.
        unsafe { &mut *self.0[index].get() }
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let cells: *mut [UnsafeCell<T>] = &raw mut *self.0;
        // SAFETY: `UnsafeCell<T>` has the layout of `T`, and `self` is borrowed for as long as the result.
        unsafe { &mut *(cells as *mut [T]) }
    }
}

/// Runs `work` for all `actors` of a round, on up to `threads` threads (the caller's is one), then `between`, alone, which decides
/// about the next round; the first is on all threads. Actors with much to do should come first.
///
/// A panic in `work` ends it all with the panic of the lowest actor that had one.
pub fn rounds<S: Sync>(
    threads: usize,
    state: &mut S,
    actors: usize,
    work: impl Fn(&S, usize) + Sync,
    mut between: impl FnMut(&mut S) -> Next,
) {
    let threads = threads.min(actors);
    if threads <= 1 {
        loop {
            (0..actors).for_each(|actor| work(state, actor));
            if between(state) == Next::Stop {
                return;
            }
        }
    }
    let crew = Crew::new(threads, actors, state, &work);
    let trouble = thread::scope(|scope| {
        let crew = &crew;
        // If the system refuses a thread, the others work off its list.
        let helpers: Vec<_> = (1..threads)
            .filter_map(|home| thread::Builder::new().spawn_scoped(scope, move || crew.serve(home)).ok())
            .collect();
        let dismissal =
            Dismissal { crew, helpers: helpers.iter().map(|helper| helper.thread().clone()).collect() };
        let mut own = None;
        crew.open(&dismissal.helpers);
        loop {
            let done = crew.work_off(0, &mut own);
            crew.wait_for_others(done);
            let mut next = Next::Stop;
            while !crew.troubled.load(Relaxed) {
                // SAFETY: all actors have run and no list is open, so no other thread refers to the state.
                let state = unsafe { &mut *crew.state };
                next = between(state);
                if next != Next::Alone {
                    break;
                }
                (0..actors).for_each(|actor| work(state, actor));
            }
            if next == Next::Stop || crew.troubled.load(Relaxed) {
                break;
            }
            crew.open(&dismissal.helpers);
        }
        drop(dismissal);
        let others = helpers.into_iter().filter_map(|helper| match helper.join() {
            Ok(trouble) => trouble,
            Err(payload) => Some(Trouble { actor: usize::MAX, payload }),
        });
        others.chain(own).min_by_key(|trouble| trouble.actor)
    });
    if let Some(trouble) = trouble {
        resume_unwind(trouble.payload);
    }
}

/// A panic of an actor.
struct Trouble {
    actor: usize,
    payload: Box<dyn Any + Send>,
}

/// In a cache line of its own, and apart from the neighbour that processors fetch along.
#[repr(align(128))]
struct Apart<T>(T);

/// What the threads of a call of [`rounds`] share.
struct Crew<'a, S, W> {
    threads: usize,
    actors: usize,
    state: *mut S,
    work: &'a W,
    /// How many actors of each thread's list have been given out. Thread `t` of `n` has the actors t, t + n, t + 2n and so on.
    given: Vec<Apart<AtomicUsize>>,
    /// Actors of this round that threads other than the leader have run.
    done: Apart<AtomicUsize>,
    /// Rounds opened; waiting threads read it.
    round: Apart<AtomicU64>,
    asleep: Vec<Apart<AtomicBool>>,
    stop: AtomicBool,
    troubled: AtomicBool,
}

// SAFETY: `state` is all that is not shareable by itself. A thread refers to it while it runs an actor that it was given, the leader by
// `&mut` when all actors of the round are done; `open` and `done` order the two.
unsafe impl<S: Sync, W: Sync> Sync for Crew<'_, S, W> {}

impl<'a, S: Sync, W: Fn(&S, usize) + Sync> Crew<'a, S, W> {
    fn new(threads: usize, actors: usize, state: &mut S, work: &'a W) -> Self {
        Crew {
            threads,
            actors,
            state,
            work,
            given: (0..threads).map(|_| Apart(AtomicUsize::new(usize::MAX / 2))).collect(),
            done: Apart(AtomicUsize::new(0)),
            round: Apart(AtomicU64::new(0)),
            asleep: (0..threads).map(|_| Apart(AtomicBool::new(false))).collect(),
            stop: AtomicBool::new(false),
            troubled: AtomicBool::new(false),
        }
    }

    /// Offers all actors to all threads. Until all are done, the state belongs to the threads that run them.
    fn open(&self, helpers: &[Thread]) {
        self.done.0.store(0, Relaxed);
        // Changes of the state so far are visible to threads that are given an actor.
        self.given.iter().for_each(|given| given.0.store(0, Release));
        self.call(helpers);
    }

    /// Starts a round on the other threads, or ends them.
    fn call(&self, helpers: &[Thread]) {
        // Either this sees that a thread is asleep, or the thread sees the new round before it sleeps.
        self.round.0.fetch_add(1, SeqCst);
        for (asleep, helper) in self.asleep.iter().skip(1).zip(helpers) {
            if asleep.0.load(SeqCst) {
                helper.unpark();
            }
        }
    }

    /// Runs what is left of the own list, then of the others'. Gives how many actors that were.
    fn work_off(&self, home: usize, trouble: &mut Option<Trouble>) -> usize {
        let mut count = 0;
        for list in (home..self.threads).chain(0..home) {
            while let Some(actor) = self.claim(list) {
                // SAFETY: the actor was given to this thread and is not done, so the leader does not have the state by `&mut`.
                let state = unsafe { &*self.state };
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| (self.work)(state, actor))) {
                    if trouble.as_ref().is_none_or(|earlier| actor < earlier.actor) {
                        *trouble = Some(Trouble { actor, payload });
                    }
                    self.troubled.store(true, Relaxed);
                }
                count += 1;
            }
        }
        count
    }

    fn claim(&self, list: usize) -> Option<usize> {
        let given = &self.given[list].0;
        let actor = |nth: usize| nth.saturating_mul(self.threads).saturating_add(list);
        // Late threads only read: a write would take the cache line away from others.
        if actor(given.load(Relaxed)) >= self.actors {
            return None;
        }
        let actor = actor(given.fetch_add(1, Acquire));
        (actor < self.actors).then_some(actor)
    }

    /// The loop of a thread other than the leader.
    fn serve(&self, home: usize) -> Option<Trouble> {
        let (mut trouble, mut seen) = (None, 0);
        while !self.stop.load(Acquire) {
            let count = self.work_off(home, &mut trouble);
            if count > 0 {
                self.done.0.fetch_add(count, Release);
            }
            seen = self.wait_for_news(home, seen);
        }
        trouble
    }

    fn wait_for_news(&self, home: usize, seen: u64) -> u64 {
        let mut turn = 0;
        loop {
            let round = self.round.0.load(SeqCst);
            if round != seen {
                self.asleep[home].0.store(false, Relaxed);
                return round;
            }
            if turn < SPINS + YIELDS {
                pause(&mut turn);
            } else if !self.asleep[home].0.swap(true, SeqCst) {
                // It is marked asleep; the round is read once more before that.
            } else {
                thread::park();
            }
        }
    }

    /// The leader's wait for the end of a round, of which it has run `own` actors itself.
    fn wait_for_others(&self, own: usize) {
        let mut turn = 0;
        while self.done.0.load(Acquire) != self.actors - own {
            pause(&mut turn);
        }
    }
}

/// One turn of waiting.
fn pause(turn: &mut u32) {
    *turn = turn.saturating_add(1);
    if *turn < SPINS { std::hint::spin_loop() } else { thread::yield_now() }
}

/// Ends the threads, also if the leader panics: otherwise it would wait for them for ever.
struct Dismissal<'a, 'b, S: Sync, W: Fn(&S, usize) + Sync> {
    crew: &'a Crew<'b, S, W>,
    helpers: Vec<Thread>,
}

impl<S: Sync, W: Fn(&S, usize) + Sync> Drop for Dismissal<'_, '_, S, W> {
    fn drop(&mut self) {
        self.crew.stop.store(true, Release);
        self.crew.call(&self.helpers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Actors that each fold the round and their own past into a number, and a record of who ran them.
    struct State {
        values: Cells<u64>,
        ran_on: Cells<Option<thread::ThreadId>>,
        round: u64,
    }

    fn state(actors: usize) -> State {
        State { values: (0..actors as u64).collect(), ran_on: (0..actors).map(|_| None).collect(), round: 0 }
    }

    fn work(state: &State, actor: usize) {
        // SAFETY: each actor gets its own items, once.
        let (value, ran_on) = unsafe { (state.values.get(actor), state.ran_on.get(actor)) };
        *value = (*value ^ state.round).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(actor as u32);
        *ran_on = Some(thread::current().id());
    }

    fn mixed(threads: usize, actors: usize, last: u64) -> Vec<u64> {
        let mut state = state(actors);
        rounds(threads, &mut state, actors, work, |state| {
            state.round += 1;
            let values = state.values.as_mut_slice();
            let sum = values.iter().fold(0, |sum: u64, &value| sum.rotate_left(1) ^ value);
            if let Some(first) = values.first_mut() {
                *first ^= sum;
            }
            match state.round {
                round if round == last => Next::Stop,
                round if round % 7 < 3 => Next::Alone,
                _ => Next::All,
            }
        });
        state.values.as_mut_slice().to_vec()
    }

    #[test]
    fn results_are_the_same_on_any_number_of_threads() {
        for actors in [0, 1, 2, 21] {
            let alone = mixed(1, actors, 2000);
            for threads in [2, 3, 5, 64] {
                assert_eq!(mixed(threads, actors, 2000), alone, "{actors} actors, {threads} threads");
            }
        }
    }

    #[test]
    fn a_round_for_one_stays_on_the_thread_of_the_caller() {
        let mut state = state(21);
        let caller = Some(thread::current().id());
        rounds(3, &mut state, 21, work, |state| {
            state.round += 1;
            if state.round > 1 {
                assert!(state.ran_on.as_mut_slice().iter().all(|&ran_on| ran_on == caller));
            }
            if state.round == 500 { Next::Stop } else { Next::Alone }
        });
        assert_eq!(state.round, 500);
    }

    #[test]
    fn all_threads_get_work() {
        let mut state = state(3);
        // Actors of a round wait for each other, which ends only if three threads run them at the same time.
        let together = std::sync::Barrier::new(3);
        let mut seen = 0;
        let wait = |state: &State, actor: usize| {
            together.wait();
            work(state, actor);
        };
        rounds(3, &mut state, 3, wait, |state| {
            state.round += 1;
            let mut threads: Vec<_> = state.ran_on.as_mut_slice().to_vec();
            threads.dedup();
            seen = threads.len();
            if state.round == 100 { Next::Stop } else { Next::All }
        });
        assert_eq!(seen, 3);
    }

    fn panic_of(threads: usize, bad: &[usize], in_round: u64) -> String {
        let payload = catch_unwind(|| {
            let mut state = state(21);
            let work = |state: &State, actor: usize| {
                work(state, actor);
                if state.round == in_round && bad.contains(&actor) {
                    // Not `panic!`, which would print each of them.
                    resume_unwind(Box::new(format!("actor {actor}")));
                }
            };
            rounds(threads, &mut state, 21, work, |state| {
                state.round += 1;
                match state.round {
                    1000 => Next::Stop,
                    500 => Next::Alone,
                    _ => Next::All,
                }
            });
        });
        *payload.expect_err("a panic").downcast().expect("our message")
    }

    #[test]
    fn a_panic_of_an_actor_reaches_the_caller() {
        for threads in [1, 2, 3] {
            for round in [0, 300, 500] {
                assert_eq!(panic_of(threads, &[20], round), "actor 20");
                assert_eq!(panic_of(threads, &[7, 8, 19], round), "actor 7");
            }
        }
    }

    #[test]
    fn a_panic_between_rounds_reaches_the_caller() {
        let payload = catch_unwind(|| {
            rounds(3, &mut state(21), 21, work, |_| resume_unwind(Box::new("between")));
        });
        assert_eq!(payload.expect_err("a panic").downcast_ref(), Some(&"between"));
    }
}
