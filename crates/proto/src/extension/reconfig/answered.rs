//! Our answer to the peer's latest requests, kept for the case that it is lost (RFC 6525 section 5.2.1).

use polypath_wire::param::ReconfigResponse;

/// What the peer's latest requests were, and what we said to them.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    /// Sequence number of the first.
    pub(super) first: u32,
    pub(super) responses: Vec<ReconfigResponse>,
    /// One that a request of ours answers.
    pub(super) by_request: Option<u32>,
}

impl Answered {
    pub(super) fn update(&mut self, response: ReconfigResponse) {
        let same = |r: &&mut ReconfigResponse| r.response == response.response;
        if let Some(old) = self.responses.iter_mut().find(same) {
            *old = response;
        } else if self.by_request == Some(response.response) {
            self.by_request = None;
            self.responses.push(response);
        }
    }
}
