//! The way in: the peer's ASCONF and our answers (RFC 5061 section 5.2).

use polypath_wire::{
    AsconfAckChunk, AsconfChunk, COMMON_HEADER_LEN, EncodeChunk as _, Parameter, ParamsBuf,
    RawParam,
};

use crate::association::Association;
use crate::control::{Bundling, ControlChunk};
use crate::extension::asconf::{
    Answering, MAX_ANSWERS, Refusal, correlation_id, named_address, push_error,
};
use crate::ids::FourTuple;
use crate::time::Time;

impl Association {
    /// An authentic ASCONF came from `source.remote`. The answer goes back there, however little we
    /// know of that address.
    pub(in crate::association) fn on_asconf(
        &mut self,
        now: Time,
        source: FourTuple,
        chunk: &AsconfChunk<'_>,
        answering: &mut Answering,
    ) {
        let Some(asconf) = self.asconf.as_deref_mut() else { return };
        if !self.state.may_change_addresses() {
            return;
        }
        let first = answering.chunks == 0;
        answering.chunks += 1;
        let ahead = chunk.serial.wrapping_sub(asconf.peer_serial) as i32;
        if ahead == 1 {
            if first {
                asconf.answers.clear();
            }
            asconf.peer_serial = chunk.serial;
            let answer = self.perform(now, source, chunk);
            if let Some(asconf) = self.asconf.as_deref_mut() {
                asconf.answers.push_back((chunk.serial, answer.clone()));
                if asconf.answers.len() > MAX_ANSWERS {
                    asconf.answers.pop_front();
                }
            }
            self.answer_asconf(source, answer, answering);
        } else if ahead <= 0 {
            // Again, because our answer was lost; or late, and forgotten.
            let known = asconf.answers.iter().find(|(serial, _)| *serial == chunk.serial);
            if let Some(answer) = known.map(|(_, answer)| answer.clone()) {
                self.answer_asconf(source, answer, answering);
            }
        }
    }

    /// Queues an answer, as long as the packet that carries those of one packet stays within the
    /// path MTU (section 5.2, E7).
    fn answer_asconf(&mut self, source: FourTuple, bytes: Vec<u8>, answering: &mut Answering) {
        let arrival = self.paths.by_tuple(&source).filter(|p| !self.paths.is_dormant(*p));
        let path = arrival.unwrap_or_else(|| self.paths.preferred());
        let limit = self.paths.packet_limit(path);
        let room = limit.saturating_sub(COMMON_HEADER_LEN + self.auth_reserve() + answering.bytes);
        if answering.bytes > 0 && bytes.len() > room {
            return;
        }
        answering.bytes += bytes.len().next_multiple_of(4);
        let chunk = match arrival {
            Some(path) => ControlChunk { path, bytes, bundling: Bundling::Free, to: None },
            None => {
                let to = Some(Box::new(self.reachable_from_here(source)));
                ControlChunk { path, bytes, bundling: Bundling::Alone, to }
            }
        };
        self.control.push(chunk);
    }

    /// Where packets arrived, but not from an address that may not speak yet (section 5.3, F1) or
    /// any more (F4).
    fn reachable_from_here(&self, source: FourTuple) -> FourTuple {
        let ip = source.local.ip();
        if self.asconf.as_ref().is_none_or(|asconf| asconf.is_valid(ip)) {
            return source;
        }
        let valid = self.least_used_local(source.remote.ip());
        let Some(local) = valid else { return source };
        let local = core::net::SocketAddr::new(local, self.local_port(local));
        FourTuple { local, ..source }
    }

    /// Performs the requests in their order; gives the ASCONF-ACK.
    fn perform(&mut self, now: Time, source: FourTuple, chunk: &AsconfChunk<'_>) -> Vec<u8> {
        let mut params = ParamsBuf::new();
        let (mut failed, mut failing) = (false, false);
        for raw in chunk.params.iter().map_while(Result::ok) {
            let correlation = correlation_id(&raw);
            let (result, changes) = match raw.decode() {
                Ok(Parameter::AddIp(_) | Parameter::DeleteIp(_)) if failing => {
                    // Section 5.3, F11: once one is refused, so are those behind it.
                    (Err(Refusal::Shortage), true)
                }
                Ok(Parameter::AddIp(request)) => {
                    (self.add_peer_address(now, source, named_address(request, source)), true)
                }
                Ok(Parameter::DeleteIp(request)) => {
                    (self.delete_peer_address(now, source, request.address), true)
                }
                Ok(Parameter::SetPrimary(request)) => {
                    (self.prefer_address(now, named_address(request, source)), false)
                }
                Ok(Parameter::Unknown(_)) => {
                    let action = RawParam::unknown_action(raw.kind);
                    if action.reports_item() {
                        push_error(&mut params, correlation, Refusal::Unknown, &raw);
                        failed = true;
                    }
                    if action.stops_processing() {
                        break;
                    }
                    continue;
                }
                // Parameters of other chunks mean nothing here (section 4.2).
                Ok(_) => continue,
                Err(_) => (Err(Refusal::Malformed), true),
            };
            match result {
                // Silence would mean failure behind a failure (section 5.1, A7).
                Ok(()) if failed => params.push(&Parameter::SuccessIndication(correlation)),
                Ok(()) => {}
                Err(refusal) => {
                    push_error(&mut params, correlation, refusal, &raw);
                    (failed, failing) = (true, failing || changes);
                }
            }
        }
        let mut bytes = Vec::new();
        let ack = AsconfAckChunk { serial: chunk.serial, params: params.as_params() };
        ack.encode(&mut bytes);
        bytes
    }
}
