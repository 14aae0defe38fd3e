//! Locks that outlive a panic, since every change under a lock is made in one step, and the number of cores.

use std::sync::{LazyLock, LockResult, Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also if a thread panicked while it held the mutex.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// The value of a lock, also if a thread panicked while it held the lock.
pub fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

/// The number of cores. The system takes longer to answer than a short conversation takes to be read, so it is
/// asked once, and only when a second thread could work.
pub fn cores_of_machine() -> usize {
    static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    *CORES
}
