//! An allocator that counts what each thread holds, held at most, and asked for: tests side by side
//! do not disturb each other.
#![allow(dead_code, reason = "each test uses its part")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with books.
struct Counting;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn note(bytes: i64) {
    // A thread that is being torn down has no counter any more, and nobody asks.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
    if bytes > 0 {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
    }
}

#[expect(
    unsafe_code,
    reason = "counting allocations takes a GlobalAlloc; it hands all through to the system's"
)]
// SAFETY: every call goes to `System` with the arguments it came with; counting touches no memory
// of theirs.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as i64);
        // SAFETY: the caller keeps to `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        note(-(layout.size() as i64));
        // SAFETY: the caller keeps to `dealloc`'s contract.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size as i64 - layout.size() as i64);
        // SAFETY: the caller keeps to `realloc`'s contract.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

pub(crate) const KIB: i64 = 1024;

/// Bytes that this thread holds.
pub(crate) fn held() -> i64 {
    HELD.with(Cell::get)
}

/// The most that it held since [`forget_peak`].
pub(crate) fn peak() -> i64 {
    PEAK.with(Cell::get)
}

/// The peak is what is held now.
pub(crate) fn forget_peak() {
    PEAK.with(|peak| peak.set(held()));
}

/// Allocations of this thread so far.
pub(crate) fn calls() -> u64 {
    CALLS.with(Cell::get)
}
