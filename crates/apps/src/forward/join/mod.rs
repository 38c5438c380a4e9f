//! Several processes of one user share one association to a server, as ssh's ControlMaster lets
//! them: the first has it, and opens a [`lobby::Lobby`]; the others are [`guest`]s.
//!
//! The lobby is a Unix socket for its user alone. A guest says a [`words::Ask`] in a line of JSON,
//! and gets [`words::Answer`]s in lines; behind an answer that opens a connection come its bytes.

pub mod guest;
pub mod lobby;
pub mod words;
