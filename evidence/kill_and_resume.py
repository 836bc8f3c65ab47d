"""A run killed three times with SIGKILL and resumed loses no attempt and makes none twice.

`quintain run tiny` is killed at three random points of its course. An attempt counts as
acknowledged when it can be read from the log right after the kill: each must be in the finished
run as it was then. Takes about six minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from _report import Seen, equal, main
from quintain.codec import digest
from quintain.log import TrialRecord, done, read_run, records

_KILLS = 3
_ROUGHLY = 11_000
"""Attempts of a whole run, of which the kills come at random shares."""
_MARK = b'{"type":"trial"'


class _Log:
    """Counts the attempts in a log that is being written, reading each byte once."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.read: dict[Path, int] = {}
        self.count = 0

    def look(self) -> int:
        for segment in sorted(self.run_dir.glob("segments/*.log")):
            with segment.open("rb") as file:
                file.seek(self.read.get(segment, 0))
                data = file.read()
            whole = data.rfind(b"\n") + 1
            self.read[segment] = self.read.get(segment, 0) + whole
            self.count += data[:whole].count(_MARK)
        return self.count


def _live(command: Sequence[str], log: _Log, wanted: int) -> bool:
    """Live one life until so many attempts are logged, then kill it; False if it ended before."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as life:
        while life.poll() is None and log.look() < wanted:
            time.sleep(0.02)  # nothing announces a line in another process's file
        if life.poll() is not None:
            return False
        life.send_signal(signal.SIGKILL)
        return life.wait() == -signal.SIGKILL


def _acknowledged(run_dir: Path) -> dict[str, str]:
    return {trial.id: digest(trial) for trial in done(run_dir).values()}


def _check(arguments: argparse.Namespace) -> Seen:
    draw = random.Random(arguments.seed)  # the moments; printed below, so that they can be repeated
    moments = sorted(draw.randint(arguments.trials // 50, arguments.trials) for _ in range(_KILLS))
    acknowledged: dict[str, str] = {}
    lost, kills = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder, "run")
        quintain = [sys.executable, "-m", "quintain", "run"]
        command = [*quintain, "tiny", "--out", str(run_dir), *_short(arguments.steps)]
        log = _Log(run_dir)
        for moment in moments:
            kills += _live(command, log, max(moment, log.look() + 1))
            found = _acknowledged(run_dir)
            lost += sum(found.get(key) != value for key, value in acknowledged.items())
            acknowledged = found
            command = [*quintain, "--resume", str(run_dir), "--json"]
        last = subprocess.run(command, capture_output=True, text=True, check=False)
        found = _acknowledged(run_dir)
        lost += sum(found.get(key) != value for key, value in acknowledged.items())
        written = Counter(r.trial.key for r in records(run_dir) if isinstance(r, TrialRecord))
        run = read_run(run_dir)
    told = json.loads(last.stdout)["trials"] if last.returncode == 0 else 0
    return Seen(
        bounds=(
            equal("lives killed", kills, _KILLS),
            equal("exit code of the last life", last.returncode, 0),
            equal("acknowledged attempts lost or changed", lost, 0),
            equal("attempts made twice", sum(times - 1 for times in written.values()), 0),
            equal("attempts that the result tells of", told, len(run.trials)),
        ),
        figures={
            "killed at so many attempts": ", ".join(map(str, moments)),
            "attempts acknowledged at the last kill": str(len(acknowledged)),
            "attempts in the end": str(len(run.trials)),
            "writes cut off by a kill": str(run.torn),
        },
        notes=(last.stderr[-400:].strip(),) if last.returncode else (),
    )


def _short(steps: int) -> list[str]:
    """Shorten everything in proportion, for a look at whether this script works."""
    if steps >= 40:
        return []
    few = {"sft_steps": 2 * steps, "grpo_steps": steps, "grpo_prompts": 4, "grpo_samples": 4}
    few |= {"held_out_code": 12, "probe_tasks": 4, "probe_every": 2, "checkpoint_every": 2}
    return [word for key, value in few.items() for word in ("--set", f"{key}={value}")]


if __name__ == "__main__":
    main(
        __file__,
        __doc__,
        _check,
        [
            ("steps", 40, "steps of reinforcement; below 40 everything is shortened"),
            ("trials", _ROUGHLY, "attempts within which the kills come"),
            ("seed", int.from_bytes(os.urandom(2), "big"), "of the moments"),
        ],
    )
