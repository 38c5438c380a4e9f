//! Makes a failing script short.

use super::script::Script;
use super::setup::LinkSetup;

/// Attempts, at most: a stuck run takes a while.
const ATTEMPTS: u32 = 300;

/// Drops what is not needed for `fails` to hold: halves of the script first, then smaller pieces,
/// then single ones, then what the links do to packets.
pub fn shrink_script(script: Script, fails: impl Fn(&Script) -> bool) -> Script {
    let mut left = ATTEMPTS;
    let mut still_fails = |candidate: &Script| {
        left = left.saturating_sub(1);
        left > 0 && fails(candidate)
    };
    let script = drop_ops(script, &mut still_fails);
    let script = calm_links(script, &mut still_fails);
    drop_ops(script, &mut still_fails)
}

fn drop_ops(mut script: Script, fails: &mut impl FnMut(&Script) -> bool) -> Script {
    let mut piece = script.ops.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        while at < script.ops.len() {
            let mut candidate = script.clone();
            candidate.ops.drain(at..(at + piece).min(script.ops.len()));
            if fails(&candidate) {
                script = candidate;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    script
}

fn calm_links(mut script: Script, fails: &mut impl FnMut(&Script) -> bool) -> Script {
    let calmers: [fn(&mut LinkSetup); 5] = [
        |link| link.loss = 0.0,
        |link| link.duplicate = 0.0,
        |link| link.corrupt = 0.0,
        |link| link.jitter = 0,
        |link| link.mtu = u32::MAX,
    ];
    for calm in calmers {
        let mut candidate = script.clone();
        candidate.setup.links.iter_mut().for_each(calm);
        if fails(&candidate) {
            script = candidate;
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use polypath_proto::policy::Rfc9260Policies;

    use super::*;
    use crate::interact::{Op, Policies};
    use crate::world::HostId;

    #[test]
    fn what_does_not_matter_goes() {
        let choose = |_: &mut polypath_proto::rng::Rng| Policies {
            name: "rfc9260".to_owned(),
            factory: Arc::new(Rfc9260Policies),
        };
        let mut script = Script::random(1, &choose);
        script.ops = (1..20).map(Op::Advance).collect();
        script.ops.insert(7, Op::Abort(HostId::SERVER));
        script.ops.push(Op::Shutdown(HostId::CLIENT));
        let needed = |s: &Script| {
            let has = |op: Op| s.ops.contains(&op);
            has(Op::Abort(HostId::SERVER)) && has(Op::Shutdown(HostId::CLIENT))
        };
        let short = shrink_script(script, needed);
        assert_eq!(short.ops, [Op::Abort(HostId::SERVER), Op::Shutdown(HostId::CLIENT)]);
        assert!(
            short.setup.links.iter().all(|l| l.loss == 0.0 && l.jitter == 0 && l.mtu == u32::MAX)
        );
    }
}
