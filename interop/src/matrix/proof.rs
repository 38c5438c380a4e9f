//! What must have happened for a conversation to count, beside that all messages arrived.

use serde_json::Value;

use super::facts::Facts;
use crate::peer::Role;

/// Something that the results or the capture must show.
#[derive(Clone, Copy, Debug)]
pub enum Proof {
    /// The host sent DATA from so many addresses, on each at least a twentieth of its packets with
    /// DATA.
    DataPaths {
        /// Who.
        from: Role,
        /// How many.
        paths: usize,
    },
    /// The host sent such a chunk.
    Chunk {
        /// Who.
        from: Role,
        /// The chunk's type.
        chunk: u8,
    },
    /// Nobody sent such a chunk.
    NoChunk {
        /// The chunk's type.
        chunk: u8,
    },
    /// The host sent such a chunk with one of these flags.
    Flag {
        /// Who.
        from: Role,
        /// The chunk's type.
        chunk: u8,
        /// Flags.
        bits: u8,
    },
    /// Both hosts know so many addresses of the other.
    PeerAddresses(usize),
    /// The host sent something again.
    Retransmitted(Role),
    /// The server noticed so many restarts.
    Restarts(u64),
}

/// The results of both ends.
#[derive(Clone, Debug)]
pub(super) struct Results {
    pub(super) client: Value,
    pub(super) server: Value,
    /// What they said beside.
    pub(super) said: String,
}

impl Results {
    pub(super) const fn result_of(&self, role: Role) -> &Value {
        match role {
            Role::Client => &self.client,
            Role::Server => &self.server,
        }
    }

    /// All of it, in one line.
    pub(super) fn tell_all(&self) -> String {
        let said = self.said.trim().replace('\n', "; ");
        format!("client {}, server {}, said: {said:?}", self.client, self.server)
    }

    fn number_in(&self, role: Role, field: &str) -> u64 {
        self.result_of(role)[field].as_u64().unwrap_or(0)
    }
}

impl Proof {
    /// Whether the results show it, or why not. `None`: they cannot, the capture would have to.
    pub(super) fn by_results(&self, results: &Results) -> Option<Result<(), String>> {
        let shown = match *self {
            Self::PeerAddresses(count) => {
                let known =
                    |role| results.result_of(role)["peer_addresses"].as_array().map_or(0, Vec::len);
                let (client, server) = (known(Role::Client), known(Role::Server));
                let why =
                    format!("of {count} addresses the client knows {client}, the server {server}");
                (client == count && server == count, why)
            }
            Self::Retransmitted(role) => {
                let why = format!("the {} retransmitted nothing", role.name());
                (results.number_in(role, "retransmitted") > 0, why)
            }
            Self::Restarts(count) => {
                let restarts = results.number_in(Role::Server, "restarts");
                (restarts == count, format!("the server noticed {restarts} restarts, not {count}"))
            }
            _ => return None,
        };
        Some(judge_proof(shown))
    }

    /// Whether the capture shows it, or why not. `None`: it does not tell.
    pub(super) fn by_capture(&self, facts: &Facts) -> Option<Result<(), String>> {
        let shown = match *self {
            Self::DataPaths { from, paths } => {
                let used = facts.data_paths(from);
                (
                    used >= paths,
                    format!("the {} sent DATA on {used} paths, not {paths}", from.name()),
                )
            }
            Self::Chunk { from, chunk } => {
                let count = facts.chunks(from, chunk);
                (count > 0, format!("the {} sent no chunk of type {chunk}", from.name()))
            }
            Self::NoChunk { chunk } => {
                let count = facts.chunks(Role::Client, chunk) + facts.chunks(Role::Server, chunk);
                (count == 0, format!("{count} chunks of type {chunk}"))
            }
            Self::Flag { from, chunk, bits } => {
                let flags = facts.flags(from, chunk);
                let why = format!(
                    "flags of the {}'s chunks of type {chunk}: {flags:#04x}, none of {bits:#04x}",
                    from.name()
                );
                (flags & bits != 0, why)
            }
            _ => return None,
        };
        Some(judge_proof(shown))
    }
}

fn judge_proof((shown, why): (bool, String)) -> Result<(), String> {
    if shown { Ok(()) } else { Err(why) }
}
