//! The order of work: one core for each worker that computes, and results in the order of their inputs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use crate::sync::{cores_of_machine, lock, unpoisoned};

/// The cores of the machine. Each worker that computes holds one.
#[derive(Debug)]
pub(crate) struct Cores {
    /// Returns the number of cores.
    most: fn() -> usize,
    state: Mutex<Taken>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Taken {
    cores: usize,
    /// The number of workers that wait for a core.
    waiting: usize,
}

impl Cores {
    /// Returns those of this machine.
    pub(crate) fn of_machine() -> Self {
        Cores { most: cores_of_machine, state: Mutex::default(), freed: Condvar::new() }
    }

    /// Runs `wait` without the core that the caller holds.
    pub(crate) fn without<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.give();
        let done = wait();
        self.take();
        done
    }

    /// Runs `work` while holding a core.
    pub(crate) fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        let _core = Core::of(self);
        work()
    }

    fn take(&self) {
        let mut state = lock(&self.state);
        while state.cores > 0 && state.cores >= (self.most)() {
            state.waiting += 1;
            state = unpoisoned(self.freed.wait(state));
            state.waiting -= 1;
        }
        state.cores += 1;
    }

    fn give(&self) {
        let mut state = lock(&self.state);
        state.cores -= 1;
        // Notifying costs a system call even if no worker waits.
        if state.waiting > 0 {
            self.freed.notify_one();
        }
    }
}

/// A held core, which is released also if the work panics.
struct Core<'c>(&'c Cores);

impl<'c> Core<'c> {
    fn of(cores: &'c Cores) -> Self {
        cores.take();
        Core(cores)
    }
}

impl Drop for Core<'_> {
    fn drop(&mut self) {
        self.0.give();
    }
}

/// The place of a piece in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PieceIndex {
    /// The index of its input.
    pub(crate) input: usize,
    /// Its index in that input.
    pub(crate) piece: usize,
}

/// Runs a function on the results of pieces, one after the other, in the order of the pieces.
#[derive(Debug)]
pub(crate) struct OrderedOutput<T> {
    order: Mutex<Order<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Order<T> {
    /// The piece whose turn it is.
    now: PieceIndex,
    /// Results that wait for their turn, each with the piece whose turn is after it.
    waiting_results: BTreeMap<PieceIndex, (PieceIndex, T)>,
    /// The number of workers that wait.
    waiting: usize,
}

/// The most results that wait in memory.
const MOST_WAITING: usize = 16;

impl<T> OrderedOutput<T> {
    /// Returns an empty queue that starts with the first piece of an input.
    pub(crate) fn from(input: usize) -> Self {
        let order = Order { now: PieceIndex { input, piece: 0 }, waiting_results: BTreeMap::new(), waiting: 0 };
        OrderedOutput { order: Mutex::new(order), changed: Condvar::new() }
    }

    /// Submits the result of a piece. When its turn comes, `write` is called with it, and then with the waiting results
    /// that follow. Before its turn, a result that `may_wait` is left to the worker that has the turn before it; the
    /// caller waits with any other. `last` says that no piece of the input follows. If `write` panics, waiting results
    /// stay until the next call.
    pub(crate) fn submit(&self, place: PieceIndex, last: bool, result: T, may_wait: bool, write: impl Fn(T)) {
        let PieceIndex { input, piece } = place;
        let next =
            if last { PieceIndex { input: input + 1, piece: 0 } } else { PieceIndex { input, piece: piece + 1 } };
        let mut order = lock(&self.order);
        if may_wait && order.now != place && order.waiting_results.len() < MOST_WAITING {
            order.waiting_results.insert(place, (next, result));
            return;
        }
        let mut own = Some((next, result));
        loop {
            let now = order.now;
            let turn = if now == place { own.take() } else { order.waiting_results.remove(&now) };
            order = match turn {
                Some((next, result)) => {
                    drop(order);
                    let pass_turn = PassTurn { output: self, next };
                    write(result);
                    drop(pass_turn);
                    lock(&self.order)
                }
                None if own.is_none() => return,
                None => {
                    order.waiting += 1;
                    let mut order = unpoisoned(self.changed.wait(order));
                    order.waiting -= 1;
                    order
                }
            };
        }
    }
}

/// The first piece of an input that failed. Pieces before it are still worked on, whichever worker was faster.
#[derive(Debug)]
pub(crate) struct FirstFailed(AtomicUsize);

impl Default for FirstFailed {
    fn default() -> Self {
        FirstFailed(AtomicUsize::new(usize::MAX))
    }
}

impl FirstFailed {
    /// Notes that a piece failed.
    pub(crate) fn note(&self, piece: usize) {
        self.0.fetch_min(piece, Ordering::Relaxed);
    }

