//! Lists that take little more memory than they hold: a server has many associations.

use std::collections::VecDeque;

/// Entries for which a list keeps room in any case.
const FEW: usize = 8;

/// Shorter lists double.
const MANY: usize = 64;

/// Appends to a list that grows by a quarter: it is not to take much more than it holds.
#[inline]
pub(super) fn append<T>(list: &mut VecDeque<T>, entry: T) {
    if list.len() == list.capacity() {
        grow(list);
    }
    list.push_back(entry);
}

#[cold]
#[inline(never)]
fn grow<T>(list: &mut VecDeque<T>) {
    let len = list.len();
    list.reserve_exact(if len < MANY { len.max(4) } else { len / 4 });
}

/// Gives back what a list does not need any more, once that is the most of it.
#[inline]
pub(super) fn trim<T>(list: &mut VecDeque<T>) {
    if list.len() < list.capacity() / 2 && list.capacity() > FEW {
        shrink(list);
    }
}

#[cold]
#[inline(never)]
fn shrink<T>(list: &mut VecDeque<T>) {
    list.shrink_to((list.len() + list.len() / 4).max(FEW));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_take_a_quarter_more_than_they_held_and_give_back_what_they_do_not_need() {
        let mut list = VecDeque::new();
        for i in 0..10_000 {
            append(&mut list, i);
            assert!(list.capacity() <= (list.len() + list.len() / 4).max(2 * MANY));
        }
        while list.pop_front().is_some() {
            trim(&mut list);
            assert!(list.capacity() <= (2 * list.len() + 1).max(FEW), "{}", list.len());
        }
    }
}
