//! What threads share: locks that outlive a panic, since every change under a lock is made in one step, and how many threads
//! there is work for.

use std::sync::{LazyLock, LockResult, Mutex, MutexGuard, PoisonError};

/// A mutex, whatever became of the thread that held it before.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// What a lock guards, whatever became of the thread that held it before.
pub(crate) fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

/// Cores of the machine. It takes the system longer to tell than a short conversation takes to be read, so it is asked no
/// sooner than there are two who would work, and once.
pub(crate) fn cores_of_machine() -> usize {
    static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    *CORES
}
