import math
from typing import Any

import msgspec
import pytest
import torch
from train_examples import make_group, make_model, make_task, with_completion, with_trial

from quintain.errors import UserError
from quintain.train import GrpoConfig, LocalPolicy, Optimization, Trainer, grpo_step
from quintain.types import Group, Split

CONFIG = GrpoConfig(optimization=Optimization(lr=1e-3))
REWARDS = (1.0, 0.0, 0.0, 1.0, 0.0, None)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def local_policy(*, bf16: bool = False) -> LocalPolicy:
    return LocalPolicy(*make_model(), name="tiny", bf16=bf16)


def weights(trainer: Trainer) -> torch.Tensor:
    return torch.cat([p.detach().flatten().clone() for p in trainer.model.parameters()])


def test_in_fp32_sampler_and_trainer_agree_on_the_first_step() -> None:
    local = local_policy()
    groups = [make_group(local.sampler, REWARDS, seed=i) for i in range(3)]
    stats = grpo_step(local.trainer, groups, CONFIG)
    assert stats.ratio_error <= 1e-4
    assert stats.kl <= 1e-6
    assert stats.effective_share == pytest.approx(1.0, abs=1e-4)
    assert (stats.trials, stats.masked_trials, stats.skipped_groups) == (15, 3, 0)
    sampled = [t.trajectory.turns[0].completion.token_ids_T for g in groups for t in g.trials_G[:5]]
    assert stats.tokens == sum(map(len, sampled))
    assert 0 < stats.entropy <= math.log(local.trainer.vocabulary)


def test_agreement_holds_at_other_temperatures_and_fails_when_told_the_wrong_one() -> None:
    local = local_policy()
    group = make_group(local.sampler, REWARDS, temperature=0.5)
    told = msgspec.structs.replace(CONFIG, temperature=0.5)
    assert grpo_step(local_policy().trainer, [group], told).ratio_error <= 1e-4
    assert grpo_step(local_policy().trainer, [group], CONFIG).ratio_error > 0.05


def test_a_step_raises_the_probability_of_winners_and_lowers_that_of_losers() -> None:
    local = local_policy()
    group = make_group(local.sampler, (1.0, 0.0, 0.0, 0.0))
    before = sequence_logprobs(local.trainer.model, group)
    for _ in range(3):
        grpo_step(local.trainer, [group], CONFIG)
    after = sequence_logprobs(local.trainer.model, group)
    assert after[0] > before[0]
    assert sum(after[1:]) < sum(before[1:])


@torch.no_grad()
def sequence_logprobs(model: Any, group: Group) -> list[float]:
    found = []
    for trial in group.trials_G:
        completion = trial.trajectory.turns[0].completion
        prompt, ids = completion.prompt_token_ids, completion.token_ids_T
        logits = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1]
        chosen = logits.log_softmax(-1).gather(-1, torch.tensor(ids)[:, None])
        found.append(float(chosen.sum()))
    return found


def test_the_first_gradient_is_that_of_the_plain_policy_gradient() -> None:
    local = local_policy()
    group = make_group(local.sampler, (1.0, 0.0, 1.0, 0.0))
    signs = (1.0, -1.0, 1.0, -1.0)
    model, _ = make_model()
    total = torch.zeros(())
    for trial, advantage in zip(group.trials_G, signs, strict=True):
        completion = trial.trajectory.turns[0].completion
        prompt, ids = completion.prompt_token_ids, completion.token_ids_T
        logits = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1]
        chosen = logits.log_softmax(-1).gather(-1, torch.tensor(ids)[:, None])
        total = total - advantage * chosen.sum() / 40
    total.backward()  # type: ignore[no-untyped-call]
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    stats = grpo_step(local.trainer, [group], CONFIG)
    assert stats.grad_norm == pytest.approx(float(norm), rel=1e-3)


def test_a_trial_that_is_not_scored_changes_nothing() -> None:
    local = local_policy()
    with_invalid = make_group(local.sampler, REWARDS)
    without = Group(task=with_invalid.task, trials_G=with_invalid.trials_G[:-1])
    ends = []
    for group in (with_invalid, without):
        trainer = local_policy().trainer
        grpo_step(trainer, [group], CONFIG)
        ends.append(weights(trainer))
    assert torch.equal(ends[0], ends[1])


def test_groups_that_teach_nothing_leave_weights_and_moments_alone() -> None:
    local = local_policy()
    groups = [make_group(local.sampler, (v,) * 4) for v in (0.0, 0.35, 1.0)]
    before = weights(local.trainer)
    stats = grpo_step(local.trainer, groups, CONFIG)
    assert not stats.updated
    assert stats.skipped_groups == 3
    assert torch.equal(before, weights(local.trainer))
    assert not local.trainer.optimizer.state
    assert local.trainer.step == 1


def test_a_skipped_group_does_not_dilute_the_others() -> None:
    local = local_policy()
    teaches, equal = make_group(local.sampler, REWARDS), make_group(local.sampler, (1.0, 1.0))
    norms = [
        grpo_step(local_policy().trainer, groups, CONFIG).grad_norm
        for groups in ([teaches], [equal, teaches])
    ]
    assert norms[0] == norms[1]


def test_later_epochs_clip_what_the_first_ones_moved() -> None:
    local = local_policy()
    group = make_group(local.sampler, REWARDS)
    config = msgspec.structs.replace(CONFIG, epochs=4)
    assert grpo_step(local_policy().trainer, [group], CONFIG).clip_fraction == 0
    assert grpo_step(local.trainer, [group], config).clip_fraction > 0


