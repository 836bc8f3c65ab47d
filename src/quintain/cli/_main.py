"""The command tree, and the translation of exceptions into exit codes."""

from __future__ import annotations

import sys
import traceback

import click

from quintain import __version__
from quintain.cli._bench import bench
from quintain.cli._doctor import doctor
from quintain.cli._image import image
from quintain.cli._log import log
from quintain.cli._run import run
from quintain.cli._sandbox import sandbox
from quintain.cli._task import task
from quintain.cli._trial import trial
from quintain.errors import BoundaryError, UserError

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="quintain")
def _quintain() -> None:
    """Scale LLM post-training with verifiable environments.

    \b
    Examples:
      quintain run tiny                    train a 1 M-parameter model from nothing, in minutes
      quintain run smollm2 --out demo      the whole path on a real language model
      quintain trial list demo             what was tried, and what came of it
      quintain doctor                      what this host can isolate, and what is missing
    """


for _command in (bench, run, trial, log, task, doctor, sandbox, image):
    _quintain.add_command(_command)


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        _quintain.main(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        _say(error.format_message(), _usage_hint(error))
        sys.exit(2)
    except UserError as error:
        _say(error.message, error.hint)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted", "")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone; nothing is left to say
        sys.exit(0)
    except BoundaryError as error:
        _say(f"{type(error).__name__}: {error.message}", error.hint)
        sys.exit(3)
    except Exception:  # noqa: BLE001 - the last line of defence: a bug of ours, shown whole
        traceback.print_exc()
        _say("this is a bug in quintain", "please report it with the traceback above")
        sys.exit(3)


def _say(message: str, hint: str) -> None:
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)


def _usage_hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{context.command_path} --help shows the usage" if context else ""
