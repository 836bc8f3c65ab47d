"""An ``image.toml`` is read whole or refused by file and key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from image_archives import write

from quintain.errors import UserError
from quintain.image import read_spec
from quintain.image._spec import BaseKind, BaseSpec, FileSpec, PythonSpec

HOST = 'name = "x"\n[base]\nkind = "host"\n'
TAR = 'name = "x"\n[base]\nkind = "tar"\npath = "b.tar"\n'
FILE = '[[files]]\nsource = "s"\ntarget = '

REFUSED = [
    ("name = ", "not valid TOML", ""),
    ("", "top level: Object missing required field `name`", ""),
    ('name = "x"', "top level: Object missing required field `base`", ""),
    (HOST.replace('"x"', '"X"'), "name: 'X' is not usable", "lower-case"),
    (HOST.replace('"x"', '"../x"'), "name: '../x' is not usable", "lower-case"),
    (HOST.replace('"x"', '"x"\ntag = ".."'), "tag: '..' is not usable", "lower-case"),
    (HOST.replace('"x"', '"host"'), "name: 'host' means the unpinned host", "another name"),
    (HOST.replace('"x"', '"x"\nsize = 1'), "size: unknown key", "known keys: name, tag, base"),
    (HOST + 'pth = "x"', "base.pth: unknown key", "did you mean path?"),
    (HOST + '[system]\nlocal = "C"', "system.local: unknown key", "did you mean locale?"),
    (HOST + '[python]\nlock = "l"\nx = 1', "python.x: unknown key", "known keys: lock, find_links"),
    (HOST + FILE + '"/opt/a"\nmode = 1', "files[0].mode: unknown key", "source, target"),
    (HOST.replace("host", "vm"), "base.kind: Invalid enum value 'vm'", ""),
    (HOST + "[python]\nlock = 1", "python.lock: Expected `str`, got `int`", ""),
    (HOST + 'path = "x.tar"', "base: the host has no archive", "remove path"),
    (TAR.replace('path = "b.tar"\n', ""), "base.path: required for kind tar", ""),
    (TAR + 'pin = ["/usr"]', "base.pin: only a host base", ""),
    (HOST + 'pin = ["usr"]', "base.pin: 'usr' is not an absolute path", ""),
    (TAR + 'sha256 = "abc"', "base.sha256: not 64 hexadecimal digits", ""),
    (TAR + '[python]\nlock = "l"', "python.version: required unless the base is the host", "wheel"),
    (TAR + '[python]\nlock = "l"\nversion = "3.11.4"', "is not a version such as 3.11", ""),
    (HOST + '[environment]\n"A=B" = "c"', "environment.A=B: not usable as a variable", ""),
    (HOST + '[environment]\nTZ = "UTC"', "environment.TZ: decided elsewhere", "system.timezone"),
    (HOST + "[environment]\nA = 1", "environment.A: not a text", 'A = "1"'),
    (HOST + "[system]\nhash_seed = -1", "system.hash_seed: must be from 0", ""),
    (HOST + '[system]\nworkdir = "w"', "system.workdir: 'w' is not an absolute path", ""),
    (HOST + FILE + '"opt/a"', "files[0].target: 'opt/a' is not an absolute path", ""),
    (HOST + FILE + '"/"', "files[0].target: '/' is not an absolute path below /", ""),
    (HOST + FILE + '"/opt/../etc/a"', "files[0].target: '/opt/../etc/a' is not", ""),
    (HOST + FILE + '"//opt/a"', "files[0].target: '//opt/a' is not an absolute path", ""),
    (HOST + FILE + '"/usr/bin/a"', "files[0].target: '/usr/bin/a' lies in /usr", "below /opt"),
    (TAR + FILE + '"/work/a"', "files[0].target: '/work/a' lies in /work", "below /opt"),
]


@pytest.mark.parametrize(("text", "message", "hint"), REFUSED, ids=[row[1] for row in REFUSED])
def test_a_mistake_is_named_by_file_and_key(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    path = write(tmp_path / "image.toml", text)
    with pytest.raises(UserError) as caught:
        read_spec(path)
    assert caught.value.message.startswith(f"{path}: ")
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_file_that_is_missing_or_not_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.toml: cannot be read"):
        read_spec(tmp_path / "none.toml")
    (tmp_path / "raw.toml").write_bytes(b"\xff")
    with pytest.raises(UserError, match=r"raw\.toml: not UTF-8"):
        read_spec(tmp_path / "raw.toml")


def test_everything_has_a_default_but_the_name_and_the_base(tmp_path: Path) -> None:
    spec = read_spec(write(tmp_path / "image.toml", HOST))
    assert (spec.tag, spec.base.kind, spec.python, spec.files) == (
        "latest",
        BaseKind.HOST,
        None,
        (),
    )
    assert (spec.system.locale, spec.system.timezone, spec.system.hash_seed) == (
        "C.UTF-8",
        "UTC",
        0,
    )


def test_files_may_go_anywhere_uncovered_in_a_root_of_their_own(tmp_path: Path) -> None:
    spec = read_spec(write(tmp_path / "image.toml", TAR + FILE + '"/etc/motd"\n'))
    assert spec.files[0].target == "/etc/motd"


def test_the_image_file_of_the_manual_is_read_and_every_key_is_explained(tmp_path: Path) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "images.md").read_text()
    block = re.search(r"```toml\n(.*?)```", manual, re.DOTALL)
    assert block
    spec = read_spec(write(tmp_path / "image.toml", block[1]))
    assert (spec.name, spec.base.kind, len(spec.files)) == ("tools", BaseKind.HOST, 1)
    for table in (BaseSpec, PythonSpec, FileSpec):
        for key in table.__struct_fields__:
            assert re.search(rf"\b{key}\b", manual), f"docs/images.md does not mention {key}"
