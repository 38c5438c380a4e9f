"""Small nets that were trained in Python, as files that Rust runs: `learned?file=FILE`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _polypath

PATH_FIGURES, ASSOC_FIGURES, _ = (tuple(names) for names in _polypath.figure_names())

#: What the net sees of one path: its figures, those of the association, and the mean over usable
#: paths. So one net serves any number of paths, in any order.
INPUTS = 2 * len(PATH_FIGURES) + len(ASSOC_FIGURES)

_ACTIVATIONS = {
    "tanh": np.tanh,
    "relu": lambda values: np.maximum(values, 0.0),
    "linear": lambda values: values,
}


class Net:
    """Layers of a small net: `(weights, bias, activation)`, weights with a row for each unit.

    It has `INPUTS` inputs, and one output or two: the logit of the path's weight, and, through a
    sigmoid to 0.25 to 1, the part of its congestion window that it may fill.
    """

    def __init__(self, layers: Sequence[tuple[Any, Any, str]], every: float = 0.01) -> None:
        self.layers = [
            (np.asarray(weights, np.float64), np.asarray(bias, np.float64), activation)
            for weights, bias, activation in layers
        ]
        self.every = every
        width = INPUTS
        for number, (weights, bias, activation) in enumerate(self.layers):
            if weights.ndim != 2 or weights.shape[1] != width or bias.shape != weights.shape[:1]:
                raise ValueError(
                    f"layer {number}: weights of shape {weights.shape}, bias of {bias.shape} "
                    f"(allowed: (units, {width}) and (units,))"
                )
            if activation not in _ACTIVATIONS:
                raise ValueError(
                    f"layer {number}: activation {activation!r} (allowed: {', '.join(_ACTIVATIONS)})"
                )
            if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
                raise ValueError(f"layer {number}: a number that is not finite")
            width = weights.shape[0]
        if width not in (1, 2):
            raise ValueError(f"{width} outputs (allowed: 1, or 2 with a factor of the window)")

    @classmethod
    def of_vector(
        cls, vector: Any, hidden: Sequence[int] = (16,), outputs: int = 1, every: float = 0.01
    ) -> Net:
        """A net of tanh units from all its numbers in one row, as evolution strategies have them."""
        numbers = np.asarray(vector, np.float64).ravel()
        wanted = cls.size(hidden, outputs)
        if len(numbers) != wanted:
            raise ValueError(f"{len(numbers)} numbers (allowed: {wanted} for this net)")
        layers, at, width = [], 0, INPUTS
        sizes = [*hidden, outputs]
        for number, units in enumerate(sizes):
            weights = numbers[at : at + units * width].reshape(units, width)
            at += units * width
            bias = numbers[at : at + units]
            at += units
            last = number + 1 == len(sizes)
            layers.append((weights, bias, "linear" if last else "tanh"))
            width = units
        return cls(layers, every)

    @staticmethod
    def size(hidden: Sequence[int] = (16,), outputs: int = 1) -> int:
        """How many numbers such a net has."""
        widths = [INPUTS, *hidden, outputs]
        return sum((before + 1) * after for before, after in zip(widths, widths[1:], strict=False))

    def actions(self, observation: Any, paths: int) -> np.ndarray:
        """What the net does on observations of `polypath.gym`: weights for each world and path.

        The same as `learned` does, but for the last bits.
        """
        observation = np.atleast_2d(np.asarray(observation, np.float64))
        split = paths * len(PATH_FIGURES)
        figures = observation[:, :split].reshape(-1, paths, len(PATH_FIGURES))
        assoc = observation[:, None, split:].repeat(paths, axis=1)
        usable = figures[:, :, :1]
        count = np.maximum(usable.sum(axis=1, keepdims=True), 1.0)
        mean = ((figures * usable).sum(axis=1, keepdims=True) / count).repeat(paths, axis=1)
        values = np.concatenate([figures, assoc, mean], axis=2)
        for weights, bias, activation in self.layers:
            values = _ACTIVATIONS[activation](values @ weights.T + bias)
        logits = np.where(usable[:, :, 0] > 0, values[:, :, 0], -np.inf)
        top = np.where(np.isfinite(logits).any(axis=1, keepdims=True), logits, 0.0)
        weights = np.exp(top - top.max(axis=1, keepdims=True))
        if values.shape[2] == 1:
            return weights.astype(np.float32)
        factors = 0.25 + 0.75 / (1.0 + np.exp(-values[:, :, 1]))
        return np.concatenate([weights, factors], axis=1).astype(np.float32)

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Net:
        """The net in a file that `export` wrote."""
        with open(file, encoding="utf-8") as text:
            content = json.load(text)
        known = {"format": "polypath-learned", "version": 1, "observation": 1}
        for field, wanted in known.items():
            if content.get(field) != wanted:
                found = content.get(field)
                raise ValueError(f"{os.fspath(file)}: {field} = {found!r} (allowed: {wanted!r})")
        layers = [(part["weights"], part["bias"], part["activation"]) for part in content["layers"]]
        return cls(layers, content.get("every_ms", 10) / 1000)

    def export(self, file: str | os.PathLike[str]) -> str:
        """Writes the file, and returns the name of the scheduler: `learned?file=FILE`."""
        content = {
            "format": "polypath-learned",
            "version": 1,
            "observation": 1,
            "every_ms": round(self.every * 1000),
            "layers": [
                {"weights": weights.tolist(), "bias": bias.tolist(), "activation": activation}
                for weights, bias, activation in self.layers
            ],
        }
        with open(file, "w", encoding="utf-8") as out:
            json.dump(content, out)
        return f"learned?file={os.fspath(file)}"