def test_a_sampler_that_disagrees_is_measured_and_its_weight_capped() -> None:
    local = local_policy()
    group = make_group(local.sampler, (1.0, 0.0, 1.0, 0.0))
    shifted = Group(
        task=group.task,
        trials_G=tuple(
            with_completion(
                trial,
                logprobs_T=tuple(v - 3.0 for v in trial.trajectory.turns[0].completion.logprobs_T),
            )
            for trial in group.trials_G
        ),
    )
    plain = grpo_step(local_policy().trainer, [group], CONFIG)
    stats = grpo_step(local.trainer, [shifted], CONFIG)
    assert stats.ratio_error == pytest.approx(math.exp(3.0) - 1, rel=1e-3)
    assert stats.grad_norm == pytest.approx(2.0 * plain.grad_norm, rel=1e-3)


def test_a_reference_pulls_the_policy_back() -> None:
    local = local_policy()
    group = make_group(local.sampler, REWARDS)
    reference, _ = make_model(seed=1)
    config = msgspec.structs.replace(CONFIG, kl_weight=0.5)
    pulled = grpo_step(local.trainer, [group], config, reference=reference)
    assert pulled.loss > grpo_step(local_policy().trainer, [group], CONFIG).loss
    with pytest.raises(UserError, match="reference"):
        grpo_step(local.trainer, [group], config)


def test_a_task_off_the_train_split_is_refused() -> None:
    local = local_policy()
    held_out = make_group(local.sampler, REWARDS, task=make_task(split=Split.HELD_OUT))
    with pytest.raises(UserError, match="held_out"):
        grpo_step(local.trainer, [make_group(local.sampler, REWARDS), held_out], CONFIG)
    assert local.trainer.step == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"token_ids_T": (), "logprobs_T": ()}, "no token ids"),
        ({"prompt_token_ids": ()}, "prompt: has no token ids"),
        ({"token_ids_T": (99_999,), "logprobs_T": (-1.0,)}, "outside the vocabulary"),
        ({"logprobs_T": ()}, "0 log-probabilities for 10 tokens"),
        ({"logprobs_T": (-1.0,)}, "1 log-probabilities for 10 tokens"),
    ],
)
def test_a_trial_that_cannot_be_trained_on_is_refused_by_name(
    changes: dict[str, Any], message: str
) -> None:
    local = local_policy()
    group = make_group(local.sampler, REWARDS)
    trial = with_completion(group.trials_G[2], **changes)
    with pytest.raises(UserError, match=f"trial {trial.id}.*{message}"):
        grpo_step(local.trainer, [with_trial(group, 2, trial)], CONFIG)


def test_without_importance_weights_logprobs_are_not_needed() -> None:
    local = local_policy()
    group = make_group(local.sampler, REWARDS)
    stripped = Group(
        task=group.task,
        trials_G=tuple(with_completion(t, logprobs_T=()) for t in group.trials_G),
    )
    config = msgspec.structs.replace(CONFIG, importance_cap=None)
    stats = grpo_step(local.trainer, [stripped], config)
    assert stats.updated
    assert stats.grad_norm == pytest.approx(
        grpo_step(local_policy().trainer, [group], config).grad_norm, rel=1e-5
    )


def test_a_masked_trial_may_lack_tokens() -> None:
    local = local_policy()
    group = make_group(local.sampler, REWARDS)
    empty = with_completion(group.trials_G[5], token_ids_T=(), logprobs_T=(), text="")
    assert grpo_step(local.trainer, [with_trial(group, 5, empty)], CONFIG).masked_trials == 1


def test_publishing_gives_the_sampler_the_new_weights_and_version() -> None:
    for bf16 in (False, True):
        local = local_policy(bf16=bf16)
        first = make_group(local.sampler, REWARDS)
        for _ in range(3):
            grpo_step(local.trainer, [first], CONFIG)
        local.publish("1")
        assert local.sampler.policy.version == "1"
        second = make_group(local.sampler, REWARDS)
        stats = grpo_step(local.trainer, [second], CONFIG)
        assert stats.ratio_error <= (0.05 if bf16 else 1e-4)
        stale = grpo_step(local.trainer, [first], CONFIG)
        assert stale.ratio_error > stats.ratio_error


def test_a_few_steps_teach_a_preference_that_sampling_then_shows() -> None:
    local = local_policy()
    config = GrpoConfig(optimization=Optimization(lr=3e-3))

    def with_rewards(group: Group) -> Group:
        trials = []
        for trial in group.trials_G:
            completion = trial.trajectory.turns[0].completion
            value = sum(t < 100 for t in completion.token_ids_T) / len(completion.token_ids_T)
            assert trial.reward is not None
            reward = msgspec.structs.replace(trial.reward, value=value)
            trials.append(msgspec.structs.replace(trial, reward=reward))
        return Group(task=group.task, trials_G=tuple(trials))

    means = []
    for step in range(16):
        group = with_rewards(make_group(local.sampler, (0.0,) * 16, seed=step))
        means.append(sum(t.reward.value for t in group.trials_G if t.reward) / 16)
        grpo_step(local.trainer, [group], config)
        local.publish(str(step + 1))
    assert sum(means[-3:]) / 3 > sum(means[:3]) / 3 + 0.2
