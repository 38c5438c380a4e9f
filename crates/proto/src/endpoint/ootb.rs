//! Packets "out of the blue": correct ones that belong to no association (RFC 9260 section 8.4).

use polypath_wire::cause::code;
use polypath_wire::chunk::kind;
use polypath_wire::{Chunk, PacketView, RawChunk};

use super::Endpoint;
use super::reply::Address;
use super::tag::has_chunk;
use crate::handshake::is_unicast;
use crate::ids::FourTuple;
use crate::time::Time;

impl Endpoint {
    /// Answers a packet that starts with neither INIT nor COOKIE ECHO.
    pub(super) fn on_out_of_the_blue(
        &mut self,
        now: Time,
        tuple: FourTuple,
        packet: &PacketView<'_>,
    ) {
        self.stats.out_of_the_blue += 1;
        let to = self.reflected(tuple, packet);
        match answer(tuple, packet) {
            Answer::None => {}
            Answer::ShutdownComplete => {
                self.replies.reflected_complete(now, to, &mut self.stats);
            }
            Answer::Abort => self.replies.reflected_abort(now, to, &mut self.stats),
        }
    }

    /// A packet for an SCTP port that is not ours.
    pub(super) fn on_other_port(&mut self, now: Time, tuple: FourTuple, packet: &PacketView<'_>) {
        if !self.config.refuse_other_ports || !self.is_ours(tuple) {
            self.stats.out_of_the_blue += 1;
            return;
        }
        let mut chunks = packet.chunks().map_while(Result::ok);
        match (chunks.next().map(|raw| raw.decode()), chunks.next()) {
            (Some(Ok(Chunk::Init(init))), None)
                if is_answerable(tuple, packet) && init.fixed.initiate_tag != 0 =>
            {
                self.stats.out_of_the_blue += 1;
                let to = Address { tag: init.fixed.initiate_tag, ..self.reflected(tuple, packet) };
                self.replies.abort(now, to, None, &mut self.stats);
            }
            _ => self.on_out_of_the_blue(now, tuple, packet),
        }
    }

    /// Back to where the packet came from, with its own tag.
    pub(super) fn reflected(&self, tuple: FourTuple, packet: &PacketView<'_>) -> Address {
        let header = packet.header();
        Address {
            tuple,
            local_port: header.destination_port,
            peer_port: header.source_port,
            tag: header.verification_tag,
        }
    }
}

/// Whether an INIT may be answered at all.
fn is_answerable(tuple: FourTuple, packet: &PacketView<'_>) -> bool {
    let unicast = is_unicast(tuple.remote.ip()) && is_unicast(tuple.local.ip());
    unicast && packet.header().verification_tag == 0
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    None,
    ShutdownComplete,
    Abort,
}

/// The answer, by the order of the RFC's list.
fn answer(tuple: FourTuple, packet: &PacketView<'_>) -> Answer {
    if !is_unicast(tuple.remote.ip()) || !is_unicast(tuple.local.ip()) {
        return Answer::None;
    }
    // Tag 0 belongs to a lone INIT (section 8.5.1 A); a chunk that does not even have a border is not worth an answer.
    let broken = packet.chunks().any(|chunk| chunk.is_err());
    if broken || packet.header().verification_tag == 0 {
        return Answer::None;
    }
    if has_chunk(packet, kind::ABORT) || has_chunk(packet, kind::INIT) {
        return Answer::None;
    }
    // Behind an AUTH chunk: we never asked for authentication, so this cannot be for us.
    if has_chunk(packet, kind::COOKIE_ECHO) {
        return Answer::None;
    }
    if has_chunk(packet, kind::SHUTDOWN_ACK) {
        return Answer::ShutdownComplete;
    }
    if has_chunk(packet, kind::SHUTDOWN_COMPLETE) || has_chunk(packet, kind::COOKIE_ACK) {
        return Answer::None;
    }
    if packet.chunks().map_while(Result::ok).any(|chunk| is_stale_cookie(&chunk)) {
        return Answer::None;
    }
    Answer::Abort
}

fn is_stale_cookie(chunk: &RawChunk<'_>) -> bool {
    let Ok(Chunk::Error(error)) = chunk.decode() else { return false };
    error.causes.iter().map_while(Result::ok).any(|cause| cause.code == code::STALE_COOKIE)
}
