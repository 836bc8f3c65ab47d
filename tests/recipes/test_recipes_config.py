from collections.abc import Callable
from pathlib import Path

import pytest

from quintain.errors import UserError
from quintain.recipes import describe, prepare, resume
from quintain.recipes._config import RunConfig, apply_overrides
from quintain.recipes._smollm2 import smollm2
from quintain.recipes._tiny import tiny


@pytest.mark.parametrize("make", [tiny, smollm2])
def test_every_recipe_is_within_its_own_ranges(make: Callable[[], RunConfig]) -> None:
    assert apply_overrides(make(), []) == make()


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("grpo_steps", "no '='"),
        ("grpo_step=3", "unknown key 'grpo_step'"),
        ("recipe=other", "unknown key 'recipe'"),
        ("grpo_steps=-1", "must be 0 or more"),
        ("grpo_steps=many", "--set grpo_steps=many"),
        ("sft_lr=nan", "must be above 0"),
        ("sft_lr=inf", "must be above 0"),
        ("seed=99999999999999999999999", "below 2**63"),
        ("levels=99", "at most 6"),
        ("code_share=1.5", "must be between 0 and 1"),
        ("grpo_samples=1", "must be at least 2"),
        ("precision=fp8", "--set precision=fp8"),
    ],
)
def test_a_bad_override_is_refused_by_name_with_a_way_out(override: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        apply_overrides(tiny(), [override])
    assert says in caught.value.message
    assert caught.value.hint


def test_overrides_replace_leaves_and_nothing_else() -> None:
    config = apply_overrides(tiny(), ["grpo_steps=7", "precision=bf16", "max_trials=100"])
    assert (config.grpo_steps, config.precision.value, config.max_trials) == (7, "bf16", 100)
    assert config.sft_steps == tiny().sft_steps


@pytest.mark.parametrize(
    ("recipe", "says"), [("tinny", "did you mean 'tiny'"), ("zzz", "tiny, smollm2")]
)
def test_an_unknown_recipe_is_refused_with_the_known_ones(recipe: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        prepare(recipe)
    assert says in caught.value.hint


def test_a_directory_that_is_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "something").write_text("here")
    with pytest.raises(UserError, match="not empty"):
        prepare("tiny", out=tmp_path)
    with pytest.raises(UserError, match="not a directory"):
        prepare("tiny", out=tmp_path / "something")


@pytest.mark.parametrize("budget", [{"max_trials": 0}, {"max_minutes": -1.0}, {"seed": -1}])
def test_a_negative_limit_is_refused(budget: dict[str, int]) -> None:
    with pytest.raises(UserError, match="must be"):
        prepare("tiny", **budget)  # type: ignore[arg-type]  # the keys are those of prepare


def test_preparing_writes_nothing(tmp_path: Path) -> None:
    plan = prepare("tiny", out=tmp_path / "run", seed=3)
    assert plan.config.seed == 3
    assert list(tmp_path.iterdir()) == []


def test_resuming_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no manifest\.json"):
        resume(tmp_path)


def test_the_list_names_every_recipe_with_every_leaf() -> None:
    text = describe()
    for name in ("tiny:", "smollm2:", *RunConfig.__struct_fields__[1:]):
        assert name in text


@pytest.mark.parametrize(
    "overrides",
    [
        ("levels=1", "held_out_code=100000"),
        ("levels=1", "held_out_code=12", "grpo_prompts=3000"),
    ],
)
def test_more_problems_than_the_levels_hold_are_refused_before_anything_is_written(
    overrides: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"of (100000|3000)"):
        prepare("tiny", overrides=overrides, out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_only_a_directory_with_a_run_is_said_to_be_resumable(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError) as caught:
        prepare("tiny", out=tmp_path)
    assert "--resume" not in caught.value.hint
