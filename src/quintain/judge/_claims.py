"""Reads the claims that a candidate's sandbox sent back. All of it is hostile input.

Invariant: reading never fails; what is not a claim in its place becomes a flag, and a claim counts
once. The last line counts only when it is complete, since a killed process may stop anywhere.
"""

from __future__ import annotations

import msgspec

from quintain.judge._finding import shorten

__all__ = ["LOADING", "Claim", "Claims", "read_claims"]

LOADING = -1
"""Case number of the claim that loading failed."""


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the harness says about one call."""

    case: int
    value: str | None = None
    raised: str | None = None
    refused: str | None = None

    @property
    def evidence(self) -> str:
        """The claim for people."""
        if self.value is not None:
            return f"returned {shorten(self.value, 160)}"
        if self.raised is not None:
            return f"raised {shorten(self.raised, 80)}"
        return f"returned no plain value: {shorten(self.refused or '', 120)}"


class Claims(msgspec.Struct, frozen=True):
    """All claims of one execution, by case, and signs of tampering."""

    by_case: dict[int, Claim]
    flags: tuple[str, ...]


def read_claims(channel: bytes, num_cases: int) -> Claims:
    """Read a claims channel of an execution of ``num_cases`` calls."""
    found: dict[int, Claim] = {}
    flags: set[str] = set()
    lines = channel.split(b"\n")
    last = -2
    for line in lines[:-1]:
        try:
            claim = msgspec.json.decode(line, type=Claim)
        except (msgspec.DecodeError, UnicodeDecodeError):
            flags.add("not_a_claim")
            continue
        answers = (claim.value, claim.raised, claim.refused)
        if sum(answer is not None for answer in answers) != 1:
            flags.add("not_a_claim")
        elif not LOADING <= claim.case < num_cases or (claim.case != LOADING and last == LOADING):
            flags.add("claim_out_of_place")
        elif claim.case in found:
            flags.add("claim_twice")
        elif claim.case < last:
            flags.add("claim_out_of_place")
        else:
            found[claim.case] = claim
            last = claim.case
    return Claims(by_case=found, flags=tuple(sorted(flags)))
