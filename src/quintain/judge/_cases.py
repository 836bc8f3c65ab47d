"""The `cases` judge: calls a function by value in the candidate's sandbox, compares outside it.

One execution per submission. It holds the submission, the harness and the arguments; the expected
values stay here. A case passes when the execution claims, exactly once and in its place, a value of
the expected type and content. Exit status and anything printed mean nothing; a missing claim fails.

Does not tell apart a candidate that computes a value from one that writes the same value into the
claims itself: both know the arguments and not the expected value.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

from quintain.errors import SandboxError, TaskError
from quintain.judge._claims import LOADING, Claim, read_claims
from quintain.judge._compare import equal
from quintain.judge._finding import Judged, judge_id, layers, shorten
from quintain.judge._structure import source_of, structure_fault
from quintain.judge.wire import WireError, decode
from quintain.sandbox import Execution, ExecutionStatus, Pool, Program, python_program
from quintain.types import Case, CaseResult, CasesSpec, Limits, Outcome, Submission, Verdict

__all__ = ["judge_cases"]

_HERE = Path(__file__).parent


async def judge_cases(
    spec: CasesSpec, submission: Submission, pool: Pool, limits: Limits
) -> Judged:
    """Judge a submission by its calls.

    Raises `TaskError` for a spec that cannot be judged by, and lets `SandboxError` through.
    """
    check_spec(spec)
    fault = structure_fault(spec, submission.text)
    if fault:
        return Judged(verdict=_unstructured(spec, fault))
    execution = await pool.execute(program(spec, submission), limits)
    if execution.status is ExecutionStatus.INVALID:
        raise SandboxError(f"the sandbox gave no result: {execution.note}")
    return Judged(
        verdict=judge_execution(spec, execution),
        cpu_s=execution.cpu_s,
        isolation=execution.isolation,
        output=execution.stderr[-2000:].decode("utf-8", "replace"),
    )


def check_spec(spec: CasesSpec) -> None:
    """Raise `TaskError` for a spec by which nothing could be judged."""
    if not spec.cases:
        raise TaskError("the task has no cases")
    if not all(name.isidentifier() for name in (spec.entry, *spec.parameters)):
        raise TaskError(f"entry {spec.entry!r} and parameters {spec.parameters} must be names")
    if not all(math.isfinite(case.weight) and case.weight >= 0 for case in spec.cases):
        raise TaskError("a case has a weight that is negative or not finite")
    if sum(case.weight for case in spec.cases) <= 0:
        raise TaskError("the cases weigh nothing")
    if not (math.isfinite(spec.tolerance) and spec.tolerance >= 0):
        raise TaskError(f"tolerance must be finite and not negative: {spec.tolerance}")
    for number, case in enumerate(spec.cases):
        _check_case(number, case)


def _check_case(number: int, case: Case) -> None:
    try:
        arguments = decode(case.args)
        decode(case.expected)
    except WireError as error:
        raise TaskError(f"case {number} is not in wire form: {error}") from error
    if type(arguments) is not tuple:
        raise TaskError(f"case {number}: args is a {type(arguments).__name__}, not a tuple")


def program(spec: CasesSpec, submission: Submission) -> Program:
    """Make the program of the candidate's sandbox; expected values are not in it."""
    calls = {"entry": spec.entry, "args": [case.args for case in spec.cases]}
    source = source_of(spec, submission.text)
    return python_program(
        (_HERE / "_harness.py").read_text(),
        files={
            "quintain_wire.py": (_HERE / "wire.py").read_bytes(),
            "submission.py": source.encode("utf-8", "surrogatepass"),
            "calls.json": json.dumps(calls).encode(),
        },
    )


def judge_execution(spec: CasesSpec, execution: Execution) -> Verdict:
    """Decide from what came out of the sandbox; pure, so that it can be repeated."""
    claims = read_claims(execution.stdout, len(spec.cases))
    loading = claims.by_case.get(LOADING)
    if loading is not None and not claims.flags:
        return _unstructured(spec, _loading_fault(loading))
    flags = set(claims.flags)
    results = []
    for number, case in enumerate(spec.cases):
        claim = claims.by_case.get(number)
        if claim is None:
            results.append(_missing(case, execution))
        else:
            results.append(_compared(case, claim, spec.tolerance, flags))
    return _verdict(spec, tuple(results), tuple(sorted(flags)))


def _loading_fault(claim: Claim) -> str:
    if claim.raised is not None:
        return f"loading raised {shorten(claim.raised, 80)}"
    return f"defines no function {shorten(claim.refused or '', 80)!r}"


def _missing(case: Case, execution: Execution) -> CaseResult:
    if execution.status in {ExecutionStatus.OK, ExecutionStatus.RUNTIME_ERROR}:
        reason = "the process ended before the call returned"
    else:
        reason = execution.status.value
    return CaseResult(passed=False, weight=case.weight, evidence=f"no claim: {reason}")


def _compared(case: Case, claim: Claim, tolerance: float, flags: set[str]) -> CaseResult:
    passed = False
    if claim.value is not None:
        try:
            passed = equal(claim.value, case.expected, tolerance)
        except WireError:
            # The harness writes wire texts only, so something else wrote this one.
            flags.add("not_a_claim")
    return CaseResult(passed=passed, weight=case.weight, evidence=claim.evidence)


def _verdict(spec: CasesSpec, results: tuple[CaseResult, ...], flags: tuple[str, ...]) -> Verdict:
    num_passed = sum(result.passed for result in results)
    weight = sum(result.weight for result in results)
    share = sum(result.weight for result in results if result.passed) / weight
    # Exactly 1 when all passed, whatever the rounding; below 1 otherwise.
    score = 1.0 if num_passed == len(results) else min(share, math.nextafter(1.0, 0.0))
    failed = next((result.evidence for result in results if not result.passed), "")
    summary = f"{num_passed} of {len(results)} cases passed" + (f"; {failed}" if failed else "")
    return Verdict(
        outcome=Outcome.SCORED,
        judge=judge_id(spec),
        layers=layers(
            integrity=(0.0 if flags else 1.0, ", ".join(flags)),
            structure=(1.0, ""),
            function=(score, summary),
        ),
        cases=results,
        flags=flags,
        evidence=summary,
    )


def _unstructured(spec: CasesSpec, fault: str) -> Verdict:
    """Make the verdict on a submission that could not be called at all."""
    failed = tuple(CaseResult(passed=False, weight=case.weight) for case in spec.cases)
    return Verdict(
        outcome=Outcome.SCORED,
        judge=judge_id(spec),
        layers=layers(structure=(0.0, shorten(fault))),
        cases=failed,
        evidence=shorten(fault),
    )
