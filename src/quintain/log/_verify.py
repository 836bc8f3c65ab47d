"""Check a run's logs: the chain of the audit log, the checksums of the trial log.

Invariant: checking reads and changes nothing; it goes on past damage, so that every segment with
damage is named with its first bad line. A run that is being written can be checked.
Not guaranteed: that nobody chained a whole audit log anew, or took away its last lines or segments
after the last head that names them. A head kept elsewhere shows both (``expect``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from quintain.errors import LogError, UserError
from quintain.log._audit import audit_segments_of
from quintain.log._chain import (
    AUDIT_VERSION,
    GENESIS,
    AuditEntry,
    AuditHead,
    AuditLine,
    AuditSeal,
    decode_body,
    follows,
    manifest_hash,
)
from quintain.log._segment import SegmentReader, segments_of
from quintain.types import Noun

__all__ = ["Finding", "SegmentState", "Verification", "verify", "verify_run"]

_BROKEN = (
    "does not follow from the line before it: a record was changed, added, taken away or moved here"
)


class Finding(Noun, frozen=True, kw_only=True):
    """Something about a segment that should be known."""

    segment: str
    """Path below the run directory."""
    line: int
    """From 1; 0 when it concerns the whole."""
    problem: str
    damage: bool
    """False for a note: what a crash or a writer still at work leaves."""


class SegmentState(Noun, frozen=True, kw_only=True):
    """One segment, as it was read."""

    segment: str
    records: int
    """Intact ones, up to the first damage."""
    hash: str = ""
    """Of the last line; empty for trial segments and for damaged ones."""


class Verification(Noun, frozen=True, kw_only=True):
    """What checking a run found."""

    intact: bool
    """No finding is damage."""
    head: str
    """One hash for the whole audit log; empty when there is none or it is damaged."""
    trial_segments: tuple[SegmentState, ...]
    audit_segments: tuple[SegmentState, ...]
    findings: tuple[Finding, ...]


def verify(run_dir: Path, *, expect: str = "") -> tuple[Finding, ...]:
    """Return what is wrong with a run's logs, and notes; see `verify_run`."""
    return verify_run(run_dir, expect=expect).findings


def verify_run(run_dir: Path, *, expect: str = "") -> Verification:
    """Check the logs of a run.

    ``expect`` is a head kept from an earlier check: what it vouched for must still be there, and
    only whole segments may have come since. Raises `UserError` when there is no such run.
    """
    if not run_dir.is_dir() or not any((run_dir / n).exists() for n in ("segments", "audit")):
        raise UserError(f"{run_dir}: is not a run directory", hint="quintain run makes one")
    findings: list[Finding] = []
    trial_segments = tuple(_trial_segment(path, findings) for path in segments_of(run_dir))
    paths = audit_segments_of(run_dir)
    manifest = manifest_hash(run_dir)
    named = _named(paths, manifest)
    chains = [_Chain(path, manifest, named.get(path.name, {})) for path in paths]
    audit_segments = tuple(chain.check(findings) for chain in chains)
    _numbering(segments_of(run_dir), findings)
    _numbering(paths, findings)
    if not paths:
        findings.append(_finding("audit", 0, "there is no audit log", damage=False))
    heads = [] if any(finding.damage for finding in findings) else _heads(audit_segments)
    if expect:
        _expected(expect, heads, findings)
    return Verification(
        intact=not any(finding.damage for finding in findings),
        head=heads[-1] if heads else "",
        trial_segments=trial_segments,
        audit_segments=audit_segments,
        findings=tuple(findings),
    )


def _finding(segment: str, line: int, problem: str, *, damage: bool = True) -> Finding:
    return Finding(segment=segment, line=line, problem=problem, damage=damage)


def _trial_segment(path: Path, findings: list[Finding]) -> SegmentState:
    name, reader, records = f"segments/{path.name}", SegmentReader(path), 0
    try:
        for _ in reader:
            records += 1
        if reader.torn_bytes:
            problem = f"ends in {reader.torn_bytes} bytes of a write that was cut off"
            findings.append(_finding(name, reader.line, problem, damage=False))
    except LogError as error:
        problem = error.message.removeprefix(f"{path}: ").removeprefix(f"line {reader.line}: ")
        findings.append(_finding(name, reader.line, problem))
    return SegmentState(segment=name, records=records)


