//! `polypath id`: who this host is.

use std::path::PathBuf;

use clap::Args;
use polypath_apps::keys::{Home, Identity, load_or_make, public_pem};
use schemars::JsonSchema;
use serde::Serialize;

use super::file_failure;
use crate::failure::Failure;
use crate::output;
use crate::talk::Talk;

#[derive(Debug, Args)]
pub(crate) struct IdArgs {
    /// The file with the private key (PKCS#8, PEM), made if it is missing; by default
    /// $POLYPATH_HOME/identity, or polypath/identity in $XDG_CONFIG_HOME or ~/.config.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print the public key itself (SubjectPublicKeyInfo, PEM), not its fingerprint.
    #[arg(long, conflicts_with = "json")]
    pub(crate) show_public: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `--json` prints.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Id {
    /// What others know this host by.
    fingerprint: String,
    /// The public key: SubjectPublicKeyInfo, PEM.
    public_key: String,
    /// Where the private key is.
    file: String,
    /// Whether it was made just now.
    new: bool,
}

pub(crate) fn id(args: &IdArgs, talk: Talk) -> Result<(), Failure> {
    let file = match &args.file {
        Some(file) => file.clone(),
        None => super::home().map(|home: Home| home.identity_file())?,
    };
    let (identity, new) = load_or_make(&file).map_err(file_failure)?;
    if new {
        talk.say(format_args!("a new key is in {}", file.display()));
    }
    let public = identity.public();
    if args.json {
        output::print_json(&describe(&identity, file, new))
    } else if args.show_public {
        output::print_text(&public_pem(public))
    } else {
        output::print_text(&format!("{}\n", public.fingerprint()))
    }
}

fn describe(identity: &Identity, file: PathBuf, new: bool) -> Id {
    Id {
        fingerprint: identity.public().fingerprint().to_string(),
        public_key: public_pem(identity.public()),
        file: file.display().to_string(),
        new,
    }
}
