//! A list that takes one word, and none beside it where it is empty.

use std::ops::{Deref, DerefMut};

/// A list of a fixed length. A boxed slice takes two words, and a transcript can have a million messages of which most
/// have no calls and no results.
#[derive(Debug, Clone)]
pub struct ThinList<T>(Option<Box<Box<[T]>>>);

impl<T> Default for ThinList<T> {
    fn default() -> Self {
        ThinList(None)
    }
}

impl<T> Deref for ThinList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Some(elements) => elements,
            None => &[],
        }
    }
}

impl<T> DerefMut for ThinList<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Some(elements) => elements,
            None => &mut [],
        }
    }
}

impl<T> From<Vec<T>> for ThinList<T> {
    fn from(elements: Vec<T>) -> Self {
        ThinList(if elements.is_empty() { None } else { Some(Box::new(elements.into())) })
    }
}

impl<T, const LENGTH: usize> From<[T; LENGTH]> for ThinList<T> {
    fn from(elements: [T; LENGTH]) -> Self {
        Vec::from(elements).into()
    }
}

impl<T> FromIterator<T> for ThinList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        elements.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T> IntoIterator for ThinList<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        match self.0 {
            Some(elements) => elements.into_vec().into_iter(),
            None => Vec::new().into_iter(),
        }
    }
}

impl<'l, T> IntoIterator for &'l ThinList<T> {
    type Item = &'l T;
    type IntoIter = std::slice::Iter<'l, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'l, T> IntoIterator for &'l mut ThinList<T> {
    type Item = &'l mut T;
    type IntoIter = std::slice::IterMut<'l, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
