//! Who works when: a core for each that computes, and results in the order of what they are made of.

use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::summary::{Answers, Bill, NoAnswer, Reply, Request};

/// A mutex, whatever became of who held it before.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cores of the machine. It takes the system longer to tell than a short conversation takes to be read, so it is asked no
/// sooner than there are two who would work, and once.
pub fn of_machine() -> usize {
    static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    *CORES
}

/// Cores of the machine, of which each that computes holds one.
#[derive(Debug)]
pub struct Cores {
    /// How many there are.
    most: fn() -> usize,
    taken: Mutex<usize>,
    freed: Condvar,
}

impl Cores {
    /// Those of the machine, all free.
    pub fn of_machine() -> Self {
        Cores { most: of_machine, taken: Mutex::new(0), freed: Condvar::new() }
    }

    /// Does something while holding a core.
    pub fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        let _core = Core::of(self);
        work()
    }

    fn take(&self) {
        let none_is_free = |taken: &mut usize| *taken > 0 && *taken >= (self.most)();
        let waited = self.freed.wait_while(locked(&self.taken), none_is_free);
        *waited.unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn give(&self) {
        *locked(&self.taken) -= 1;
        self.freed.notify_one();
    }
}

/// A core that is given back, also where the work panics.
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

/// A summarizer that is waited for without holding a core.
pub struct Aside<'a> {
    /// Whoever answers.
    pub answers: &'a (dyn Answers + Sync),
    /// The cores, of which the caller holds one.
    pub cores: &'a Cores,
}

impl Answers for Aside<'_> {
    fn answer(&self, request: &Request, bill: &mut Bill) -> Result<Reply, NoAnswer> {
        self.cores.give();
        let answer = self.answers.answer(request, bill);
        self.cores.take();
        answer
    }

    fn aside(&self, wait: &mut dyn FnMut()) {
        self.cores.give();
        wait();
        self.cores.take();
    }

    fn identity(&self, request: &Request) -> String {
        self.answers.identity(request)
    }
}

/// The place of a piece among all: its input, and its place in that.
pub type Place = (usize, usize);

/// Whose turn it is.
#[derive(Debug, Default)]
pub struct Turns {
    now: Mutex<Place>,
    changed: Condvar,
}

impl Turns {
    /// Beginning with the first piece of an input.
    pub fn from(input: usize) -> Self {
        Turns { now: Mutex::new((input, 0)), changed: Condvar::new() }
    }

    /// Waits for the turn of a piece, and does what is to be done in it. `last` says that no other piece of the input
    /// follows.
    pub fn at<T>(&self, place: Place, last: bool, work: impl FnOnce() -> T) -> T {
        let next = if last { (place.0 + 1, 0) } else { (place.0, place.1 + 1) };
        drop(self.changed.wait_while(locked(&self.now), |now| *now != place));
        let _passed_on = Passed { turns: self, next };
        work()
    }
}

/// A turn that is passed on, also where the work panics.
struct Passed<'t> {
    turns: &'t Turns,
    next: Place,
}

impl Drop for Passed<'_> {
    fn drop(&mut self) {
        *locked(&self.turns.now) = self.next;
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn pieces_come_in_order_whoever_has_them() {
        let turns = Turns::from(0);
        let told = Mutex::new(Vec::new());
        let places = [(1, 0), (0, 2), (0, 0), (1, 1), (0, 1)];
        thread::scope(|scope| {
            for place in places {
                let (turns, told) = (&turns, &told);
                scope.spawn(move || turns.at(place, place.1 == 2 || place == (1, 1), || locked(told).push(place)));
            }
        });
        assert_eq!(*locked(&told), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]);
    }

    #[test]
    fn no_more_compute_than_there_are_cores() {
        let cores = Cores { most: || 2, ..Cores::of_machine() };
        let (now, most) = (Mutex::new(0), Mutex::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    cores.with(|| {
                        *locked(&now) += 1;
                        let seen = *locked(&now);
                        let before = *locked(&most);
                        *locked(&most) = before.max(seen);
                        thread::yield_now();
                        *locked(&now) -= 1;
                    });
                });
            }
        });
        assert!(*locked(&most) <= 2);
        assert_eq!(*locked(&cores.taken), 0);
    }
}
