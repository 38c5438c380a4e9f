//! Hosts with names of the user's own, so that `--to vps` is enough: `config.toml`, beside this
//! host's key.
//!
//! ```toml
//! [host.vps]
//! to = "192.0.2.5,198.51.100.5:9899"
//! port = 9899
//! peer = "pp:xj4bnp4pahh6uqkbidpf3lrceoyagyndsylxvhfucd7wd4qacwwq"
//! paths = ["eth0", "wwan0"]
//! forward = ["-D 1080", "-L 5432:db:5432"]
//! ```
//!
//! Only `to` has to be there. Nothing is looked up here, and a name does not stand for another
//! name. The file says whom to trust, and so it is refused if others may write it.

mod explain;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::path::Path;
use std::str::FromStr;

use polypath_net::Fingerprint;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use self::explain::{SHOWN, allowed, explain, explain_syntax, line_of, short};
use crate::keys::{self, KeyError};
use crate::place;
use crate::shown;

/// A name has so many characters at most, as one of DNS (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 255;

/// What is wrong with the file of hosts, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostsError {
    /// It cannot be read, or others may write it.
    #[error(transparent)]
    File(#[from] KeyError),
    /// It says what cannot be.
    #[error("{path}: line {line}: {what}")]
    Line {
        /// The file, fit to be shown.
        path: String,
        /// Which line, from 1.
        line: usize,
        /// The field, its value, and what is allowed, fit to be shown.
        what: String,
    },
}

/// All hosts that have names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(BTreeMap<String, NamedHost>);

/// What a name stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Fields")]
pub struct NamedHost {
    /// Its addresses and names with their UDP ports, as `--to` has them.
    pub to: String,
    /// Its SCTP port.
    pub port: Option<u16>,
    /// Its key.
    pub peer: Option<Fingerprint>,
    /// Network devices to send from, as `--paths` has them; none if `local` has any.
    pub paths: Vec<String>,
    /// Addresses to send from, as `--local` has them.
    pub local: Vec<IpAddr>,
    /// Every address here with every address there.
    pub mesh: bool,
    /// What `forward` does besides what its command line says, in the words of that: each has one
    /// or more of its options, with their values yet to be judged.
    pub forward: Vec<String>,
}

impl Hosts {
    /// Those of a file; none if it is not there.
    ///
    /// # Errors
    /// When it cannot be read, others may write it, or it says what cannot be.
    pub fn read(path: &Path) -> Result<Self, HostsError> {
        let Some(text) = keys::read_trusted(path)? else { return Ok(Self::default()) };
        Self::parse(&text).map_err(|(line, what)| HostsError::Line {
            path: shown::escape_text(&path.to_string_lossy()),
            line,
            what: shown::escape_text(&what),
        })
    }

    /// What the name stands for, if it is one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&NamedHost> {
        self.0.get(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Those of a text, or the line that is wrong, and what is.
    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let syntax = |error| (line_of(text, &error), explain_syntax(text, &error));
        let values = toml::Deserializer::parse(text).map_err(syntax)?;
        let file: File = serde_path_to_error::deserialize(values).map_err(|error| {
            let field = error.path().to_string();
            let error = error.into_inner();
            (line_of(text, &error), explain(text, &field, &error))
        })?;
        Ok(Self(file.host.into_iter().map(|(name, host)| (name.0.0, host)).collect()))
    }
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    host: BTreeMap<Parsed<Name>, NamedHost>,
}

/// A host as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    to: Parsed<HostList>,
    port: Option<NonZeroU16>,
    peer: Option<Parsed<Fingerprint>>,
    #[serde(default)]
    paths: Vec<Parsed<Device>>,
    #[serde(default)]
    local: Vec<Parsed<Address>>,
    #[serde(default)]
    mesh: bool,
    #[serde(default)]
    forward: Vec<Parsed<Forward>>,
}

impl TryFrom<Fields> for NamedHost {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<Self, Self::Error> {
        if !fields.paths.is_empty() && !fields.local.is_empty() {
            return Err("has both paths and local (allowed: one of them)");
        }
        Ok(Self {
            to: fields.to.0.0,
            port: fields.port.map(NonZeroU16::get),
            peer: fields.peer.map(|peer| peer.0),
            paths: fields.paths.into_iter().map(|device| device.0.0).collect(),
            local: fields.local.into_iter().map(|address| address.0.0).collect(),
            mesh: fields.mesh,
            forward: fields.forward.into_iter().map(|option| option.0.0).collect(),
        })
    }
}

/// A text that stands for something. The words of its error say what is allowed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Parsed<T>(T);

