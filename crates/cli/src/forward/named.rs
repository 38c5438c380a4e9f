//! Servers by name: what config.toml says of one, where the command line says nothing else.

use clap::Parser;
use polypath_apps::hosts::NamedHost;
use polypath_net::DEFAULT_PORT;

use super::args::{ForwardArgs, Forwards};
use crate::failure::Failure;
use crate::keys;

/// What an entry lists in `forward`, in the words of the command line.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Listed {
    #[command(flatten)]
    forwards: Forwards,
}

/// Fills in what config.toml says of the host that `--to` names, if it names one.
pub(super) fn apply_named_host(mut args: ForwardArgs) -> Result<ForwardArgs, Failure> {
    let hosts = keys::named_hosts()?;
    let Some(host) = hosts.find(&args.to) else { return Ok(args) };
    args.route.apply(host);
    if args.common.port == DEFAULT_PORT {
        args.common.port = host.port.unwrap_or(DEFAULT_PORT);
    }
    if !args.common.keys.insecure && args.common.keys.psk.is_none() && args.peer.code.is_none() {
        args.peer.peer = args.peer.peer.or(host.peer);
    }
    if args.stdio.is_none() {
        args.forwards.extend(listed_forwards(&args.to, host)?);
    }
    args.to = host.to.clone();
    Ok(args)
}

fn listed_forwards(name: &str, host: &NamedHost) -> Result<Forwards, Failure> {
    let words = host.forward.iter().flat_map(|entry| entry.split_whitespace());
    let listed = Listed::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        let first = first.strip_prefix("error: ").unwrap_or(first);
        Failure::bad_input(format!(
            "config.toml: host.{name}.forward: {first} (allowed: -L, -R and -D)"
        ))
    })?;
    Ok(listed.forwards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_entry_lists_is_in_the_words_of_the_command_line() {
        let forward = ["-D 1080", "-L 5432:db:5432", "-R 8080:localhost:80"];
        let host =
            NamedHost { forward: forward.map(str::to_owned).to_vec(), ..NamedHost::default() };
        let listed = listed_forwards("vps", &host).unwrap();
        assert_eq!(listed.dynamic_forward.len(), 1);
        assert_eq!((listed.local_forward.len(), listed.remote_forward.len()), (1, 1));
        for wrong in ["-X 1", "1080", "-L x", "--to elsewhere"] {
            let host = NamedHost { forward: vec![wrong.to_owned()], ..NamedHost::default() };
            let error = listed_forwards("vps", &host).unwrap_err();
            assert!(error.message().starts_with("config.toml: host.vps.forward: "), "{error:?}");
            assert_eq!(error.message().lines().count(), 1);
        }
    }
}
