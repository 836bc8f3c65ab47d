"""The bench measures every side and reports the ratios that it promises."""

from __future__ import annotations

import pytest

from quintain.bench.sandbox import bench
from quintain.sandbox._bwrap import available


@pytest.mark.skipif(not available(), reason="bubblewrap is not installed")
def test_every_ratio_is_measured() -> None:
    found = bench(seconds=0.4, slice_s=0.4)
    promised = {"vs_bwrap_trivial", "vs_bwrap_imports", "vs_floor", "pooled_vs_floor"}
    assert promised | {"p99_over_p50"} <= set(found.ratios)
    assert all(value > 0 for value in found.ratios.values())
    assert set(found.spread) == set(found.ratios)
    assert found.figures["fresh_trivial"].unit == "executions/s"
