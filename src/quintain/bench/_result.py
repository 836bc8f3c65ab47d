"""The shape every benchmark reports in.

Ratios are medians of pairs interleaved within one run, because machines are noisy and two runs are
not comparable; the spread beside them says how noisy this one was.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from quintain.types import Noun

__all__ = ["BenchResult", "Figure", "Ratio", "paired_ratio", "result"]


class Figure(Noun, frozen=True, kw_only=True):
    """A measured quantity."""

    value: float
    unit: str


class BenchResult(Noun, frozen=True, kw_only=True):
    """What `quintain bench NAME --json` prints."""

    bench: str
    ratios: Mapping[str, float]
    figures: Mapping[str, Figure]
    spread: Mapping[str, tuple[float, float]]
    """10th and 90th percentile of each ratio's pairs."""
    versions: Mapping[str, str]
    cores: int


class Ratio(Noun, frozen=True, kw_only=True):
    """A ratio of interleaved measurements, with its spread."""

    median: float
    low: float
    high: float


def paired_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Ratio:
    """Take the ratio of each interleaved pair, then their median and 10th and 90th percentiles.

    Raises `ValueError` when the sequences differ in length or are empty.
    """
    ratios = [a / b for a, b in zip(numerators, denominators, strict=True)]
    low, median, high = np.percentile(ratios, [10, 50, 90])
    return Ratio(median=float(median), low=float(low), high=float(high))


def result(
    bench: str,
    *,
    ratios: Mapping[str, Ratio],
    figures: Mapping[str, Figure],
    packages: Sequence[str] = (),
) -> BenchResult:
    """Assemble a result, naming the versions that were measured."""
    return BenchResult(
        bench=bench,
        ratios={name: ratio.median for name, ratio in ratios.items()},
        figures=figures,
        spread={name: (ratio.low, ratio.high) for name, ratio in ratios.items()},
        versions={
            "python": platform.python_version(),
            "kernel": platform.release(),
            **{name: _version(name) for name in ("quintain", *packages)},
        },
        cores=len(os.sched_getaffinity(0)),
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
