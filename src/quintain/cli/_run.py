"""`quintain run`: a whole post-training run."""

from __future__ import annotations

from pathlib import Path

import click

from quintain.errors import UserError

__all__ = ["run"]


@click.command()
@click.argument("recipe", required=False)
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Replace one leaf of the config."
)
@click.option("--out", type=click.Path(path_type=Path), help="Run directory to make.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Continue the run in DIR with the config recorded there.",
)
@click.option("--seed", type=int, help="Seed of every draw.  [default: 0]")
@click.option("--max-trials", type=int, help="Budget: attempts of the run, evaluation included.")
@click.option(
    "--max-minutes", type=float, help="Budget: minutes from now, final evaluation included."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.option("--list", "list_recipes", is_flag=True, help="List the recipes and their configs.")
def run(
    recipe: str | None,
    overrides: tuple[str, ...],
    out: Path | None,
    resume: Path | None,
    seed: int | None,
    max_trials: int | None,
    max_minutes: float | None,
    as_json: bool,
    list_recipes: bool,
) -> None:
    """Run RECIPE: tasks, sandboxes, SFT, GRPO, held-out evaluation, report.

    A run that was killed, interrupted or out of budget continues with --resume DIR; no attempt that
    was recorded is made again.

    \b
    Examples:
      quintain run tiny
      quintain run tiny --seed 1 --set grpo_steps=80 --out runs/longer
      quintain run smollm2 --max-minutes 15
      quintain run --resume runs/longer
      quintain run tiny --json | jq .paired
      quintain run --list
    """
    from quintain import recipes

    if list_recipes:
        click.echo(recipes.describe(), nl=False)
        return
    if resume is not None:
        if out is not None or overrides or seed is not None:
            raise UserError(
                "--resume continues the recorded config: --out, --set and --seed do not apply",
                hint="start a new run to change them; budgets may be given anew",
            )
        plan = recipes.resume(resume, recipe=recipe, max_trials=max_trials, max_minutes=max_minutes)
    else:
        if recipe is None:
            raise UserError("no recipe given", hint="quintain run --list names them")
        plan = recipes.prepare(
            recipe,
            overrides=overrides,
            out=out,
            seed=seed,
            max_trials=max_trials,
            max_minutes=max_minutes,
        )
    result = recipes.execute(plan, quiet=as_json)
    if as_json:
        click.echo(recipes.result_json(result))
