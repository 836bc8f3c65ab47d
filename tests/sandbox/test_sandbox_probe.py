"""The probe says what this host can isolate, and says so in the privileges that it has."""

from __future__ import annotations

import os
import subprocess

import msgspec
import pytest
from battery_as_nobody import AS_NOBODY, nobody_environment, ordinary_python

from quintain.sandbox import ALL_WALLS, DEFAULT_WALLS, WallReport, probe

_PRINT = (
    "from quintain.codec import encode; from quintain.sandbox import probe; "
    "print(encode(probe()).decode())"
)


def test_the_probe_finds_every_required_wall_standing() -> None:
    reports = probe()
    assert {report.wall for report in reports} == set(ALL_WALLS) - {"sampling"}
    for report in reports:
        assert report.evidence
        assert report.stands == (report.hint == "")
        if report.required:
            assert report.stands, report
    assert {report.wall for report in reports if report.required} == DEFAULT_WALLS


@pytest.mark.skipif(os.getuid() != 0, reason="already an ordinary user")
def test_an_ordinary_user_is_told_what_is_missing_and_how_to_get_it() -> None:
    command = [*AS_NOBODY, ordinary_python(), "-c", _PRINT]
    done = subprocess.run(
        command, env=nobody_environment(), cwd="/", check=True, capture_output=True
    )
    reports = msgspec.json.decode(done.stdout, type=list[WallReport])
    by_wall = {report.wall: report for report in reports}
    assert all(by_wall[wall].stands for wall in DEFAULT_WALLS)
    assert not by_wall["own_uid"].stands
    assert "root" in by_wall["own_uid"].hint
