//! Many scripts, one after the other.

use core::fmt;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::run::{Ending, Report, run_script};
use super::script::Script;
use super::setup::PolicyChoice;
use super::shrink::shrink_script;
use super::trouble::Trouble;

/// What happened in many runs.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Runs.
    pub cases: u64,
    /// Operations, by kind.
    pub ops: BTreeMap<&'static str, u64>,
    /// Runs, by their ending.
    pub endings: BTreeMap<Ending, u64>,
    /// Associations, by the reason for their end.
    pub reasons: BTreeMap<String, u64>,
    /// What applications were told, by kind.
    pub heard: BTreeMap<&'static str, u64>,
    /// Packets sent.
    pub packets: u64,
    /// Messages accepted.
    pub sent: u64,
    /// Messages delivered.
    pub delivered: u64,
    /// How often ends replaced the keys of protected associations.
    pub rekeys: u64,
    /// Virtual hours.
    pub hours: f64,
}

impl Summary {
    fn count_run(&mut self, script: &Script, report: &Report) {
        self.cases += 1;
        for op in &script.ops {
            *self.ops.entry(op.name()).or_default() += 1;
        }
        *self.endings.entry(report.ending).or_default() += 1;
        for reason in &report.reasons {
            *self.reasons.entry(format!("{reason:?}")).or_default() += 1;
        }
        for (name, count) in &report.heard {
            *self.heard.entry(name).or_default() += count;
        }
        self.packets += report.packets;
        self.sent += report.sent;
        self.delivered += report.delivered;
        self.rekeys += report.rekeys;
        self.hours += report.time.as_secs_f64() / 3600.0;
    }

    /// Adds another summary.
    pub fn merge_with(&mut self, other: Self) {
        self.cases += other.cases;
        self.packets += other.packets;
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.rekeys += other.rekeys;
        self.hours += other.hours;
        for (name, count) in other.ops {
            *self.ops.entry(name).or_default() += count;
        }
        for (name, count) in other.heard {
            *self.heard.entry(name).or_default() += count;
        }
        for (ending, count) in other.endings {
            *self.endings.entry(ending).or_default() += count;
        }
        for (reason, count) in other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, packets, sent, delivered, rekeys, hours, .. } = self;
        writeln!(f, "{cases} cases, {packets} packets, {hours:.0} virtual hours")?;
        writeln!(f, "messages: {sent} accepted, {delivered} delivered; keys replaced: {rekeys}")?;
        writeln!(f, "endings: {:?}", self.endings)?;
        writeln!(f, "reasons: {:?}", self.reasons)?;
        writeln!(f, "events: {:?}", self.heard)?;
        write!(f, "operations: {:?}", self.ops)
    }
}

/// A script that fails, made short.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed that brings it back.
    pub seed: u64,
    /// What is wrong.
    pub trouble: Trouble,
    /// The short script.
    pub script: Script,
    /// The last packets before the trouble.
    pub log: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, trouble, script, log } = self;
        writeln!(f, "seed {seed}: {trouble}")?;
        let test =
            if script.setup.is_protected() { "protected_worlds" } else { "random_interaction" };
        writeln!(
            f,
            "replay: POLYPATH_SEED={seed} POLYPATH_CASES=1 cargo test --release -p polypath-testkit --test {test}"
        )?;
        writeln!(f, "world: {:?}", script.setup)?;
        for op in &script.ops {
            writeln!(f, "  {op:?}")?;
        }
        write!(f, "packets:\n{log}")
    }
}

/// Plays these scripts; `done` is told of each. Stops at the first that fails, and shrinks it.
///
/// # Errors
/// The failure.
pub fn explore_scripts(
    scripts: impl Iterator<Item = Script>,
    mut done: impl FnMut(&Script),
) -> Result<Summary, Box<Failure>> {
    let mut summary = Summary::default();
    for script in scripts {
        match run_caught(&script) {
            Ok(report) => summary.count_run(&script, &report),
            Err((trouble, _)) => return Err(shrink_failure(script, &trouble)),
        }
        done(&script);
    }
    Ok(summary)
}

/// Plays all scripts and sorts the failures by kind, each with the seeds that show it.
pub fn triage_failures(
    seeds: impl Iterator<Item = u64>,
    choose: &PolicyChoice<'_>,
    mut done: impl FnMut(u64),
) -> (Summary, BTreeMap<String, Vec<u64>>) {
    triage_scripts(seeds.map(|seed| Script::random(seed, choose)), |script| done(script.seed))
}

/// The same with scripts that are there.
pub fn triage_scripts(
    scripts: impl Iterator<Item = Script>,
    mut done: impl FnMut(&Script),
) -> (Summary, BTreeMap<String, Vec<u64>>) {
    let (mut summary, mut kinds) = (Summary::default(), BTreeMap::<String, Vec<u64>>::new());
    for script in scripts {
        match run_caught(&script) {
            Ok(report) => summary.count_run(&script, &report),
            Err((trouble, _)) => {
                kinds.entry(kind_of_trouble(&trouble)).or_default().push(script.seed);
            }
        }
        done(&script);
    }
    (summary, kinds)
}

/// The first words of a trouble, without its numbers.
fn kind_of_trouble(trouble: &Trouble) -> String {
    const LONG_ENOUGH: usize = 100;
    let text = trouble.to_string();
    text.chars().filter(|c| !c.is_ascii_digit()).take(LONG_ENOUGH).collect()
}

/// The failure of one seed, made short.
pub fn examine_seed(seed: u64, choose: &PolicyChoice<'_>) -> Option<Box<Failure>> {
    examine_script(Script::random(seed, choose))
}

/// The same of a script that is there.
pub fn examine_script(script: Script) -> Option<Box<Failure>> {
    run_caught(&script).err().map(|(trouble, _)| shrink_failure(script, &trouble))
}

/// [`run_script`], with panics as a trouble.
///
/// # Errors
/// As [`run_script`].
pub fn run_caught(script: &Script) -> Result<Report, (Trouble, String)> {
    catch_unwind(AssertUnwindSafe(|| run_script(script)))
        .unwrap_or_else(|panic| Err((Trouble::Panic(panic_text(&*panic)), String::new())))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

fn shrink_failure(script: Script, first: &Trouble) -> Box<Failure> {
    let same_kind =
        |trouble: &Trouble| core::mem::discriminant(trouble) == core::mem::discriminant(first);
    let script =
        shrink_script(script, |s| run_caught(s).is_err_and(|(trouble, _)| same_kind(&trouble)));
    let (trouble, log) = match run_caught(&script) {
        Err(failed) => failed,
        // A run is a pure function of its script, so this cannot be; the first trouble is reported
        // anyway.
        Ok(_) => (first.clone(), String::new()),
    };
    Box::new(Failure { seed: script.seed, trouble, script, log })
}
