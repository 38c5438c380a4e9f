//! Random worlds that found a fault, played again. What each of them was:
//! `docs/measurements/hostile-worlds.md`.
//! A change of the generator makes other worlds of them; then they are worlds like any others.

mod common;

use common::random_policies;
use polypath_testkit::interact::examine_seed;

#[test]
fn worlds_that_once_broke_a_promise_do_not() {
    let seeds = [
        13_032_566, 13_095_672, 18_032_022, 18_079_623, 21_071_158, 24_072_350, 27_065_757,
        30_033_358, 30_055_242, 30_073_183, 30_075_197, 34_054_391, 34_096_109, 42_102_463,
        42_293_363, 62_035_437, 62_037_802, 62_049_119, 62_053_122, 62_104_543,
    ];
    for seed in seeds {
        if let Some(failure) = examine_seed(seed, &random_policies) {
            panic!("{failure}");
        }
    }
}