    /// Whether an earlier piece failed.
    pub(crate) fn is_before(&self, piece: usize) -> bool {
        self.0.load(Ordering::Relaxed) < piece
    }
}

/// Passes the turn on when dropped, also if the work panics.
struct PassTurn<'t, T> {
    output: &'t OrderedOutput<T>,
    next: PieceIndex,
}

impl<T> Drop for PassTurn<'_, T> {
    fn drop(&mut self) {
        let mut order = lock(&self.output.order);
        order.now = self.next;
        // Notifying costs a system call even if no worker waits.
        if order.waiting > 0 {
            self.output.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn pieces_come_in_order_whoever_has_them() {
        const PLACES: [(usize, usize); 5] = [(1, 0), (0, 2), (0, 0), (1, 1), (0, 1)];
        const IN_ORDER: [(usize, usize); 5] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)];
        for may_wait in [false, true] {
            let output = OrderedOutput::from(0);
            let written = Mutex::new(Vec::new());
            thread::scope(|scope| {
                for (input, piece) in PLACES {
                    let (output, written) = (&output, &written);
                    let last = piece == 2 || (input, piece) == (1, 1);
                    let place = PieceIndex { input, piece };
                    scope.spawn(move || {
                        output.submit(place, last, (input, piece), may_wait, |place| lock(written).push(place));
                    });
                }
            });
            assert_eq!(*lock(&written), IN_ORDER);
        }
    }

    #[test]
    fn what_is_left_is_dealt_with_by_others_and_is_not_much() {
        let output = OrderedOutput::from(0);
        let written = Mutex::new(Vec::new());
        let submit = |piece: usize| {
            output.submit(PieceIndex { input: 0, piece }, false, piece, true, |piece| lock(&written).push(piece))
        };
        (1..=MOST_WAITING).rev().for_each(submit);
        assert!(lock(&written).is_empty());
        thread::scope(|scope| {
            let one_too_many = scope.spawn(|| submit(MOST_WAITING + 1));
            while lock(&output.order).waiting == 0 && !one_too_many.is_finished() {
                thread::yield_now();
            }
            // If this fails, the test must not wait forever.
            let waits = !one_too_many.is_finished() && lock(&written).is_empty();
            submit(0);
            assert!(waits);
        });
        assert_eq!(*lock(&written), (0..=MOST_WAITING + 1).collect::<Vec<_>>());
    }

    /// No worker waits forever for the turn of one that panicked.
    #[test]
    fn a_turn_is_pass_turn_by_one_that_panics() {
        let output = OrderedOutput::from(0);
        let written = Mutex::new(Vec::new());
        let place = |piece| PieceIndex { input: 0, piece };
        let write = |piece: usize| if piece == 0 { panic!("on purpose") } else { lock(&written).push(piece) };
        output.submit(place(1), false, 1, true, write);
        thread::scope(|scope| {
            scope.spawn(|| output.submit(place(2), false, 2, false, write));
            assert!(scope.spawn(|| output.submit(place(0), false, 0, true, write)).join().is_err());
        });
        assert_eq!(*lock(&written), [1, 2]);
    }

    #[test]
    fn only_what_stands_behind_a_failure_is_left_out() {
        let failed = FirstFailed::default();
        assert!(!failed.is_before(usize::MAX));
        [5, 3, 4].into_iter().for_each(|piece| failed.note(piece));
        assert_eq!([2, 3, 4, 9].map(|piece| failed.is_before(piece)), [false, false, true, true]);
    }

    #[test]
    fn no_more_compute_than_there_are_cores() {
        let cores = Cores { most: || 2, ..Cores::of_machine() };
        let (now, most) = (Mutex::new(0), Mutex::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    cores.with(|| {
                        *lock(&now) += 1;
                        let seen = *lock(&now);
                        let before = *lock(&most);
                        *lock(&most) = before.max(seen);
                        thread::yield_now();
                        *lock(&now) -= 1;
                    });
                });
            }
        });
        assert!(*lock(&most) <= 2);
        assert_eq!(lock(&cores.state).cores, 0);
    }
}
