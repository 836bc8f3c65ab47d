"""The published formulas, against values computed independently of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from quintain.stats import (
    clustered_se,
    mcnemar_exact,
    minimum_detectable_effect,
    pass_at_k,
    rogan_gladen,
    tasks_required,
    wilson,
    zero_events_upper,
)

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared/data/stat_golden/golden.json"


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    if not GOLDEN.exists():
        pytest.skip("the golden values are not beside this checkout (shared/data/stat_golden)")
    values: dict[str, Any] = msgspec.json.decode(GOLDEN.read_bytes())
    return values


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


def test_pass_at_k_matches_the_golden_values(golden: dict[str, Any]) -> None:
    for row in golden["pass_at_k"]:
        assert pass_at_k(row["n"], row["c"], row["k"]) == close(row["value"])


def test_wilson_matches_the_golden_values(golden: dict[str, Any]) -> None:
    for row in golden["wilson95"]:
        interval = wilson(row["k"], row["n"])
        assert (interval.lo, interval.hi) == (close(row["lo"]), close(row["hi"]))


def test_mcnemar_matches_the_golden_values(golden: dict[str, Any]) -> None:
    for row in golden["mcnemar_exact_two_sided"]:
        assert mcnemar_exact(row["b"], row["c"]) == close(row["p"])


def test_zero_events_bound_matches_the_golden_values(golden: dict[str, Any]) -> None:
    for row in golden["zero_events_upper95_one_sided"]:
        assert zero_events_upper(row["n"]) == close(row["upper"])


def test_sample_size_matches_the_golden_values(golden: dict[str, Any]) -> None:
    for row in golden["n_required"]:
        n = tasks_required(row["delta"], **_variances(row))
        assert n == close(row["n"])


def test_detectable_effect_matches_the_golden_values(golden: dict[str, Any]) -> None:
    for row in golden["mde"]:
        assert minimum_detectable_effect(row["n"], **_variances(row)) == close(row["delta"])


def test_clustered_se_matches_the_golden_values(golden: dict[str, Any]) -> None:
    for row in golden["clustered_se"]:
        values = [value for cluster in row["clusters"] for value in cluster]
        names = [i for i, cluster in enumerate(row["clusters"]) for _ in cluster]
        assert clustered_se(values, names) == close(row["se"])


def test_rogan_gladen_matches_the_golden_values(golden: dict[str, Any]) -> None:
    for row in golden["rogan_gladen"]:
        assert rogan_gladen(row["p_obs"], row["se"], row["sp"]) == close(row["value"])


def _variances(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "omega2": row["omega2"],
        "var_before": row["sa2"],
        "samples_before": row["ka"],
        "var_after": row["sb2"],
        "samples_after": row["kb"],
    }
