"""Environments for Gymnasium: an agent decides how the paths share new data.

Every `every` seconds the agent sees the figures of each path and of the association, scaled to
about 0 to 1 (`PATH_FIGURES`, `ASSOC_FIGURES`; their meaning: docs/reference/python.md), and
answers with a weight for each path. `polypath.Net` is a small net that does this; its `export`
writes the file of `learned?file=FILE`, which runs it in simulation and on real sockets.

`PathWeights` is one environment, `PathWeightsVector` steps hundreds of worlds in one call, on all
cores. Both end after the scenario's time (`truncated`).

Networks for training, validation and test come from seeds that never meet: `networks("train")`,
`networks("validation")`, `networks("test")`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from . import _polypath
from .scenario import Scenario

PATH_FIGURES, ASSOC_FIGURES, MEASURES = (tuple(names) for names in _polypath.figure_names())

#: First seeds of the networks of each split; draws of one never reach the next.
SPLITS = {"train": 3_200_000_000, "validation": 3_300_000_000, "test": 3_400_000_000}

#: What is measured in a step, by name: an array with a number for each world.
Measured = dict[str, np.ndarray]
#: From what was measured to the reward of each world.
Reward = Callable[[Measured], np.ndarray]
#: The scenario of a new episode, from a number that counts episodes and the world's seed.
Domain = Callable[[int], Scenario]


def share_less_delay(measured: Measured) -> np.ndarray:
    """The default reward: what arrived over what the network admits, less the queueing.

    `delivered * 8 / (limit * seconds) - queueing / 0.1`: 1 for a step at the limit with empty
    queues, 0.5 less for 50 ms of queueing. Where the limit is not defined, over 10 Mbit/s.
    """
    limit = np.where(np.isfinite(measured["limit"]), measured["limit"], 10e6)
    seconds = np.maximum(measured["seconds"], 1e-9)
    share = measured["delivered"] * 8 / (limit * seconds)
    return np.asarray(share - measured["queueing"] / 0.1)


def networks(split: str = "train", packets: int = 10_000) -> Domain:
    """Random networks of the population, a new one for each episode."""
    if split not in SPLITS:
        raise ValueError(f"split = {split!r} (allowed: {', '.join(SPLITS)})")
    return lambda episode: _polypath.draw_network(SPLITS[split], episode, packets)


def same(scenario: Scenario | str) -> Domain:
    """The same network in each episode; its seed changes."""
    fixed = Scenario.load(scenario) if isinstance(scenario, str) else scenario
    return lambda _episode: fixed


def _domain(of: Domain | Scenario | str) -> Domain:
    return same(of) if isinstance(of, (Scenario, str)) else of


class _Worlds:
    """What both kinds of environment have in common."""

    def __init__(self, count: int, domain: Any, paths: int, every: float, window: bool, threads: int):
        self.count, self.paths, self.window = count, paths, window
        self.domain = _domain(domain)
        self.native = _polypath.Worlds(count, paths, every, threads)
        width = paths * len(PATH_FIGURES) + len(ASSOC_FIGURES)
        self.observation = spaces.Box(0.0, 10.0, (width,), np.float32)
        # Weights, and factors of congestion windows where they are wanted.
        self.action = spaces.Box(0.0, 1.0, (paths * (2 if window else 1),), np.float32)

    def reset(self, place: int, episode: int, seed: int) -> None:
        self.native.reset(place, self.domain(episode), seed)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, Measured, np.ndarray]:
        if not np.isfinite(actions).all():
            raise ValueError("actions have numbers that are not finite (allowed: 0 to 1)")
        clipped = np.clip(actions.astype(np.float32), 0.0, 1.0).reshape(self.count, -1, self.paths)
        both = np.ones((self.count, self.paths, 2), np.float32)
        both[:, :, 0] = clipped[:, 0]
        if self.window:
            # Never less than a sixteenth of the window: an empty network teaches nothing.
            both[:, :, 1] = np.maximum(clipped[:, 1], 1 / 16)
        return self.seen(self.native.step(both))

    def look(self) -> tuple[np.ndarray, Measured, np.ndarray]:
        return self.seen(self.native.look())

    def seen(self, arrays: Any) -> tuple[np.ndarray, Measured, np.ndarray]:
        paths, assoc, measured, over = arrays
        observation = np.concatenate([paths.reshape(self.count, -1), assoc], axis=1)
        columns = {name: measured[:, number] for number, name in enumerate(MEASURES)}
        return observation, columns, over


class PathWeights(gymnasium.Env):  # type: ignore[type-arg]
    """One world. `domain` is a scenario, the name of one, or a function such as `networks()`.

    There is room for as many paths as `paths` says; those that a scenario lacks are all zeros. Those
    of `networks()` have up to 8.
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        domain: Domain | Scenario | str = "three-dissimilar",
        *,
        paths: int = 8,
        every: float = 0.01,
        window: bool = False,
        reward: Reward = share_less_delay,
        render_mode: str | None = None,
    ) -> None:
        self._worlds = _Worlds(1, domain, paths, every, window, 1)
        self.reward = reward
        self.render_mode = render_mode
        self.observation_space = self._worlds.observation
        self.action_space = self._worlds.action
        self._episode = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._episode = 0
        world = int(self.np_random.integers(2**62))
        self._worlds.reset(0, self._episode, world)
        self._episode += 1
        # Until the association is set up there is nothing to decide.
        observation, _, _ = self._worlds.step(np.ones((1, *self.action_space.shape), np.float32))
        return observation[0], {"seed": world}

    def step(
        self, action: np.ndarray
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        observation, measured, over = self._worlds.step(np.asarray(action)[None])
        reward = float(self.reward(measured)[0])
        info = {name: float(values[0]) for name, values in measured.items()}
        return observation[0], reward, False, bool(over[0]), info


class PathWeightsVector(VectorEnv):  # type: ignore[type-arg]
    """Many worlds, stepped in one call on all cores.

    Worlds that are over begin anew in the next step, with the next episode of `domain`. With
    `autoreset=False` they stay as they are, measure 0 and earn nothing until all are reset: so that
    policies can be compared on the same episodes.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        domain: Domain | Scenario | str = "three-dissimilar",
        num_envs: int = 64,
        *,
        paths: int = 8,
        every: float = 0.01,
        window: bool = False,
        reward: Reward = share_less_delay,
        threads: int = 0,
        autoreset: bool = True,
    ) -> None:
        self._worlds = _Worlds(num_envs, domain, paths, every, window, threads)
        self.num_envs = num_envs
        self.reward = reward
        self.single_observation_space = self._worlds.observation
        self.single_action_space = self._worlds.action
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self.autoreset = autoreset
        if not autoreset:
            self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode.DISABLED}
        self._over = np.zeros(num_envs, bool)
        self._episode = 0

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        seeds = list(seed) if isinstance(seed, Sequence) else None
        super().reset(seed=seed if seeds is None else seeds[0])
        if seed is not None:
            self._episode = 0
        for place in range(self.num_envs):
            self._renew(place, None if seeds is None else seeds[place])
        self._over[:] = False
        observation, _, _ = self._worlds.step(np.ones(self.action_space.shape, np.float32))
        return observation, {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        idle = self._over.copy()
        if self.autoreset:
            for place in np.flatnonzero(idle):
                self._renew(int(place), None)
        observation, measured, over = self._worlds.step(np.asarray(actions))
        rewards = np.where(idle, 0.0, self.reward(measured))
        self._over = np.asarray(over).copy()
        return observation, rewards, np.zeros(self.num_envs, bool), self._over.copy(), measured

    def _renew(self, place: int, seed: int | None) -> None:
        world = int(self.np_random.integers(2**62)) if seed is None else seed
        self._worlds.reset(place, self._episode, world)
        self._episode += 1


def episodes(domain: Domain | Scenario | str, count: int, first: int = 0) -> Iterator[Scenario]:
    """The scenarios of so many episodes, from the `first` one on."""
    of = _domain(domain)
    return (of(episode) for episode in range(first, first + count))
