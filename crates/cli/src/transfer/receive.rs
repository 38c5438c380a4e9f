//! `polypath receive`: where it listens, and where files go.

use std::path::{Path, PathBuf};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use polypath_apps::place::{self, PlaceError};
use polypath_apps::runtime::build_runtime;
use polypath_apps::transfer::{self, Store, StoreOptions};
use polypath_net::Endpoint;
use tokio::sync::mpsc;

use super::LOCAL;
use super::args::ReceiveArgs;
use super::serve::{SENDERS, Server, WAITING};
use crate::failure::Failure;
use crate::interrupt;
use crate::keys::{Listening, ServerKeys};
use crate::reach::{bind_failure, warn_of_kernel_limits};
use crate::recording::LiveCapture;
use crate::talk::Talk;

pub(crate) fn receive(args: &ReceiveArgs) -> Result<(), Failure> {
    let capture =
        args.common.capture.open(LOCAL, ("server", "receive"), Talk::new(args.common.quiet))?;
    let runtime = build_runtime().map_err(|error| Failure::with_code(LOCAL, error))?;
    let done = runtime.block_on(serve_senders(args, &capture));
    done.and(capture.finish())
}

async fn serve_senders(args: &ReceiveArgs, capture: &LiveCapture) -> Result<(), Failure> {
    let descriptors = raise_descriptor_limit();
    let listening = listening(args)?;
    let mut keys = ServerKeys::new(&args.common.keys, &args.senders)?;
    if args.senders.enroll {
        keys.enrol(&listening).await?;
    }
    let endpoint = open_endpoint(&keys, &listening, capture)?;
    // A folder that was made is taken back from here on, however soon somebody presses Ctrl-C.
    interrupt::hold_interrupt();
    let folder = choose_folder(args)?;
    let options = StoreOptions {
        folder: folder.clone(),
        overwrite: args.overwrite,
        hidden: args.hidden,
        quota: args.quota.map(|size| size.0),
        open_files: transfer::open_files(descriptors, SENDERS),
    };
    let store = Store::open(options).map_err(|error| Failure::with_code(LOCAL, error))?;
    announce_addresses(args, &endpoint, &folder, &keys);
    keys.watch_allowed();
    let (news, mut heard) = mpsc::unbounded_channel();
    let mut server = Server::new(args, store, news)?;
    let end = server.serve_until_done(&endpoint, &mut heard).await;
    drop(server);
    if args.dir.is_none() {
        transfer::discard_unused(&folder);
    }
    end
}

/// Descriptors that this process may have, as many as the system grants.
fn raise_descriptor_limit() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 256 };
    if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft }
}

/// Where files go: never among others unless the user names the place.
fn choose_folder(args: &ReceiveArgs) -> Result<PathBuf, Failure> {
    if let Some(dir) = &args.dir {
        return Ok(dir.clone());
    }
    for n in 1..10_000 {
        let name = match n {
            1 => "polypath-received".to_owned(),
            n => format!("polypath-received-{n}"),
        };
        match std::fs::create_dir(&name) {
            Ok(()) => return Ok(name.into()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::with_code(LOCAL, format!("folder {name}: {error}"))),
        }
    }
    Err(Failure::with_code(LOCAL, "too many folders polypath-received-N here: name one with --dir"))
}

fn listening(args: &ReceiveArgs) -> Result<Listening, Failure> {
    let (addresses, udp) = place::parse_listen(&args.listen).map_err(|error| match error {
        PlaceError::Interfaces(_) => Failure::with_code(LOCAL, error),
        _ => Failure::bad_input(error),
    })?;
    let assoc = super::stack_config(&args.common)?;
    Ok(Listening { addresses, udp, port: args.common.port, assoc })
}

fn open_endpoint(
    keys: &ServerKeys,
    listening: &Listening,
    capture: &LiveCapture,
) -> Result<Endpoint, Failure> {
    let config = keys
        .config(listening)
        // Those that wait are sent away above this; some are on their way out.
        .max_associations(2 * (SENDERS + WAITING));
    Endpoint::bind(capture.watch(config)).map_err(bind_failure)
}

fn announce_addresses(args: &ReceiveArgs, endpoint: &Endpoint, folder: &Path, keys: &ServerKeys) {
    warn_of_kernel_limits(endpoint, Talk::new(args.common.quiet));
    if !args.common.quiet {
        let at: Vec<_> = endpoint.local_addresses().iter().map(ToString::to_string).collect();
        eprintln!("{}", keys.describe());
        eprintln!("receiving at {} into {}", at.join(" and "), folder.display());
    }
}
