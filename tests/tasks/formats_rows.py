"""Small rows of each format, written for these tests, and where public data lies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"

SOURCES = {
    "cruxeval_output": "cruxeval/cruxeval.jsonl",
    "gsm8k": "gsm8k/test.jsonl",
    "humaneval": "humaneval/HumanEval.jsonl.gz",
    "humaneval_pack": "humanevalpack/humanevalpack.jsonl",
    "humaneval_plus": "humanevalplus/HumanEvalPlus.jsonl.gz",
    "math500": "math500/test.jsonl",
    "mbpp_plus": "mbppplus/MbppPlus.jsonl.gz",
    "quixbugs": "quixbugs/quixbugs.jsonl",
}
ROWS_IN_SOURCE = {
    "cruxeval_output": 800,
    "gsm8k": 1319,
    "humaneval": 164,
    "humaneval_pack": 78,
    "humaneval_plus": 164,
    "math500": 500,
    "mbpp_plus": 378,
    "quixbugs": 41,
}
"""As the publishers count them; QuixBugs has 40 programs and one helper module."""


def source(name: str) -> Path:
    path = DATA / SOURCES[name]
    if not path.is_file():
        pytest.skip(f"public data set {SOURCES[name]} is not beside the checkout")
    return path


_HALVE = '''\
def halve(n: float) -> float:
    """Return half of n.
    >>> halve(4.0)
    2.0
    """
'''

ROWS: dict[str, dict[str, object]] = {
    "cruxeval_output": {
        "id": "sample_0",
        "code": "def f(text):\n    return text[::-1], len(text)",
        "input": "'ab'",
        "output": "('ba', 2)",
    },
    "gsm8k": {
        "question": "Ann has 1,200 nails and sells 200 of them. How many are left?",
        "answer": "She keeps 1,200 - 200 = <<1200-200=1000>>1,000 nails.\n#### 1,000",
    },
    "humaneval": {
        "task_id": "HumanEval/900",
        "prompt": _HALVE,
        "entry_point": "halve",
        "canonical_solution": "    return n / 2\n",
        "test": "\n\nMETADATA = {}\n\n\ndef check(candidate):\n"
        "    for n in range(3):\n        assert abs(candidate(float(n)) - n / 2) < 1e-6\n",
    },
    "humaneval_pack": {
        "task_id": "Python/900",
        "prompt": _HALVE,
        "entry_point": "halve",
        "canonical_solution": "    return n / 2\n",
        "buggy_solution": "    return n / 2 + 1\n",
        "bug_type": "excess logic",
        "test": "\n\ndef check(halve):\n    assert halve(4.0) == 2.0\n"
        "    assert halve(1.0) == 0.5\n\ncheck(halve)",
    },
    "humaneval_plus": {
        "task_id": "HumanEval/900",
        "prompt": _HALVE,
        "entry_point": "halve",
        "canonical_solution": "    return n / 2\n",
        "test": "",
        "contract": '\n    assert isinstance(n, float), "invalid inputs" # $_CONTRACT_$\n',
        "base_input": [[4.0], [1.0]],
        "plus_input": [[0.5], ["four"]],
        "atol": 0,
    },
    "math500": {
        "problem": "What is $\\sqrt{8}$?",
        "solution": "It is $2\\sqrt2$.",
        "answer": "2\\sqrt{2}",
        "subject": "Prealgebra",
        "level": 2,
        "unique_id": "test/prealgebra/900.json",
    },
    "mbpp_plus": {
        "task_id": "Mbpp/900",
        "prompt": '"""\nTurn a tuple round.\nassert turn((1, 2)) == (2, 1)\n"""\n',
        "entry_point": "turn",
        "canonical_solution": "\ndef turn(t):\n    return t[::-1]\n",
        "contract": '\n  assert isinstance(t, tuple), "invalid inputs" # $_CONTRACT_$\n',
        "assertion": "\nassert turn((1, 2)) == (2, 1)\nassert turn((1, (3, 4))) == ((3, 4), 1)\n",
        "base_input": [[[1, 2]], [[1, [3, 4]]]],
        "plus_input": [[[]], [[[5, [6, 7]], 8]]],
        "atol": 0,
    },
    "quixbugs": {
        "name": "pairs",
        "buggy": "def pairs(xs):\n    return list(zip(xs, xs))\n",
        "correct": "def pairs(xs):\n    return list(zip(xs, xs[1:]))\n",
        "cases": [[[[1, 2, 3]], [[1, 2], [2, 3]]], [[[1]], []]],
        "test_module": "",
    },
}


def write_rows(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
