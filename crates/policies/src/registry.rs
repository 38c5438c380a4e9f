//! Policies by name: `name` or `name?key=value&key=value`.

use core::fmt;
use std::sync::{Arc, LazyLock};

use polypath_proto::config::CcConfig;
use polypath_proto::policy::{
    BufferPolicy, CongestionControl, PathScheduler, PolicyFactory, PolicySet, RetransmissionPolicy,
    StreamScheduler,
};
use polypath_proto::rng::Rng;

use crate::entry::{Configure, Make, PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::kind::PolicyKind;
use crate::options::{Options, list_or_none};
use crate::own::{FindOwn, OwnScheduler};
use crate::{buffer, congestion, own, renamed, retransmission, scheduler, stream};

/// Every policy of this crate. A new one adds its line to the list of its kind.
static BUILTIN: LazyLock<Vec<PolicyEntry>> = LazyLock::new(|| {
    let kinds = [
        scheduler::ENTRIES,
        stream::ENTRIES,
        retransmission::ENTRIES,
        buffer::ENTRIES,
        congestion::ENTRIES,
    ];
    kinds.concat()
});

/// Every policy of this crate, by kind.
pub fn all() -> &'static [PolicyEntry] {
    &BUILTIN
}

/// A factory of this crate's policies; see [`Registry::factory`].
///
/// # Errors
/// The first text in `spec` that names no policy, or sets an option wrongly.
pub fn factory(spec: &PolicySpec) -> Result<Arc<dyn PolicyFactory>, PolicyError> {
    Registry::builtin().factory(spec)
}

/// The five policies of an association, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySpec {
    /// Which path carries the next new data.
    pub path_scheduler: String,
    /// Which stream's message is next.
    pub stream_scheduler: String,
    /// Which path carries a retransmission.
    pub retransmission: String,
    /// Whether a path may take more of the buffers.
    pub buffer: String,
    /// How congestion windows change.
    pub congestion: String,
}

impl Default for PolicySpec {
    /// CMT as Iyengar et al. have it (S1).
    fn default() -> Self {
        Self {
            path_scheduler: "rr".to_owned(),
            stream_scheduler: "fcfs".to_owned(),
            retransmission: "ssthresh".to_owned(),
            buffer: "shared".to_owned(),
            congestion: "rfc9260".to_owned(),
        }
    }
}

/// [`ReadFile`](crate::options::ReadFile) that any thread may call.
type ReadFileAnywhere = dyn Fn(&str) -> Result<String, String> + Send + Sync;

/// The policies that can be named.
#[derive(Clone)]
pub struct Registry {
    entries: Vec<PolicyEntry>,
    find_own: Option<Arc<FindOwn>>,
    files: Arc<ReadFileAnywhere>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("entries", &self.entries)
            .field("find_own", &self.find_own.is_some())
            .finish_non_exhaustive()
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::builtin()
    }
}

impl Registry {
    /// The policies of this crate. Those that need a file are refused; see
    /// [`with_files`](Self::with_files).
    pub fn builtin() -> Self {
        let refuse = |_: &str| Err("no files can be read here".to_owned());
        Self { entries: BUILTIN.to_vec(), find_own: None, files: Arc::new(refuse) }
    }

    /// The same, with `files` to give the text of a file that an option names, or one line that
    /// says why it cannot. This crate opens none by itself.
    #[must_use]
    pub fn with_files(
        mut self,
        files: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        self.files = Arc::new(files);
        self
    }

    /// The text of a file, from who was handed in.
    ///
    /// # Errors
    /// One line that says why there is none.
    pub fn read_file(&self, name: &str) -> Result<String, String> {
        (self.files)(name)
    }

    /// The text of the file that a path scheduler is made of, if it needs one.
    ///
    /// # Errors
    /// One line that says why it cannot be read.
    pub fn file_of_scheduler(&self, text: &str) -> Result<Option<String>, PolicyError> {
        let name = text.split_once('?').map_or(text, |(name, _)| name);
        let kind = PolicyKind::PathScheduler;
        let mut listed = self.entries.iter().filter(|e| e.kind == kind && e.name == name);
        let Some(entry) = listed.find(|e| e.needs.contains(&"file")) else { return Ok(None) };
        Options::parse(kind, entry.options, text, &*self.files)?.file("file").map(Some)
    }