impl<'de, T: FromStr<Err: std::fmt::Display>> Deserialize<'de> for Parsed<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wrong = |why| D::Error::custom(format_args!("= {:?}: {why}", short(&text, SHOWN)));
        text.parse().map(Self).map_err(wrong)
    }
}

/// What a user calls a host.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Name(String);

impl FromStr for Name {
    type Err = &'static str;

    /// What looks like an option or an address is none: it would stand for something else.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if text.starts_with(['-', '.']) || !text.chars().all(fits) {
            return Err(
                "no name (allowed: letters, digits, '_', and behind the first '-' and '.')",
            );
        }
        if text.parse::<IpAddr>().is_ok() {
            return Err("an address is no name (allowed: letters, digits, '-', '_' and '.')");
        }
        if !(1..=LONGEST_NAME).contains(&text.len()) {
            return Err("no name (allowed: 1 to 255 characters)");
        }
        Ok(Self(text.to_owned()))
    }
}

/// Places of a host, not yet looked up.
struct HostList(String);

impl FromStr for HostList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let good = |part: &str| place::split_port(part.trim()).is_ok();
        if text.contains(char::is_control) || !text.split(',').all(good) {
            return Err(format!("wrong (allowed: {})", allowed("to")));
        }
        Ok(Self(text.to_owned()))
    }
}

/// A network device, or [`place::AUTO`].
struct Device(String);

impl FromStr for Device {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let odd = |c: char| c.is_control() || c.is_whitespace() || c == '/';
        if text.is_empty() || text.contains(odd) {
            return Err("no name of a network device, as `ip link` shows them");
        }
        Ok(Self(text.to_owned()))
    }
}

/// An address of this host.
struct Address(IpAddr);

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_| "an address of this host is expected, without a port")
    }
}

/// Options of `forward` that say what is carried.
struct Forward(String);

impl FromStr for Forward {
    type Err = String;

