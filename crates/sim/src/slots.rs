//! Who owns which slot of the event queue.

use crate::end::Side;

/// Links first, then a timer and an application per end, then the world itself, then sources of
/// cross traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    pub(crate) links: usize,
    pub(crate) ends: usize,
    pub(crate) cross: usize,
}

/// What a slot stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    Link(usize),
    Timer(usize, Side),
    App(usize, Side),
    Settle,
    Actions,
    Sample,
    Cross(usize),
}

impl Slots {
    const WORLD: [Slot; 3] = [Slot::Settle, Slot::Actions, Slot::Sample];

    pub(crate) const fn slot_count(self) -> usize {
        self.cross_slot(self.cross)
    }

    pub(crate) const fn timer_slot(self, flow: usize, side: Side) -> usize {
        self.links + 4 * flow + 2 * side as usize
    }

    pub(crate) const fn app_slot(self, flow: usize, side: Side) -> usize {
        self.timer_slot(flow, side) + 1
    }

    pub(crate) const fn settle_slot(self) -> usize {
        self.links + 2 * self.ends
    }

    pub(crate) const fn actions_slot(self) -> usize {
        self.settle_slot() + 1
    }

    pub(crate) const fn sample_slot(self) -> usize {
        self.settle_slot() + 2
    }

    pub(crate) const fn cross_slot(self, source: usize) -> usize {
        self.settle_slot() + Self::WORLD.len() + source
    }

    #[inline]
    pub(crate) fn owner_of(self, slot: usize) -> Slot {
        if slot < self.links {
            return Slot::Link(slot);
        }
        let place = slot - self.links;
        if place >= 2 * self.ends {
            let place = place - 2 * self.ends;
            let beyond = |world: &Slot| *world;
            return Self::WORLD.get(place).map_or(Slot::Cross(place.saturating_sub(3)), beyond);
        }
        let side = if place & 2 == 0 { Side::Client } else { Side::Server };
        if place & 1 == 0 { Slot::Timer(place / 4, side) } else { Slot::App(place / 4, side) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_one_owner() {
        let slots = Slots { links: 3, ends: 4, cross: 2 };
        for (flow, side) in [(0, Side::Client), (0, Side::Server), (1, Side::Client)] {
            let (timer, app) = (slots.timer_slot(flow, side), slots.app_slot(flow, side));
            assert!(matches!(slots.owner_of(timer), Slot::Timer(f, s) if (f, s) == (flow, side)));
            assert!(matches!(slots.owner_of(app), Slot::App(f, s) if (f, s) == (flow, side)));
        }
        assert!(matches!(slots.owner_of(2), Slot::Link(2)));
        assert!(matches!(slots.owner_of(slots.settle_slot()), Slot::Settle));
        assert!(matches!(slots.owner_of(slots.actions_slot()), Slot::Actions));
        assert!(matches!(slots.owner_of(slots.sample_slot()), Slot::Sample));
        assert!(matches!(slots.owner_of(slots.cross_slot(1)), Slot::Cross(1)));
        assert_eq!(slots.cross_slot(1) + 1, slots.slot_count());
    }
}
