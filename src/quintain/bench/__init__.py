"""Benchmarks: ratios within one run, against the peer a user would otherwise pick and the floor."""

from quintain.bench._result import BenchResult, Figure, Ratio, paired_ratio, result

__all__ = ["BenchResult", "Figure", "Ratio", "paired_ratio", "result"]
