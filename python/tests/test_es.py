"""The evolution strategy."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from polypath import es


def test_its_example():
    assert doctest.testmod(es).failed == 0


def test_candidates_come_in_pairs_and_repeat():
    one, two = (es.EvolutionStrategy(np.ones(3), pairs=4, seed=7) for _ in range(2))
    for _ in range(3):
        asked = one.ask()
        assert asked.shape == (8, 3) and (asked == two.ask()).all()
        assert np.allclose(asked[:4] + asked[4:], 2 * one.mean)
        for strategy in (one, two):
            strategy.tell(asked[:, 0])
        assert (one.mean == two.mean).all()
    assert one.mean[0] > 1 and one.generation == 3


def test_only_ranks_count():
    one, two = (es.EvolutionStrategy(np.zeros(3), pairs=4, seed=7) for _ in range(2))
    asked = one.ask(), two.ask()
    one.tell(asked[0][:, 0])
    two.tell(np.exp(50 * asked[1][:, 0]))
    assert (one.mean == two.mean).all()
    one.ask()
    one.tell(np.zeros(8))
    assert abs(one.mean).max() < 0.2, "equals have no slope; the step is what is left of the last"


def test_what_is_not_a_number_is_worst():
    strategy = es.EvolutionStrategy(np.zeros(2), pairs=4, seed=7)
    asked = strategy.ask()
    strategy.tell(np.where(asked[:, 0] < 0, np.nan, asked[:, 0]))
    assert strategy.mean[0] > 0


def test_what_does_not_fit_is_refused():
    strategy = es.EvolutionStrategy(np.zeros(2), pairs=4)
    with pytest.raises(ValueError, match="once after each ask"):
        strategy.tell(np.zeros(8))
    strategy.ask()
    with pytest.raises(ValueError, match=r"allowed: \(8,\)"):
        strategy.tell(np.zeros(7))
    for broken in ({"start": [[0.0]]}, {"start": [0.0], "sigma": 0.0}, {"start": [np.nan]}):
        with pytest.raises(ValueError, match="allowed"):
            es.EvolutionStrategy(**broken)
