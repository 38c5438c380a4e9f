//! What `forward` and `serve` tell while they run: lines for people on stderr, or JSON on stdout.

use schemars::JsonSchema;
use serde::Serialize;

use crate::output;
use crate::talk::Talk;

/// What happened, as `--json` prints it, one a line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Event {
    /// What it is.
    event: Kind,
    /// In words.
    text: String,
    /// At `listening` and `remote-listening`: the port; 0 of a Unix socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
}

/// Kinds of [`Event`]s.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Connections are taken at a place of this host.
    Listening,
    /// There is an association.
    Connected,
    /// It ended, or none came about.
    Disconnected,
    /// The server takes connections for us.
    RemoteListening,
    /// The server does not.
    RemoteRefused,
    /// Another process has the association.
    Joined,
    /// Of a server: a client came, left, or was refused something.
    Client,
    /// Of a server: somebody was not let in.
    Stranger,
    /// Anything else.
    Note,
}

/// Where events go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Teller {
    pub(crate) talk: Talk,
    pub(crate) json: bool,
}

impl Teller {
    /// Tells of an event.
    pub(crate) fn tell(self, event: Kind, text: impl core::fmt::Display) {
        self.tell_of_port(event, text, None);
    }

    /// Tells of a place where connections are taken.
    pub(crate) fn tell_of_port(
        self,
        event: Kind,
        text: impl core::fmt::Display,
        port: Option<u16>,
    ) {
        if self.json {
            let text = text.to_string();
            // Where nobody reads it any more, the work goes on.
            let _ = output::json_line(&Event { event, text, port });
        } else {
            self.talk.say(text);
        }
    }
}
