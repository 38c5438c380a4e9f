//! `polypath serve`.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use polypath_apps::admission::{Door, Places};
use polypath_apps::forward::server::{ServeEnd, Server, ServerOptions};
use polypath_apps::mirror::host::Mirrors;
use polypath_apps::place::{self, PlaceError};
use polypath_apps::runtime::build_runtime;
use polypath_apps::shown;
use polypath_net::{Association, Endpoint};
use tokio::task::JoinSet;

use super::args::ServeArgs;
use super::ending::Ending;
use super::event::{Kind, Teller};
use super::lines::Lines;
use super::notify;
use crate::failure::Failure;
use crate::interrupt::INTERRUPTED;
use crate::keys::{LOCAL, Listening, ServerKeys, explain_refusal};
use crate::quantity::to_duration;
use crate::reach::{bind_failure, warn_of_kernel_limits};
use crate::recording::LiveCapture;
use crate::talk::Talk;

/// Listeners of one client.
const LISTENERS: usize = 16;
/// Mirrors of all clients, each with three sockets; a quarter of them for one source.
const MIRRORS: usize = 16;
/// Descriptors that are no connections.
const OWN: usize = 64 + 3 * MIRRORS;
/// How long clients may take to hear that the server ends.
const GOODBYE: Duration = Duration::from_secs(1);

pub(crate) fn serve(args: &ServeArgs, talk: Talk) -> Result<(), Failure> {
    let keys = &args.common.keys;
    if args.clients.allow.is_none() && !args.allow_anyone && keys.psk.is_none() {
        return Err(Failure::bad_input(
            "who may connect is missing: --allow FILE names them (allowed: --allow-anyone for \
             whoever connects)",
        ));
    }
    let capture = args.common.capture.open(LOCAL, ("server", "serve"), talk)?;
    let runtime = build_runtime().map_err(|error| Failure::with_code(LOCAL, error))?;
    let done = runtime.block_on(serve_clients(args, &capture, talk));
    // Lookups of names must not hold the process up.
    runtime.shutdown_background();
    done.and(capture.finish())
}

async fn serve_clients(args: &ServeArgs, capture: &LiveCapture, talk: Talk) -> Result<(), Failure> {
    let descriptors = super::raise_descriptor_limit();
    let (assoc, limits) = super::stack_config(&args.common, args.max_connections)?;
    let (addresses, udp) = place::parse_listen(&args.listen).map_err(|error| match error {
        PlaceError::Interfaces(_) => Failure::with_code(LOCAL, error),
        _ => Failure::bad_input(error),
    })?;
    let listening = Listening { addresses, udp, port: args.common.port, assoc };
    let mut keys = ServerKeys::new(&args.common.keys, &args.clients)?;
    if args.clients.enroll {
        keys.enrol(&listening).await?;
    }
    let all = usize::from(args.max_clients);
    let places = Places { all, per_source: all.div_ceil(4) };
    let config = places.bound_config(keys.config(&listening));
    let endpoint = Endpoint::bind(capture.watch(config)).map_err(bind_failure)?;
    let teller = Teller { talk, json: args.common.json };
    let options = ServerOptions {
        permits: args.permit.iter().cloned().collect(),
        permit_listen: args.permit_listen.iter().cloned().collect(),
        limits,
        // A name's happy eyeballs may take more than one descriptor for a moment.
        connections: (descriptors.saturating_sub(OWN) / 2).max(1),
        listeners: LISTENERS,
        silence: to_duration(args.common.timeout),
        mirrors: mirrors(args, &endpoint),
    };
    let lines = Arc::new(Lines::new(teller));
    let of_clients = lines.clone();
    let server = Server::new(options, move |line| of_clients.tell(Kind::Client, line))
        .map_err(|error| Failure::with_code(LOCAL, error))?;
    announce(args, &endpoint, &keys, teller);
    keys.watch_allowed();
    let mut ending = Ending::new()?;
    notify::ready();
    let door = Door::new(places);
    tokio::select! {
        () = run(&endpoint, &server, &door, &lines) => {}
        () = ending.wait() => {}
    }
    notify::stopping();
    drop(server);
    let _ = tokio::time::timeout(GOODBYE, endpoint.close()).await;
    Err(Failure::from_status(INTERRUPTED))
}

/// None where nobody proves who he is (--insecure). With --allow-anyone whoever connects may have
/// one, of his share: it sends to nobody but the address of his own association.
fn mirrors(args: &ServeArgs, endpoint: &Endpoint) -> Mirrors {
    let offered = !args.no_mirror && !args.common.keys.insecure;
    let addresses = endpoint.local_addresses().into_iter().map(|at| at.ip());
    Mirrors::new(if offered { MIRRORS } else { 0 }, addresses)
}

fn announce(args: &ServeArgs, endpoint: &Endpoint, keys: &ServerKeys, teller: Teller) {
    warn_of_kernel_limits(endpoint, teller.talk);
    teller.tell(Kind::Note, keys.describe());
    if args.permit.is_empty() {
        teller.tell(
            Kind::Note,
            "nothing is permitted to be reached (--permit HOST:PORT), but what -R of clients opens",
        );
    }
    let at: Vec<_> = endpoint.local_addresses().iter().map(ToString::to_string).collect();
    let port = endpoint.local_addresses().first().map(std::net::SocketAddr::port);
    teller.tell_of_port(Kind::Listening, format_args!("serving at {}", at.join(" and ")), port);
}

/// Serves clients, as long as there is a socket.
async fn run(endpoint: &Endpoint, server: &Arc<Server>, door: &Door, lines: &Lines) {
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            accepted = endpoint.accept() => {
                let Some(association) = accepted else { return };
                let from = address_of(&association);
                match door.admit_guest(from) {
                    Ok(place) => {
                        let served = server.clone().serve(Arc::new(association), place);
                        clients.spawn(async move { (from, served.await) });
                    }
                    Err(full) => {
                        association.abort(full.to_string());
                        tell_of_stranger(lines, from, &full.to_string());
                    }
                }
            }
            Some(refusal) = endpoint.refused() => {
                tell_of_stranger(lines, refusal.remote.ip(), &explain_refusal(&refusal.reason));
            }
            Some(Ok((from, end))) = clients.join_next() => {
                if matches!(end, ServeEnd::Dismissed(_) | ServeEnd::Hello(_)) {
                    tell_of_stranger(lines, from, &end.to_string());
                }
            }
            () = door.turn_out_mute() => {}
        }
    }
}

fn address_of(association: &Association) -> IpAddr {
    let first = association.paths().first().map(|path| path.stats.remote.ip());
    first.unwrap_or(IpAddr::from([0, 0, 0, 0]))
}

fn tell_of_stranger(lines: &Lines, from: IpAddr, text: &str) {
    lines.tell(Kind::Stranger, &format!("{from}: {}", shown::escape_remark(text)));
}