    /// No other options: what a host does is one thing, how it is spoken to another.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = ["-L", "-R", "-D", "--local-forward", "--remote-forward", "--dynamic-forward"];
        let values = all.into_iter().filter_map(|option| text.trim().strip_prefix(option));
        if text.contains(char::is_control) || values.max().is_none_or(str::is_empty) {
            return Err(format!("wrong (allowed: {})", allowed("forward")));
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const KEY: &str = "pp:xj4bnp4pahh6uqkbidpf3lrceoyagyndsylxvhfucd7wd4qacwwq";

    #[test]
    fn a_host_is_found_by_its_name() {
        let text = format!(
            "# mine\n[host.vps]\nto = \"192.0.2.5, [fd00::5]:7\"\nport = 9900\npeer = \"{KEY}\"\n\
             paths = [\"eth0\", \"wwan0\"]\nmesh = true\n\
             forward = [\"-D 1080\", \"-L5432:db:5432\", \"--remote-forward /tmp/a:x:1\"]\n\
             [host]\n\"home.example\" = {{ to = \"h\", local = [\"192.0.2.7\", \"fd00::7\"] }}\n"
        );
        let hosts = Hosts::parse(&text).unwrap();
        let vps = hosts.find("vps").unwrap();
        assert_eq!((vps.to.as_str(), vps.port), ("192.0.2.5, [fd00::5]:7", Some(9900)));
        assert_eq!((vps.peer.unwrap().to_string().as_str(), vps.mesh), (KEY, true));
        assert_eq!(vps.paths, ["eth0", "wwan0"]);
        assert_eq!(vps.forward, ["-D 1080", "-L5432:db:5432", "--remote-forward /tmp/a:x:1"]);
        let home = hosts.find("home.example").unwrap();
        assert_eq!(home.local.len(), 2);
        assert!(!home.mesh && home.peer.is_none() && home.port.is_none());
        assert_eq!(hosts.names().collect::<Vec<_>>(), ["home.example", "vps"]);
        assert_eq!(hosts.find("home"), None);
        assert_eq!(Hosts::parse(""), Ok(Hosts::default()));
    }

    /// Line and words of what is wrong.
    fn refusal(text: &str) -> (usize, String) {
        let (line, what) = Hosts::parse(text).unwrap_err();
        assert!(what.lines().count() == 1 && what.chars().count() < 400, "{what}");
        (line, what)
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_allowed() {
        for (line, field, value, words) in [
            ("prot = 1", "prot", "", "unknown field; did you mean port? (allowed: to, port, peer,"),
            ("[host.vps.example]", "example", "", "unknown field"),
            ("port = 0", "port", " = 0", "(allowed: a whole number from 1 to 65535)"),
            ("port = 65536", "port", " = 65536", "(allowed: a whole number from 1 to 65535)"),
            ("port = \"x\"", "port", " = \"x\"", "(allowed: a whole number from 1 to 65535)"),
            ("peer = \"pp:x\"", "peer", " = \"pp:x\"", "too short; allowed: `pp:` and 52"),
            ("peer = 7", "peer", " = 7", "(allowed: a text, pp: and 52"),
            ("paths = \"eth0\"", "paths", " = \"eth0\"", "(allowed: a list of network devices"),
            ("paths = [\"a\", \"\"]", "paths[1]", " = \"\"", "`ip link`"),
            ("paths = [1]", "paths[0]", " = 1", "(allowed: a list of network devices"),
            ("local = [\"host\"]", "local[0]", " = \"host\"", "an address of this host"),
            ("mesh = 1", "mesh", " = 1", "(allowed: true or false)"),
            ("forward = [\"--insecure\"]", "forward[0]", " = \"--insecure\"", "-L, -R and -D"),
            ("forward = [\"-D \"]", "forward[0]", " = \"-D \"", "-L, -R and -D"),
        ] {
            let (at, what) = refusal(&format!("[host.vps]\nto = \"h\"\n{line}\n"));
            assert_eq!(at, 3, "{what}");
            assert!(what.starts_with(&format!("host.vps.{field}{value}: ")), "{what}");
            assert!(what.contains(words), "{what}");
        }
    }

    #[test]
    fn what_is_missing_or_too_much_is_named() {
        for (text, line, words) in [
            ("\n[host.vps]\nport = 1\n", 2, "host.vps.to: missing (allowed: addresses"),
            ("[hosts.vps]\nto = \"h\"\n", 1, "hosts: unknown field; did you mean host?"),
            ("[host.vps.example]\nto = \"h\"\n", 1, "host.vps.example: unknown field"),
            ("host = 3\n", 1, "host = 3: wrong (allowed: tables [host.NAME]"),
            ("\nhost.vps = \"h\"\n", 2, "host.vps = \"h\": wrong (allowed: tables [host.NAME]"),
            ("[host.vps]\nto = \"\"\n", 2, "host.vps.to = \"\": wrong (allowed: addresses"),
            ("[host.vps]\nto = \"a:b\"\n", 2, "host.vps.to = \"a:b\": wrong (allowed: addresses"),
            ("[host.vps]\nto = \"a\\u001bb\"\n", 2, "wrong (allowed: addresses"),
            ("[host.a]\nto = \"h\"\n[host.\"a b\"]\nto = \"h\"\n", 3, "\"a b\": no name (allowed:"),
            ("[host.-a]\nto = \"h\"\n", 1, "no name"),
            ("[host.\"192.0.2.1\"]\nto = \"h\"\n", 1, "an address is no name"),
            (
                "[host.a]\nto = \"h\"\nlocal = [\"::1\"]\npaths = [\"lo\"]\n",
                1,
                "host.a has both paths and local (allowed: one of them)",
            ),
            ("[host.a]\nto = \"h\"\n[host.a]\n", 3, "\"[host.a]\": duplicate key"),
            ("[host.a]\nto = h\n", 2, "\"to = h\": "),
            ("[host.a\n", 1, ""),
        ] {
            let (at, what) = refusal(text);
            assert!(what.contains(words), "{what}");
            assert_eq!(at, line, "{what}");
        }
    }

    #[test]
    fn hostile_files_are_told_in_one_plain_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let said = |text: &[u8]| {
            fs::write(&path, text).unwrap();
            let error = Hosts::read(&path).unwrap_err().to_string();
            assert!(error.starts_with(&path.display().to_string()), "{error}");
            assert!(!error.contains(char::is_control) && error.len() < 600, "{error}");
            error
        };
        assert_eq!(Hosts::read(&path).unwrap(), Hosts::default());
        let long = "x".repeat(9000);
        for key in ["\x1b[2J", "x`, expected `y", "\\u001b[2J", "a\\nb", "\u{202e}", &long] {
            said(format!("[host.\"{key}\"]\nto = \"h\"\n").as_bytes());
            said(format!("[host.a]\nto = \"h\"\n\"{key}\" = 1\n").as_bytes());
            said(format!("[host.a]\nto = \"h\"\npeer = \"{key}\"\n").as_bytes());
            said(format!("[host.a]\nto = \"h\"\nport = \"{key}\"\n").as_bytes());
            said(format!("{key}\n").as_bytes());
        }
        said(b"\xff\xfe\n");
        said(&b"[".repeat(100_000));
        said(format!("a = {}", "[".repeat(100_000)).as_bytes());
        assert!(said(&b"#".repeat((1 << 20) + 1)).contains("more than 1048576 bytes"));
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        assert!(said(b"").contains("chmod go-w"));
    }
}