    /// The same, with path schedulers that only exist while the program runs, such as those of
    /// another language. `find` is asked about names that no entry has; it answers `None` for those
    /// that it does not know either, and an error in words for those that it cannot make.
    #[must_use]
    pub fn with_own_schedulers(
        mut self,
        find: impl Fn(&str) -> Option<Result<OwnScheduler, String>> + Send + Sync + 'static,
    ) -> Self {
        self.find_own = Some(Arc::new(find));
        self
    }

    /// Whether there may be path schedulers outside of all entries.
    pub fn has_own_schedulers(&self) -> bool {
        self.find_own.is_some()
    }

    /// The scheduler outside of all entries that `text` names.
    ///
    /// # Errors
    /// [`PolicyError::Own`] when there is one that cannot be made.
    pub fn own_scheduler(&self, text: &str) -> Result<Option<OwnScheduler>, PolicyError> {
        let name = text.split_once('?').map_or(text, |(name, _)| name);
        let listed = |e: &PolicyEntry| e.kind == PolicyKind::PathScheduler && e.name == name;
        if self.entries.iter().any(listed) {
            return Ok(None);
        }
        let found = match &self.find_own {
            Some(find) => find(text),
            None => own::explain_absence(text).map(Err),
        };
        let refused = |problem| PolicyError::Own {
            kind: PolicyKind::PathScheduler,
            text: text.to_owned(),
            problem,
        };
        found.transpose().map_err(refused)
    }

    /// Adds a policy from elsewhere.
    ///
    /// # Errors
    /// [`PolicyError::NameInUse`].
    pub fn add(&mut self, entry: PolicyEntry) -> Result<(), PolicyError> {
        if self.entries.iter().any(|e| e.kind == entry.kind && e.name == entry.name) {
            let name = entry.name.to_owned();
            return Err(PolicyError::NameInUse { kind: entry.kind, name });
        }
        self.entries.push(entry);
        Ok(())
    }

    /// All policies, in the order in which they were added.
    pub fn entries(&self) -> &[PolicyEntry] {
        &self.entries
    }

    /// A factory for `spec`. All texts are checked here, so that making the policies of an
    /// association cannot fail.
    ///
    /// # Errors
    /// The first text in `spec` that names no policy, or sets an option wrongly.
    pub fn factory(&self, spec: &PolicySpec) -> Result<Arc<dyn PolicyFactory>, PolicyError> {
        Ok(Arc::new(Configured {
            spec: spec.clone(),
            path_scheduler: self.path_scheduler(&spec.path_scheduler)?,
            stream_scheduler: self.stream_scheduler(&spec.stream_scheduler)?,
            retransmission: self.retransmission(&spec.retransmission)?,
            buffer: self.buffer(&spec.buffer)?,
            congestion: self.congestion(&spec.congestion)?,
        }))
    }

    /// The recipe of the path scheduler that `text` names.
    ///
    /// # Errors
    /// An unknown name or option, or a value that the option does not take.
    pub fn path_scheduler(&self, text: &str) -> Result<Recipe<dyn PathScheduler>, PolicyError> {
        if let Some(own) = self.own_scheduler(text)? {
            return Ok(own.into_recipe());
        }
        self.recipe(PolicyKind::PathScheduler, text, |make| match make {
            Make::PathScheduler(configure) => Some(*configure),
            _ => None,
        })
    }

    /// The recipe of the stream scheduler that `text` names.
    ///
    /// # Errors
    /// As [`path_scheduler`](Self::path_scheduler).
    pub fn stream_scheduler(&self, text: &str) -> Result<Recipe<dyn StreamScheduler>, PolicyError> {
        self.recipe(PolicyKind::StreamScheduler, text, |make| match make {
            Make::StreamScheduler(configure) => Some(*configure),
            _ => None,
        })
    }

