//! Boxes that translate addresses, at the end of the links of the hosts behind them.

use std::net::{IpAddr, SocketAddr};

use polypath_link::{Nanos, Nat, NatVerdict};
use polypath_proto::FourTuple;

use crate::random::nat_seed;
use crate::results::NatResult;
use crate::spec::NatSpec;

/// All boxes of a world.
#[derive(Debug)]
pub(crate) struct Boxes(Vec<NatBox>);

#[derive(Debug)]
struct NatBox {
    name: String,
    nat: Nat,
}

impl Boxes {
    pub(crate) fn new(specs: &[NatSpec], seed: u64) -> Self {
        let one = |spec: &NatSpec| {
            let nat = Nat::new(spec.config.clone(), nat_seed(seed, &spec.name));
            NatBox { name: spec.name.clone(), nat }
        };
        Self(specs.iter().map(one).collect())
    }

    /// Whom a packet from a host behind box `number` is from, as its receiver sees it; `None` if it
    /// does not get out.
    pub(crate) fn translate_outbound(
        &mut self,
        now: Nanos,
        number: u32,
        arrival: &FourTuple,
    ) -> Option<SocketAddr> {
        self.0.get_mut(number as usize)?.nat.translate_outbound(now, arrival.remote, arrival.local)
    }

    /// What becomes of a packet to the external address of a box; `None` if it goes to none.
    pub(crate) fn translate_inbound(&mut self, now: Nanos, sent: &FourTuple) -> Option<NatVerdict> {
        self.0.iter_mut().for_each(|each| each.nat.advance_schedule(now));
        let mut boxes = self.0.iter_mut();
        let each = boxes.find(|each| each.nat.is_external(sent.remote.ip()))?;
        Some(each.nat.translate_inbound(now, sent.local, sent.remote))
    }

    pub(crate) fn nat_results(&self) -> Vec<NatResult> {
        let result = |each: &NatBox| NatResult::new(each.name.clone(), each.nat.stats());
        self.0.iter().map(result).collect()
    }
}

/// The box that a host's address is behind.
pub(crate) fn number_of(specs: &[NatSpec], address: IpAddr) -> Option<u32> {
    let number = specs.iter().position(|spec| spec.inside.contains(&address))?;
    u32::try_from(number).ok()
}
