//! Locks that outlive a panic: what another thread left is whole, since every change under a lock is made in one step.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

/// A mutex, whatever became of the thread that held it before.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// What a lock guards, whatever became of the thread that held it before.
pub fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}
