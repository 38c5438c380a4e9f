//! `polypath forward` and `polypath serve`.

mod args;
mod client;
mod desk;
mod ending;
mod event;
mod lines;
mod named;
mod notify;
mod serve;
mod stdio;
mod take;
mod way;

use std::sync::Arc;

use polypath_apps::buffers::BUFFERS;
use polypath_apps::forward::mux::Limits;
use polypath_apps::forward::watch::let_outlive_outages;
use polypath_net::AssocConfig;
use polypath_policies::PolicySpec;

use self::args::ForwardCommon;
pub(crate) use self::args::{ForwardArgs, ServeArgs};
pub(crate) use self::client::forward;
pub(crate) use self::event::Event as ForwardJson;
pub(crate) use self::serve::serve;
use crate::failure::Failure;

pub(crate) const FORWARD_HELP: &str = "\
Examples:
  polypath forward -D 1080 --to 192.0.2.5
  polypath forward -L 5432:db:5432 -R 8080:localhost:80 --to vps
  ssh -o ProxyCommand='polypath forward --stdio %h:%p --to vps' db
A name of --to is looked for in ~/.config/polypath/config.toml first.
Exit codes:
  1    a connection of --stdio was broken off
  2    wrong arguments
  3    with --stdio: the server was not reached
  4    with --stdio: the place was not reached (not permitted, refused, ...)
  5    a file, key, port or socket of this host
  6    the server is not known, not who it was, or does not let us in
  130  interrupted, which is how it ends otherwise";

pub(crate) const SERVE_HELP: &str = "\
Examples:
  polypath serve --listen 192.0.2.5 --allow clients --permit db:5432
  polypath serve --listen 192.0.2.5,198.51.100.5 --allow clients \\
    --permit 'internet:*' --permit '10.1.0.0/16:22,10.1.0.0/16:443'
  polypath serve --listen 192.0.2.5 --allow clients --enroll
Nothing can be reached unless it is permitted, and nobody is let in who is not named.
Exit codes:
  2    wrong arguments
  5    a file, key or port of this host
  6    an enrolment that failed
  130  interrupted, which is how it ends otherwise";

/// Where the user does not say otherwise, buffers grow up to this, bytes: many gigabits per second
/// over a continent.
const LARGEST_BUFFER: u32 = 32 << 20;

/// The stack, and what may be used of it for `connections` at a time.
fn stack_config(
    common: &ForwardCommon,
    connections: u32,
) -> Result<(Arc<AssocConfig>, Limits), Failure> {
    // One for the frames of the association; ours and the peer's have numbers in turn.
    let streams = u16::try_from(2 * connections + 2).unwrap_or(u16::MAX);
    let mut assoc = common.stack.resolve_with(streams, copy_small_messages)?.assoc;
    assoc.inbound_streams = streams;
    if !common.stack.names_buffers() {
        assoc.receive_buffer_max.get_or_insert(LARGEST_BUFFER.max(assoc.receive_buffer));
        assoc.send_buffer_max.get_or_insert(assoc.send_buffer.max(LARGEST_BUFFER.into()));
    }
    let_outlive_outages(&mut assoc);
    let largest =
        assoc.receive_buffer_max.unwrap_or(assoc.receive_buffer).max(assoc.receive_buffer);
    let waiting = common.waiting.map_or(u64::from(largest) / 2, |size| size.0);
    if !BUFFERS.contains(&waiting) && common.waiting.is_some() {
        return Err(Failure::bad_input("--waiting: 16KiB to 1024MiB are allowed"));
    }
    Ok((Arc::new(assoc), Limits { connections, waiting }))
}

/// Who types waits for no packet that is lost, where the path scheduler can see to it.
fn copy_small_messages(policies: &mut PolicySpec) {
    if policies.path_scheduler == "knapsack" {
        policies.path_scheduler = "knapsack?copies=yes".to_owned();
    }
}

/// Descriptors that this process may have, as many as the system grants.
fn raise_descriptor_limit() -> usize {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 256 };
    let granted = if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft };
    usize::try_from(granted).unwrap_or(usize::MAX)
}
