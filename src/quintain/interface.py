"""The contract between a task and a policy: how a prompt is framed and a reply is read.

The same `Interface` serves training, evaluation and deployment; its digest is on every trial.
It does not execute anything and knows no model.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import assert_never

from quintain.codec import digest
from quintain.types import Noun, Sampling, Submission

__all__ = ["Interface", "Parser"]

_NUMBER = re.compile(r"[-+−]?\d[\d,]*(?:\.\d+)?(?:/\d+)?")


class Parser(StrEnum):
    """How a submission is read from the text of a turn."""

    FIRST_LINE = "first_line"
    """The first line that is not empty, stripped."""
    LAST_NUMBER = "last_number"
    """The last number in the text; empty when there is none."""
    WHOLE = "whole"


class Interface(Noun, frozen=True, kw_only=True):
    """Prompt template, parser and limits on a turn."""

    name: str
    template: str
    """Text in which ``{prompt}`` stands for the task's prompt."""
    parser: Parser
    max_tokens: int = 64
    stop: tuple[str, ...] = ("\n",)
    lead: str = ""
    """Text between the prompt and an answer that belongs to the reply, such as the blank after a
    keyword; demonstrations begin with it."""

    @property
    def digest(self) -> str:
        """Hash of everything that shapes prompts and submissions."""
        return digest(self)

    def render(self, prompt: str) -> str:
        """Frame a task's prompt for the policy."""
        return self.template.replace("{prompt}", prompt)

    def parse(self, text: str) -> Submission:
        """Read the submission from a reply; never fails, an unreadable reply is empty."""
        match self.parser:
            case Parser.FIRST_LINE:
                lines = [line.strip() for line in text.splitlines() if line.strip()]
                return Submission(text=lines[0] if lines else "")
            case Parser.LAST_NUMBER:
                found = _NUMBER.findall(text)
                return Submission(text=found[-1] if found else "")
            case Parser.WHOLE:
                return Submission(text=text)
            case _:
                assert_never(self.parser)

    def reply(self, answer: str) -> str:
        """Return the reply that hands in ``answer``: what a demonstration shows."""
        return self.lead + answer + (self.stop[0] if self.stop else "")

    def sampling(self, temperature: float) -> Sampling:
        """Return how turns are drawn through this interface at a temperature."""
        return Sampling(temperature=temperature, max_tokens=self.max_tokens, stop=self.stop)
