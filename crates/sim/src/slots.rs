//! Who owns which slot of the agenda.

use crate::end::Side;

/// Links first, then a timer and an application per end, then the world itself, then sources of cross traffic.
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
    Deeds,
    Sample,
    Cross(usize),
}

impl Slots {
    const WORLD: [Slot; 3] = [Slot::Settle, Slot::Deeds, Slot::Sample];

    pub(crate) const fn count(self) -> usize {
        self.cross(self.cross)
    }

    pub(crate) const fn timer(self, flow: usize, side: Side) -> usize {
        self.links + 4 * flow + 2 * side as usize
    }

    pub(crate) const fn app(self, flow: usize, side: Side) -> usize {
        self.timer(flow, side) + 1
    }

    pub(crate) const fn settle(self) -> usize {
        self.links + 2 * self.ends
    }

    pub(crate) const fn deeds(self) -> usize {
        self.settle() + 1
    }

    pub(crate) const fn sample(self) -> usize {
        self.settle() + 2
    }

    pub(crate) const fn cross(self, source: usize) -> usize {
        self.settle() + Self::WORLD.len() + source
    }

    #[inline]
    pub(crate) fn what(self, slot: usize) -> Slot {
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
            let (timer, app) = (slots.timer(flow, side), slots.app(flow, side));
            assert!(matches!(slots.what(timer), Slot::Timer(f, s) if (f, s) == (flow, side)));
            assert!(matches!(slots.what(app), Slot::App(f, s) if (f, s) == (flow, side)));
        }
        assert!(matches!(slots.what(2), Slot::Link(2)));
        assert!(matches!(slots.what(slots.settle()), Slot::Settle));
        assert!(matches!(slots.what(slots.deeds()), Slot::Deeds));
        assert!(matches!(slots.what(slots.sample()), Slot::Sample));
        assert!(matches!(slots.what(slots.cross(1)), Slot::Cross(1)));
        assert_eq!(slots.cross(1) + 1, slots.count());
    }
}