@dataclass
class _Chain:
    """One audit segment on its way through the checks."""

    path: Path
    manifest: str
    named: Mapping[str, str]
    """Hashes that later heads say it has, each to the segment that says so."""
    before: str = GENESIS
    entries: int = 0
    sealed: bool = False
    unseen: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.unseen = {own: by for own, by in self.named.items() if own}

    def check(self, findings: list[Finding]) -> SegmentState:
        name, number = f"audit/{self.path.name}", 0
        try:
            for number, line in enumerate(_lines(self.path), start=1):
                problem, damage = self._line(line, number)
                if problem:
                    findings.append(_finding(name, number, problem, damage=damage))
                    if damage:
                        return SegmentState(segment=name, records=self.entries)
        except OSError as error:
            problem = f"cannot be read: {error.strerror}"
            findings.append(_finding(name, number, problem))
            return SegmentState(segment=name, records=self.entries)
        for by in sorted(set(self.unseen.values())):
            problem = f"lines at its end are gone, which audit/{by} names"
            findings.append(_finding(name, number + 1, problem))
        if not self.sealed:
            problem = "not sealed: its writer is at work or was killed"
            findings.append(_finding(name, number, problem, damage=False))
        own = "" if self.before == GENESIS else self.before
        return SegmentState(segment=name, records=self.entries, hash=own)

    def _line(self, line: bytes, number: int) -> tuple[str, bool]:
        """Return what is wrong with a line, and whether that is damage."""
        if not line.endswith(b"\n"):
            if follows(line[:-1], self.before) or self.sealed:
                return "the line break at its end was changed, or something was added", True
            return f"ends in {len(line)} bytes of a write that was cut off", False
        own = follows(line[:-1], self.before)
        if not own:
            return _BROKEN, True
        try:
            body = decode_body(line[:-1])
        except msgspec.DecodeError as error:
            return f"chained, but not a line of audit version {AUDIT_VERSION}: {error}", True
        if self.sealed:
            return "stands after the seal", True
        if isinstance(body, AuditHead) is not (number == 1):
            return "a head belongs in the first line and nowhere else", True
        self.before = own
        self.unseen.pop(own, None)
        return self._content(body)

    def _content(self, body: AuditLine) -> tuple[str, bool]:
        match body:
            case AuditHead():
                problem = _misplaced(body, self.path, self.manifest)
                return problem, bool(problem)
            case AuditEntry():
                self.entries += 1
            case AuditSeal(entries=entries):
                self.sealed = True
                if entries != self.entries:
                    return f"seals {entries} records, there are {self.entries}", True
        return "", False


def _misplaced(head: AuditHead, path: Path, manifest: str) -> str:
    if head.audit_version != AUDIT_VERSION:
        return f"audit version {head.audit_version}, not {AUDIT_VERSION}"
    if head.segment != path.name:
        return f"was written as {head.segment}"
    if head.manifest and head.manifest != manifest:
        return "was written beside another manifest.json"
    return ""


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _named(paths: list[Path], manifest: str) -> dict[str, dict[str, str]]:
    """Gather what heads say of earlier segments: name to hash to the segment that says so."""
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        line = next(_lines(path), b"")
        if not (line.endswith(b"\n") and follows(line[:-1], GENESIS)):
            continue  # told when the segment itself is checked
        try:
            head = decode_body(line[:-1])
        except msgspec.DecodeError:
            continue
        if isinstance(head, AuditHead) and not _misplaced(head, path, manifest):
            for name, own in head.previous.items():
                found.setdefault(name, {})[own] = path.name
    return found


def _numbering(paths: list[Path], findings: list[Finding]) -> None:
    """Segments are numbered without gaps, so a gap is a segment taken away."""
    present = {path.name for path in paths}
    for number in range(int(paths[-1].stem) + 1 if paths else 0):
        name = f"{number:06d}.log"
        if name not in present:
            findings.append(_finding(f"{paths[0].parent.name}/{name}", 0, "is missing"))
            return


def _heads(states: tuple[SegmentState, ...]) -> list[str]:
    """Return the hash over the last hashes of the first one, two, … segments."""
    heads, running = [], hashlib.sha256()
    for state in states:
        running.update(f"{state.segment} {state.hash}\n".encode())
        heads.append(running.copy().hexdigest())
    return heads


def _expected(expect: str, heads: list[str], findings: list[Finding]) -> None:
    if expect in heads:
        since = len(heads) - 1 - heads.index(expect)
        if since:
            problem = f"segments begun since the expected head: {since}"
            findings.append(_finding("audit", 0, problem, damage=False))
    else:
        problem = f"no end of a segment has the expected head {expect}"
        findings.append(_finding("audit", 0, problem))
