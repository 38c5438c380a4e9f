//! What is wrong with the text of a policy.

use crate::kind::PolicyKind;
use crate::nearest::did_you_mean;

/// Why a text names no policy. One line: the kind, the text, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy of this name.
    #[error(
        "{kind} {name:?} is unknown{}; allowed: {allowed}",
        did_you_mean(name, allowed.split(", "))
    )]
    UnknownPolicy {
        /// Which of the five.
        kind: PolicyKind,
        /// The name as given.
        name: String,
        /// The names that there are.
        allowed: String,
    },
    /// A part after the `?` is not `key=value`.
    #[error("{kind} {text:?}: {part:?} is malformed; allowed: name?key=value&key=value")]
    Malformed {
        /// Which of the five.
        kind: PolicyKind,
        /// The whole text.
        text: String,
        /// The part in question.
        part: String,
    },
    /// The policy has no such option.
    #[error(
        "{kind} {text:?}: option {option:?} is unknown{}; allowed: {allowed}",
        did_you_mean(option, allowed.split(", "))
    )]
    UnknownOption {
        /// Which of the five.
        kind: PolicyKind,
        /// The whole text.
        text: String,
        /// The option in question.
        option: String,
        /// The options that there are.
        allowed: String,
    },
    /// An option was given more than once.
    #[error("{kind} {text:?}: option {option:?} is given twice; allowed: once")]
    RepeatedOption {
        /// Which of the five.
        kind: PolicyKind,
        /// The whole text.
        text: String,
        /// The option in question.
        option: String,
    },
    /// The option does not take this value.
    #[error("{kind} {text:?}: option {option:?} is {value:?}; allowed: {allowed}")]
    BadValue {
        /// Which of the five.
        kind: PolicyKind,
        /// The whole text.
        text: String,
        /// The option in question.
        option: String,
        /// Its value as given.
        value: String,
        /// What it takes.
        allowed: String,
    },
    /// A scheduler from outside of the lists cannot be had.
    #[error("{kind} {text:?}: {problem}")]
    Own {
        /// Which of the five.
        kind: PolicyKind,
        /// The whole text.
        text: String,
        /// Why, in words.
        problem: String,
    },
    /// An option that the policy needs was not given.
    #[error("{kind} {text:?}: option {option:?} is missing; allowed: {option}={values}")]
    MissingOption {
        /// Which of the five.
        kind: PolicyKind,
        /// The whole text.
        text: String,
        /// The option in question.
        option: String,
        /// What it takes.
        values: String,
    },
    /// The file that an option names cannot be read, or does not say what it should.
    #[error("{kind} {text:?}: option {option:?}: {problem}")]
    BadFile {
        /// Which of the five.
        kind: PolicyKind,
        /// The whole text.
        text: String,
        /// The option in question.
        option: String,
        /// What is wrong.
        problem: String,
    },
    /// [`Registry::add`](crate::Registry::add) was given a name that is in use.
    #[error("{kind} {name:?} exists already; allowed: a name that is not in use")]
    NameInUse {
        /// Which of the five.
        kind: PolicyKind,
        /// The name.
        name: String,
    },
}
