//! Who works when: a core for each that computes, and results in the order of what they are made of.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use crate::sync::{cores_of_machine, lock, unpoisoned};

/// Cores of the machine, of which each that computes holds one.
#[derive(Debug)]
pub(crate) struct Semaphore {
    /// How many there are.
    most: fn() -> usize,
    state: Mutex<Taken>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Taken {
    cores: usize,
    /// How many wait for one.
    waiting: usize,
}

impl Semaphore {
    /// Those of the machine, all free.
    pub(crate) fn of_machine() -> Self {
        Semaphore { most: cores_of_machine, state: Mutex::default(), freed: Condvar::new() }
    }

    /// Waits for something without the core that the caller holds.
    pub(crate) fn without<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.give();
        let done = wait();
        self.take();
        done
    }

    /// Does something while holding a core.
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
        // To wake nobody takes the system's time as well.
        if state.waiting > 0 {
            self.freed.notify_one();
        }
    }
}

/// A core that is given back, also where the work panics.
struct Core<'c>(&'c Semaphore);

impl<'c> Core<'c> {
    fn of(cores: &'c Semaphore) -> Self {
        cores.take();
        Core(cores)
    }
}

impl Drop for Core<'_> {
    fn drop(&mut self) {
        self.0.give();
    }
}

/// The place of a piece among all: its input, and its place in that.
pub(crate) type PiecePlace = (usize, usize);

/// What pieces come to, dealt with one after the other in the order of the pieces.
#[derive(Debug)]
pub(crate) struct OrderedOutput<T> {
    order: Mutex<Order<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Order<T> {
    /// Whose turn it is.
    now: PiecePlace,
    /// What was left before its turn, with the place whose turn is next.
    left: BTreeMap<PiecePlace, (PiecePlace, T)>,
    /// How many wait.
    waiting: usize,
}

/// How many pieces are left at most: they are held in memory.
const MOST_LEFT: usize = 16;

impl<T> OrderedOutput<T> {
    /// Beginning with the first piece of an input.
    pub(crate) fn from(input: usize) -> Self {
        let order = Order { now: (input, 0), left: BTreeMap::new(), waiting: 0 };
        OrderedOutput { order: Mutex::new(order), changed: Condvar::new() }
    }

    /// Brings what a piece came to. In its turn `deal` is called with it, and then with what others have left whose turns
    /// follow. Before its turn it is left for those to deal with who have the turns before it, where it `can_be_left`, and
    /// else waited for. `last` says that no other piece of the input follows. Should `deal` panic, what is left stays until
    /// somebody brings more or waits.
    pub(crate) fn submit(&self, place: PiecePlace, last: bool, what: T, can_be_left: bool, deal: impl Fn(T)) {
        let next = if last { (place.0 + 1, 0) } else { (place.0, place.1 + 1) };
        let mut order = lock(&self.order);
        if can_be_left && order.now != place && order.left.len() < MOST_LEFT {
            order.left.insert(place, (next, what));
            return;
        }
        let mut own = Some((next, what));
        loop {
            let now = order.now;
            let turn = if now == place { own.take() } else { order.left.remove(&now) };
            order = match turn {
                Some((next, what)) => {
                    drop(order);
                    let passed_on = Passed { turns: self, next };
                    deal(what);
                    drop(passed_on);
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

/// The first piece of an input that failed. What stands before it is worked on all the same, whoever was faster.
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

    /// Whether a piece failed that stands before this one.
    pub(crate) fn is_before(&self, piece: usize) -> bool {
        self.0.load(Ordering::Relaxed) < piece
    }
}

/// A turn that is passed on, also where the work panics.
struct Passed<'t, T> {
    turns: &'t OrderedOutput<T>,
    next: PiecePlace,
}

impl<T> Drop for Passed<'_, T> {
    fn drop(&mut self) {
        let mut order = lock(&self.turns.order);
        order.now = self.next;
        // To wake nobody takes the system's time as well.
        if order.waiting > 0 {
            self.turns.changed.notify_all();
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
        for can_be_left in [false, true] {
            let turns = OrderedOutput::from(0);
            let told = Mutex::new(Vec::new());
            thread::scope(|scope| {
                for place in PLACES {
                    let (turns, told) = (&turns, &told);
                    let last = place.1 == 2 || place == (1, 1);
                    scope.spawn(move || {
                        turns.submit(place, last, place, can_be_left, |place| lock(told).push(place));
                    });
                }
            });
            assert_eq!(*lock(&told), IN_ORDER);
        }
    }

    #[test]
    fn what_is_left_is_dealt_with_by_others_and_is_not_much() {
        let turns = OrderedOutput::from(0);
        let told = Mutex::new(Vec::new());
        let bring = |piece: usize| turns.submit((0, piece), false, piece, true, |piece| lock(&told).push(piece));
        (1..=MOST_LEFT).rev().for_each(bring);
        assert!(lock(&told).is_empty());
        thread::scope(|scope| {
            let one_too_many = scope.spawn(|| bring(MOST_LEFT + 1));
            while lock(&turns.order).waiting == 0 && !one_too_many.is_finished() {
                thread::yield_now();
            }
            // A test that fails here must not wait for ever.
            let waits = !one_too_many.is_finished() && lock(&told).is_empty();
            bring(0);
            assert!(waits);
        });
        assert_eq!(*lock(&told), (0..=MOST_LEFT + 1).collect::<Vec<_>>());
    }

    /// Nobody waits for ever for a turn that nobody has any longer.
    #[test]
    fn a_turn_is_passed_on_by_one_that_panics() {
        let turns = OrderedOutput::from(0);
        let told = Mutex::new(Vec::new());
        let deal = |piece: usize| if piece == 0 { panic!("on purpose") } else { lock(&told).push(piece) };
        turns.submit((0, 1), false, 1, true, deal);
        thread::scope(|scope| {
            scope.spawn(|| turns.submit((0, 2), false, 2, false, deal));
            assert!(scope.spawn(|| turns.submit((0, 0), false, 0, true, deal)).join().is_err());
        });
        assert_eq!(*lock(&told), [1, 2]);
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
        let cores = Semaphore { most: || 2, ..Semaphore::of_machine() };
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
