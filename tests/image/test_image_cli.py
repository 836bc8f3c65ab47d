"""The command group: data on stdout, talk on stderr, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from image_archives import image_file, member, tar

from quintain.cli._image import image
from quintain.errors import UserError


def invoke(*arguments: str, cache: Path) -> Result:
    return CliRunner().invoke(image, arguments, env={"QUINTAIN_CACHE": str(cache)})


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache directory with one image in it."""
    file = image_file(tmp_path, "tar", tar([member("d/file", b"content")]))
    result = invoke("build", str(file), cache=tmp_path / "cache")
    assert result.exit_code == 0
    assert result.stdout.startswith("made:latest ")
    assert "reading base.tar" in result.stderr
    return tmp_path / "cache"


def test_json_of_every_verb_is_one_document(cache: Path, tmp_path: Path) -> None:
    built = json.loads(invoke("build", str(tmp_path / "image.toml"), "--json", cache=cache).stdout)
    assert (built["ref"], len(built["digest"])) == ("made:latest", 32)
    assert json.loads(invoke("list", "--json", cache=cache).stdout) == [built]
    assert json.loads(invoke("show", "made", "--json", cache=cache).stdout) == built
    assert json.loads(invoke("verify", "made", "--json", cache=cache).stdout) == []
    gone = json.loads(invoke("gc", "--dry-run", "--json", cache=cache).stdout)
    assert gone == {"images": [], "layers": [], "hosts": [], "leftovers": [], "bytes": 0}


def test_verify_exits_with_1_and_names_the_file_that_changed(cache: Path) -> None:
    assert invoke("verify", "made", cache=cache).exit_code == 0
    tree = next((cache / "images" / "layers").glob("*/tree"))
    (tree / "d/file").write_bytes(b"CONTENT")
    result = invoke("verify", "made", cache=cache)
    assert result.exit_code == 1
    assert "d/file: changed (content" in result.stdout
    assert "made: 1 differences" in result.stderr
    found = json.loads(invoke("verify", "made", "--json", cache=cache).stdout)
    assert [(item["path"], item["kind"]) for item in found] == [("d/file", "changed")]


def test_show_tells_layers_and_settings(cache: Path) -> None:
    said = invoke("show", "made", cache=cache).stdout
    assert "layer    base" in said
    assert "env      LANG=C.UTF-8" in said
    assert "user     (none)" in said


def test_gc_names_what_it_removes(cache: Path, tmp_path: Path) -> None:
    old = json.loads(invoke("show", "made", "--json", cache=cache).stdout)["digest"]
    invoke("build", str(image_file(tmp_path, "tar", tar([]))), cache=cache)
    assert old in invoke("list", cache=cache).stdout
    result = invoke("gc", cache=cache)
    assert f"images    {old}" in result.stdout
    assert "bytes freed" in result.stderr
    assert old not in invoke("list", cache=cache).stdout


def test_the_store_is_where_the_environment_says_when_it_is_asked(tmp_path: Path) -> None:
    from quintain.image._store import default_root

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("QUINTAIN_CACHE", raising=False)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert default_root() == tmp_path / "quintain" / "images"
        patch.delenv("XDG_CACHE_HOME")
        patch.setenv("HOME", "/home/someone")
        assert default_root() == Path("/home/someone/.cache/quintain/images")


def test_a_reference_to_nothing_is_a_user_error(cache: Path) -> None:
    result = invoke("show", "other", cache=cache)
    assert isinstance(result.exception, UserError)
    assert "no image 'other'" in result.exception.message


@pytest.mark.parametrize("verb", ["build", "gc", "list", "show", "verify"])
def test_every_verb_shows_examples(verb: str, tmp_path: Path) -> None:
    assert f"quintain image {verb}" in invoke(verb, "--help", cache=tmp_path).stdout