    /// The recipe of the retransmission policy that `text` names.
    ///
    /// # Errors
    /// As [`path_scheduler`](Self::path_scheduler).
    pub fn retransmission(
        &self,
        text: &str,
    ) -> Result<Recipe<dyn RetransmissionPolicy>, PolicyError> {
        self.recipe(PolicyKind::Retransmission, text, |make| match make {
            Make::Retransmission(configure) => Some(*configure),
            _ => None,
        })
    }

    /// The recipe of the buffer policy that `text` names.
    ///
    /// # Errors
    /// As [`path_scheduler`](Self::path_scheduler).
    pub fn buffer(&self, text: &str) -> Result<Recipe<dyn BufferPolicy>, PolicyError> {
        self.recipe(PolicyKind::Buffer, text, |make| match make {
            Make::Buffer(configure) => Some(*configure),
            _ => None,
        })
    }

    /// The recipe of the congestion control that `text` names.
    ///
    /// # Errors
    /// As [`path_scheduler`](Self::path_scheduler).
    pub fn congestion(&self, text: &str) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
        self.recipe(PolicyKind::Congestion, text, |make| match make {
            Make::Congestion(configure) => Some(*configure),
            _ => None,
        })
    }

    fn recipe<P: ?Sized>(
        &self,
        kind: PolicyKind,
        text: &str,
        select: impl Fn(&Make) -> Option<Configure<P>>,
    ) -> Result<Recipe<P>, PolicyError> {
        let name = text.split_once('?').map_or(text, |(name, _)| name);
        let is_taken = self.entries.iter().any(|e| e.kind == kind && e.name == name);
        let present = renamed::present_name(kind, name).filter(|_| !is_taken);
        let mut named = self.entries.iter().filter(|e| e.name == present.unwrap_or(name));
        let Some((entry, configure)) = named.find_map(|e| Some((e, select(&e.make)?))) else {
            let names = self.entries.iter().filter(|e| e.kind == kind).map(|e| e.name);
            let allowed = list_or_none(names);
            return Err(PolicyError::UnknownPolicy { kind, name: name.to_owned(), allowed });
        };
        let options = Options::parse(kind, entry.options, text, &*self.files)?;
        options.require(entry.needs)?;
        configure(&options)
    }
}

struct Configured {
    spec: PolicySpec,
    path_scheduler: Recipe<dyn PathScheduler>,
    stream_scheduler: Recipe<dyn StreamScheduler>,
    retransmission: Recipe<dyn RetransmissionPolicy>,
    buffer: Recipe<dyn BufferPolicy>,
    congestion: Recipe<dyn CongestionControl>,
}

impl fmt::Debug for Configured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.spec, f)
    }
}

