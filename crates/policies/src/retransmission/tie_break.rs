//! Ties broken at random: uniform over all that are equal.

use core::cmp::Ordering;

use polypath_proto::policy::RtxPick;
use polypath_proto::rng::Rng;
use polypath_proto::view::PathView;

/// One of the best of `paths`, where `order` is greatest for the best.
pub(super) fn best_at_random<'a>(
    rng: &mut Rng,
    paths: impl Iterator<Item = &'a PathView>,
    order: impl Fn(&PathView, &PathView) -> Ordering,
) -> RtxPick {
    let mut ties: Vec<&PathView> = Vec::new();
    for path in paths {
        match ties.first().map_or(Ordering::Equal, |best| order(path, best)) {
            Ordering::Less => continue,
            Ordering::Equal => {}
            Ordering::Greater => ties.clear(),
        }
        ties.push(path);
    }
    let chosen = match ties.len() {
        0 | 1 => ties.first(),
        n => ties.get(rng.below(n)),
    };
    chosen.map_or(RtxPick::Wait, |p| RtxPick::Use(p.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::paths;

    #[test]
    fn ties_are_uniform_over_more_than_two() {
        let mut p = paths(5);
        p[3].cwnd = 1;
        let mut rng = Rng::from_u64(3);
        let mut hits = [0u32; 5];
        for _ in 0..40_000 {
            let RtxPick::Use(id) = best_at_random(&mut rng, p.iter(), |a, b| a.cwnd.cmp(&b.cwnd))
            else {
                panic!("there are paths")
            };
            hits[id.index()] += 1;
        }
        assert_eq!(hits[3], 0);
        // Standard deviation sqrt(40000 x 1/4 x 3/4) = 87.
        assert!([0, 1, 2, 4].iter().all(|&i| hits[i].abs_diff(10_000) < 5 * 87), "{hits:?}");
    }

    #[test]
    fn without_a_tie_no_randomness_is_spent() {
        let mut p = paths(2);
        p[1].cwnd += 1;
        let mut rng = Rng::from_u64(3);
        assert_eq!(
            best_at_random(&mut rng, p.iter(), |a, b| a.cwnd.cmp(&b.cwnd)),
            RtxPick::Use(p[1].id)
        );
        assert_eq!(best_at_random(&mut rng, [].iter(), |_, _| Ordering::Equal), RtxPick::Wait);
        assert_eq!(rng.next_u64(), Rng::from_u64(3).next_u64());
    }
}
