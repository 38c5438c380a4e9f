"""An evolution strategy: how to learn a few hundred numbers with numpy alone.

It is OpenAI's (Salimans et al., *Evolution Strategies as a Scalable Alternative to Reinforcement
Learning*, 2017): candidates around a mean, in antithetic pairs; their ranks instead of what they
earned; and Adam's steps (Kingma and Ba, 2015).

>>> strategy = EvolutionStrategy([0.0, 0.0], sigma=0.1, rate=0.1, seed=1)
>>> for _ in range(100):
...     candidates = strategy.ask()
...     strategy.tell(-((candidates - [1, 2]) ** 2).sum(axis=1))
>>> bool(abs(strategy.mean - [1, 2]).max() < 0.1)
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["EvolutionStrategy"]


class EvolutionStrategy:
    """Asks for the fitness of candidates, and moves its `mean` to where it is greater.

    `sigma` is how far from the mean candidates are, `rate` how far a number moves in a generation
    at first; both may be changed between generations. Compare all candidates of a generation on the
    same worlds and seeds: only ranks count.
    """

    def __init__(
        self, start: Any, *, pairs: int = 8, sigma: float = 0.1, rate: float = 0.05, seed: int = 0
    ) -> None:
        self.mean = np.array(start, np.float64)
        if self.mean.ndim != 1 or not np.isfinite(self.mean).all():
            raise ValueError(f"start of shape {self.mean.shape} (allowed: a row of finite numbers)")
        if pairs < 1 or not sigma > 0:
            raise ValueError(f"pairs = {pairs}, sigma = {sigma} (allowed: 1 or more, above 0)")
        self.pairs, self.sigma, self.rate = pairs, sigma, rate
        self.generation = 0
        self._random = np.random.default_rng(seed)
        self._noise: np.ndarray | None = None
        self._first, self._second = np.zeros_like(self.mean), np.zeros_like(self.mean)

    def ask(self) -> np.ndarray:
        """The candidates of the next generation: two rows for each pair."""
        half = self._random.normal(size=(self.pairs, len(self.mean)))
        self._noise = np.concatenate([half, -half])
        return self.mean + self.sigma * self._noise

    def tell(self, fitness: Any) -> None:
        """What each candidate of the last `ask` is worth: more is better. NaN is worst."""
        fitness = np.asarray(fitness, np.float64)
        if self._noise is None or fitness.shape != (2 * self.pairs,):
            raise ValueError(
                f"fitness of shape {fitness.shape} (allowed: ({2 * self.pairs},), once after each ask)"
            )
        fitness = np.where(np.isnan(fitness), -np.inf, fitness)
        # Equals share their ranks.
        ranks = (fitness[:, None] > fitness).sum(axis=1) - (fitness[:, None] < fitness).sum(axis=1)
        slope = ranks / (2 * len(ranks)) @ self._noise / (len(ranks) * self.sigma)
        self._noise = None
        self.generation += 1
        self._first = 0.9 * self._first + 0.1 * slope
        self._second = 0.99 * self._second + 0.01 * slope**2
        first = self._first / (1 - 0.9**self.generation)
        second = self._second / (1 - 0.99**self.generation)
        self.mean = self.mean + self.rate * first / (np.sqrt(second) + 1e-8)
