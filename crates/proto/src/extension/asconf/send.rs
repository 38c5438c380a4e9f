//! The ASCONF chunk that goes out, and the path that it takes (RFC 5061 sections 5.1 and 5.3).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use polypath_wire::param::AsconfRequest;
use polypath_wire::{AsconfChunk, EncodeChunk as _, Parameter, ParamsBuf};

use super::local_address::Standing;
use super::request::{Outstanding, Request, Wanted};
use super::state::Asconf;
use crate::control::{Bundling, ControlQueue, Encoded};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::time::Time;
use crate::view::PathState;

impl Asconf {
    /// Makes a chunk of the next requests, in `room` bytes. It waits for its answer from now on.
    pub(crate) fn begin_next(
        &mut self,
        path: PathId,
        room: usize,
        paths: &PathSet,
        behind_nat: bool,
    ) {
        let requests = self.take_next_requests(room);
        let serial = self.next_serial;
        self.next_serial = serial.wrapping_add(1);
        let lookup = self.lookup_address(paths.get(path).map(|path| path.tuple.local.ip()));
        let chunk = encode(serial, announced_form(lookup, behind_nat), &requests, behind_nat);
        self.outstanding = Some(Outstanding { serial, requests, chunk, path });
    }

    /// Sends the outstanding chunk on `path` and starts T4, which expires at `expiry`.
    pub(crate) fn transmit(
        &mut self,
        path: PathId,
        expiry: Time,
        paths: &PathSet,
        control: &mut ControlQueue,
    ) {
        let Some(outstanding) = &mut self.outstanding else { return };
        outstanding.path = path;
        self.t4 = expiry;
        let bundling = if paths.is_confirmed(path) { Bundling::Free } else { Bundling::Alone };
        control.send(path, &Encoded(&outstanding.chunk), bundling);
    }

    /// An address of ours that the peer knows, by which it finds the association (section 4.1.1):
    /// that of the path (`own`) if it can be, or one that is on its way out (section 5.3.2).
    fn lookup_address(&self, own: Option<IpAddr>) -> IpAddr {
        let first = |standing| self.locals.iter().find(|l| l.standing == standing).map(|l| l.ip);
        own.filter(|ip| self.is_valid(*ip))
            .or_else(|| first(Standing::Valid))
            .or_else(|| first(Standing::Deleting))
            .or(own)
            .unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }
}

fn encode(serial: u32, address: IpAddr, requests: &[Request], behind_nat: bool) -> Vec<u8> {
    let params: ParamsBuf = requests
        .iter()
        .map(|r| {
            let (correlation, address) = (r.correlation, announced_form(r.ip, behind_nat));
            let request = AsconfRequest { correlation, address };
            match r.wanted {
                Wanted::Add => Parameter::AddIp(request),
                Wanted::Primary => Parameter::SetPrimary(request),
                Wanted::Delete => Parameter::DeleteIp(request),
            }
        })
        .collect();
    let mut bytes = Vec::new();
    AsconfChunk { serial, address, params: params.as_params() }.encode(&mut bytes);
    bytes
}

/// An address as the peer is told it. Behind a NAT our addresses mean nothing to the peer: the
/// packet's source does (RFC 6951 section 4.1), for which the wildcard stands.
const fn announced_form(ip: IpAddr, behind_nat: bool) -> IpAddr {
    match ip {
        _ if !behind_nat => ip,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

/// The path for an ASCONF, another than `not` if possible. Paths from addresses that are being
/// deleted are gone (section 5.3, F6); one from an address that is being added will do if there is
/// no better one (F1).
///
/// Behind a NAT, an addition must come from the address itself, since that is what it names.
pub(crate) fn choose_path(
    paths: &PathSet,
    behind_nat: bool,
    not: Option<PathId>,
) -> Option<PathId> {
    let others = || paths.live().filter(|p| Some(*p) != not);
    let usable = |p: &PathId| paths.view(*p).is_some_and(|v| v.usable);
    let active = |p: &PathId| paths.view(*p).is_some_and(|v| v.state == PathState::Active);
    if behind_nat && let Some(p) = others().find(|p| paths.is_dormant(*p)) {
        return Some(p);
    }
    let preferred = paths.preferred();
    let preferred = others().find(|p| *p == preferred && usable(p));
    preferred
        .or_else(|| others().find(active))
        .or_else(|| others().find(usable))
        .or_else(|| others().find(|p| paths.is_dormant(*p)))
        .or_else(|| others().find(|p| paths.is_confirmed(*p)))
        .or_else(|| others().next())
        .or(not)
}
