//! Reads every statistic that an application can get, by its type and its fields.

use std::time::Duration;

use polypath::{
    AbandonedMessages, AgreedExtensions, AssocSettings, AssocStats, Association, Contact, Endpoint,
    EndpointStats, LimitStats, PathInfo, PathMtuStats, PathSettings, PathStats, SenderQueueInfo,
    State, StreamStats,
};

/// Everything of an association, in one line.
pub fn of_association(association: &Association) -> String {
    let stats: AssocStats = association.stats();
    let streams: Vec<StreamStats> = [&stats.streams_out[..], &stats.streams_in[..]].concat();
    let limits: LimitStats = association.limits();
    let queue: SenderQueueInfo = association.sender_queue_info();
    let abandoned: AbandonedMessages = association.abandoned(None);
    let agreed: AgreedExtensions = association.agreed();
    let settings: Option<AssocSettings> = association.settings();
    let state: State = association.state();
    let paths: Vec<String> = association.paths().iter().map(of_path).collect();
    // What is acknowledged between two calls makes room.
    assert!((queue.limit - queue.used..=queue.limit).contains(&association.writable()));
    format!(
        "{state:?}, peer port {:?}, {} messages sent, {} delivered, {} streams, {} bytes waiting, \
         {} abandoned, {agreed:?}, {settings:?}, {limits:?}, buffers {:?}\n{}",
        association.peer_port(),
        stats.messages_sent,
        stats.messages_delivered,
        streams.len(),
        queue.used,
        abandoned.total().sent,
        association.buffer_sizes(),
        paths.join("\n"),
    )
}

/// Everything of a path.
fn of_path(path: &PathInfo) -> String {
    let stats: &PathStats = &path.stats;
    let mtu: &PathMtuStats = &path.mtu;
    let contact: &Contact = &path.contact;
    assert!(contact.silent_for.is_none_or(|silence| silence < Duration::from_secs(60)));
    format!("{} -> {}: {stats:?} {mtu:?} {contact:?}", stats.local, stats.remote)
}

/// The settings of every path.
pub fn path_settings(association: &Association) -> Vec<PathSettings> {
    let paths = association.paths();
    paths.iter().filter_map(|path| association.path_settings(path.stats.path)).collect()
}

/// What happened outside of associations.
pub fn of_endpoint(endpoint: &Endpoint) -> EndpointStats {
    endpoint.stats()
}
