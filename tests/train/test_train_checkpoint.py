import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from train_examples import TEXTS, make_group, make_model

from quintain.errors import UserError
from quintain.policy import tiny_model
from quintain.train import (
    GrpoConfig,
    LocalPolicy,
    Optimization,
    Trainer,
    grpo_step,
    latest,
    load_checkpoint,
    save_checkpoint,
)

CONFIG = GrpoConfig(optimization=Optimization(lr=1e-3, warmup_steps=5))
REWARDS = (1.0, 0.0, 0.0, 1.0)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def test_a_loaded_run_continues_bit_for_bit(tmp_path: Path) -> None:
    local = LocalPolicy(*make_model(), name="tiny")
    groups = [make_group(local.sampler, REWARDS, seed=i) for i in range(4)]
    for group in groups[:2]:
        grpo_step(local.trainer, [group], CONFIG)
    path = save_checkpoint(tmp_path, local.trainer, b'{"cursor": 2}')
    drawn = torch.rand(3)
    expected = [grpo_step(local.trainer, [group], CONFIG) for group in groups[2:]]

    other, _ = make_model(seed=9)
    resumed = Trainer(other)
    assert load_checkpoint(path, resumed) == b'{"cursor": 2}'
    assert torch.equal(torch.rand(3), drawn)
    assert [grpo_step(resumed, [group], CONFIG) for group in groups[2:]] == expected
    for mine, theirs in zip(
        resumed.model.parameters(), local.trainer.model.parameters(), strict=True
    ):
        assert torch.equal(mine, theirs)


def test_the_last_two_are_kept_and_the_latest_is_found(tmp_path: Path) -> None:
    trainer = Trainer(make_model()[0])
    assert latest(tmp_path / "absent") is None
    for step in (1, 2, 10, 10):
        trainer.step = step
        save_checkpoint(tmp_path, trainer)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000002", "step-000010"]
    found = latest(tmp_path)
    assert found is not None
    assert found.name == "step-000010"


def test_a_writer_killed_in_the_middle_leaves_the_earlier_checkpoint(tmp_path: Path) -> None:
    trainer = Trainer(make_model()[0])
    trainer.step = 1
    save_checkpoint(tmp_path, trainer)
    script = (
        "import os, signal, sys, torch\n"
        "from pathlib import Path\n"
        "from quintain.policy import tiny_model\n"
        "from quintain.train import Trainer, save_checkpoint\n"
        "class Killer:\n"
        "    def __reduce__(self):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "trainer = Trainer(tiny_model(['a b'], 0)[0]); trainer.step = Killer()\n"
        "Killer.__format__ = lambda self, spec: '000002'\n"
        "save_checkpoint(Path(sys.argv[1]), trainer)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, os.fspath(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert any(p.name.startswith(".step-000002") for p in tmp_path.iterdir())
    found = latest(tmp_path)
    assert found is not None
    assert found.name == "step-000001"
    trainer.step = 3
    save_checkpoint(tmp_path, trainer)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000001", "step-000003"]


@pytest.mark.parametrize("damage", ["truncate", "remove"])
def test_a_damaged_checkpoint_is_refused_by_name(tmp_path: Path, damage: str) -> None:
    trainer = Trainer(make_model()[0])
    path = save_checkpoint(tmp_path, trainer)
    state = path / "state.pt"
    if damage == "remove":
        state.unlink()
    else:
        state.write_bytes(state.read_bytes()[:5000])
    with pytest.raises(UserError, match="step-000000"):
        load_checkpoint(path, trainer)


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, Trainer(make_model()[0]))
    other, _ = tiny_model(TEXTS, seed=0, vocabulary=260)
    with pytest.raises(UserError, match="cannot be loaded into this model"):
        load_checkpoint(path, Trainer(other))
