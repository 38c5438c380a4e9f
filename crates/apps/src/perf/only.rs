//! The only test of a server that ends after it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Which test it is, and whether it is over. Who only asked for a test has not had it.
#[derive(Debug, Default)]
pub(crate) struct OnlyTest {
    group: Mutex<Option<Group>>,
    over: Notify,
}

/// Associations of one test have the same number.
#[derive(Debug)]
struct Group {
    number: u64,
    members: usize,
    began: bool,
}

/// An association's part in it.
#[derive(Debug)]
pub(crate) struct Member(Arc<OnlyTest>);

impl OnlyTest {
    /// Takes part in the test of this number; `None` while the test is another.
    pub(crate) fn join_test(self: &Arc<Self>, number: u64) -> Option<Member> {
        let mut group = self.lock_group();
        let group = group.get_or_insert(Group { number, members: 0, began: false });
        (group.number == number).then(|| {
            group.members += 1;
            Member(self.clone())
        })
    }

    /// Waits until it is over.
    pub(crate) async fn await_end(&self) {
        self.over.notified().await;
    }

    fn lock_group(&self) -> MutexGuard<'_, Option<Group>> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Member {
    /// Load begins.
    pub(crate) fn begin_load(&self) {
        if let Some(group) = self.0.lock_group().as_mut() {
            group.began = true;
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut group = self.0.lock_group();
        let Some(all) = group.as_mut() else { return };
        all.members -= 1;
        match (all.members, all.began) {
            (0, true) => self.0.over.notify_one(),
            // They left before it began: the next may have it.
            (0, false) => *group = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn is_over(only: &OnlyTest) -> bool {
        tokio::select! {
            biased;
            () = only.await_end() => true,
            () = core::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn one_test_is_had_by_all_of_its_associations() {
        let only = Arc::new(OnlyTest::default());
        let first = only.join_test(1).unwrap();
        assert!(only.join_test(2).is_none());
        let second = only.join_test(1).unwrap();
        second.begin_load();
        drop(first);
        assert!(!is_over(&only).await);
        drop(second);
        assert!(is_over(&only).await && only.join_test(2).is_none());
    }

    #[tokio::test]
    async fn who_leaves_before_it_begins_has_not_had_it() {
        let only = Arc::new(OnlyTest::default());
        drop(only.join_test(1).unwrap());
        assert!(!is_over(&only).await);
        only.join_test(2).unwrap().begin_load();
        assert!(is_over(&only).await);
    }
}
