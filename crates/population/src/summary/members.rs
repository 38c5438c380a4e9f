//! Which draws have something in common.

use crate::application::Application;
use crate::feature::Feature;
use crate::record::Record;

/// Draws under a name.
pub(crate) type Members<'a> = (&'static str, Vec<&'a Record>);

/// All draws, and the classes that bars are set for.
pub(crate) fn class_members(records: &[Record]) -> Vec<Members<'_>> {
    let any = |record: &Record, is: fn(Feature) -> bool| record.features.iter().any(|f| is(*f));
    let moves = |f: Feature| f.changes_network() || f.varies_delays();
    let of = |name: &'static str, is: &dyn Fn(&Record) -> bool| {
        (name, records.iter().filter(|record| is(record)).collect())
    };
    vec![
        of("all", &|_| true),
        of("lossless, steady", &|r| !any(r, Feature::loses_packets) && !any(r, moves)),
        of("lossless", &|r| !any(r, Feature::loses_packets)),
        of("changing or jittered", &|r| any(r, moves)),
        of("lossy", &|r| any(r, Feature::loses_packets)),
        of("two paths or more", &|r| r.paths > 1),
    ]
}

/// Draws by application.
pub(crate) fn application_members(records: &[Record]) -> Vec<Members<'_>> {
    let with = |one: Application| {
        (one.words(), records.iter().filter(|record| record.application == one).collect())
    };
    Application::ALL.into_iter().map(with).collect()
}

/// Draws by feature, of which a draw may have several; then those that have none.
pub(crate) fn feature_members(records: &[Record]) -> Vec<Members<'_>> {
    let with = |feature: Feature| {
        let members = records.iter().filter(|record| record.features.contains(&feature));
        (feature.words(), members.collect())
    };
    let none = records.iter().filter(|record| record.features.is_empty()).collect();
    Feature::ALL.into_iter().map(with).chain([("none of them", none)]).collect()
}

/// Draws that have a limit, by application, then all of them.
pub(crate) fn limit_members(records: &[Record]) -> Vec<Members<'_>> {
    let with = |name, application: Option<Application>| {
        let is_asked = |record: &&Record| application.is_none_or(|one| record.application == one);
        let limited = records.iter().filter(|record| record.limit.is_some());
        (name, limited.filter(is_asked).collect())
    };
    let saturated = Application::ALL.into_iter().filter(|one| one.is_saturated());
    saturated.map(|one| with(one.words(), Some(one))).chain([with("all of them", None)]).collect()
}
