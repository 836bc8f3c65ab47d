"""The documents keep their word: Python in them runs, commands in them exist.

A block after a line ``<!-- shown, not run: … -->`` is left out, for the reason given there.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from quintain.cli._main import _quintain

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (
            f"{page.relative_to(ROOT)}:{page.read_text()[: match.start()].count(chr(10)) + 1}",
            match[2],
        )
        for page in PAGES
        for match in FENCE.finditer(page.read_text())
        if match[1] == language and not shown_only(page.read_text()[: match.start()])
    ]


def shown_only(text: str) -> bool:
    return text.rstrip().rsplit("\n", 1)[-1].startswith("<!-- shown, not run: ")


def commands() -> list[tuple[str, str]]:
    found = []
    for where, text in blocks("") + blocks("sh") + blocks("bash") + blocks("console"):
        for line in text.splitlines():
            bare = re.sub(r"^\$ |^\.venv/bin/", "", re.sub(r"^\$ ", "", line.strip()))
            if bare.startswith("quintain "):
                found.append((where, bare))
    return found


@pytest.mark.parametrize(("where", "code"), blocks("python"))
def test_python_in_the_documents_runs(where: str, code: str, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0, f"{where}\n{done.stderr}"


@pytest.mark.parametrize(("where", "line"), commands())
def test_commands_in_the_documents_exist_with_their_options(where: str, line: str) -> None:
    words = shlex.split(line.split(" | ")[0], comments=True)
    command: click.Command = _quintain
    context = click.Context(command, info_name="quintain")
    words = words[1:]
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, *words = words
        found = command.get_command(context, name)
        assert found is not None, f"{where}: no command {name!r} in {line!r}"
        command, context = found, click.Context(found, info_name=name, parent=context)
    known = {option for one in command.get_params(context) for option in one.opts}
    cut = words[: words.index("--")] if "--" in words else words
    for word in cut:
        if word.startswith("-"):
            option = word.split("=")[0]
            assert option in known, f"{where}: {option} is no option in {line!r}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"
