//! `polypath verify`.

use std::sync::Mutex;

use polypath_shards::{Sample, Verified, verify_segments};

use super::args::VerifyArgs;
use crate::failure::Failure;
use crate::output;
use crate::progress::advance_shared_bar;
use crate::talk::Talk;

pub(crate) fn verify(args: &VerifyArgs, talk: Talk) -> Result<(), Failure> {
    let sample: Sample = args.sample.parse()?;
    let sample = Sample { seed: args.seed, ..sample };
    let progress = Mutex::new(talk.progress());
    let report = |done| advance_shared_bar(&progress, done);
    let verified = verify_segments(&args.segments, sample, &report)?;
    drop(progress);
    let Verified { rows, compared, different, named } = &verified;
    if args.json {
        output::print_json(&verified)?;
    } else {
        let same = compared - different;
        output::print_text(&format!("{same} of {compared} runs are the same, of {rows}\n"))?;
    }
    if *different == 0 {
        return Ok(());
    }
    Err(Failure::run_failed(format!("{different} runs differ: {}", named.join(", "))))
}