impl PolicyFactory for Configured {
    fn build(&self, cc: &CcConfig, rng: &mut Rng) -> PolicySet {
        // One fork for each, wanted or not: exchanging one policy leaves the randomness of all else
        // as it was.
        PolicySet {
            path_scheduler: (self.path_scheduler)(cc, &mut rng.fork()),
            stream_scheduler: (self.stream_scheduler)(cc, &mut rng.fork()),
            retransmission: (self.retransmission)(cc, &mut rng.fork()),
            buffer: (self.buffer)(cc, &mut rng.fork()),
            congestion: (self.congestion)(cc, &mut rng.fork()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_rfc_9260_with_round_robin() {
        let factory = factory(&PolicySpec::default()).expect("the default is valid");
        let set = factory.build(&CcConfig::default(), &mut Rng::from_u64(1));
        let names = [
            set.path_scheduler.name(),
            set.stream_scheduler.name(),
            set.retransmission.name(),
            set.buffer.name(),
            set.congestion.name(),
        ];
        assert_eq!(names, ["rr", "fcfs", "ssthresh", "shared", "rfc9260"]);
    }

    #[test]
    fn an_unknown_name_lists_those_of_its_kind() {
        let spec = PolicySpec { buffer: "rr".to_owned(), ..PolicySpec::default() };
        let names: Vec<&str> = buffer::ENTRIES.iter().map(|entry| entry.name).collect();
        assert_eq!(
            factory(&spec).expect_err("no buffer policy").to_string(),
            format!("buffer policy \"rr\" is unknown; allowed: {}", names.join(", "))
        );
    }

    #[test]
    fn entries_are_complete_and_unique() {
        for (i, e) in all().iter().enumerate() {
            assert!(!e.summary.is_empty() && !e.source.is_empty(), "{}", e.name);
            assert!(!all()[..i].iter().any(|o| o.kind == e.kind && o.name == e.name), "{}", e.name);
            for option in e.options {
                assert!(!option.summary.is_empty() && !option.values.is_empty(), "{}", e.name);
            }
            for need in e.needs {
                assert!(
                    e.options.iter().any(|o| o.name == *need && o.default.is_empty()),
                    "{need}"
                );
            }
        }
        assert!(all().windows(2).all(|w| w[0].kind <= w[1].kind), "listed by kind");
    }

    #[test]
    fn own_schedulers_are_asked_for_last() {
        let find = |name: &str| match name {
            "mine" | "rr" => {
                Some(Ok(OwnScheduler::new(|_, _| Box::new(polypath_proto::policy::PrimaryPath))
                    .with_version("1")))
            }
            "broken" => Some(Err("does not compile".to_owned())),
            _ => None,
        };
        let registry = Registry::builtin().with_own_schedulers(find);
        let make = |name: &str| {
            let recipe = registry.path_scheduler(name).map_err(|error| error.to_string())?;
            Ok::<_, String>(recipe(&CcConfig::default(), &mut Rng::from_u64(1)).name())
        };
        assert_eq!(make("mine").as_deref(), Ok("primary"));
        assert_eq!(make("rr").as_deref(), Ok("rr"), "listed names come first");
        let broken = "path scheduler \"broken\": does not compile";
        assert_eq!(make("broken").unwrap_err(), broken);
        assert!(make("other").unwrap_err().contains("is unknown"));
        let version =
            |name| registry.own_scheduler(name).ok().flatten()?.version().map(str::to_owned);
        assert_eq!((version("mine").as_deref(), version("rr")), (Some("1"), None));
        let python = Registry::builtin().path_scheduler("my.py:Mine").err().unwrap().to_string();
        assert!(python.contains("pip install polypath"), "{python}");
    }

    #[test]
    fn a_name_is_added_once() {
        let mut registry = Registry::builtin();
        let refused = registry.add(scheduler::rr::ENTRY).expect_err("there is an rr");
        assert_eq!(
            refused.to_string(),
            "path scheduler \"rr\" exists already; allowed: a name that is not in use"
        );
        assert!(registry.add(PolicyEntry { name: "rr2", ..scheduler::rr::ENTRY }).is_ok());
        assert!(registry.path_scheduler("rr2?visit=packet").is_ok());
    }

    #[test]
    fn names_of_before_go_on_to_work_unless_somebody_else_has_them() {
        let made = |registry: &Registry| {
            let recipe = registry.path_scheduler("out").expect("an alias");
            recipe(&CcConfig::default(), &mut Rng::from_u64(1)).name()
        };
        let mut registry = Registry::builtin();
        assert_eq!(made(&registry), "cmt-out");
        assert!(registry.congestion("cmt?couple=detected").is_ok());
        assert!(registry.path_scheduler("cmt").is_err(), "another kind");
        let own = PolicyEntry { name: "out", ..scheduler::rr::ENTRY };
        registry.add(own).expect("not taken");
        assert_eq!(made(&registry), "rr");
    }

    #[test]
    fn policies_do_not_disturb_each_others_randomness() {
        let after = |retransmission: &str| {
            let retransmission = retransmission.to_owned();
            let spec = PolicySpec { retransmission, ..PolicySpec::default() };
            let mut rng = Rng::from_u64(5);
            factory(&spec).expect("valid").build(&CcConfig::default(), &mut rng);
            rng.next_u64()
        };
        assert_eq!(after("same"), after("asap"));
    }
}
