"""The content-addressed store."""

from __future__ import annotations

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintain.errors import LogError, UserError
from quintain.store import Store


@given(st.binary(max_size=200))
def test_what_is_put_comes_back_under_its_hash(data: bytes) -> None:
    with TemporaryDirectory() as directory:
        store = Store(Path(directory, "store"))
        digest = store.put(data)
        assert digest == hashlib.sha256(data).hexdigest() == store.put(data)
        assert store.has(digest)
        assert store.get(digest) == data
        files = [path for path in store.root.rglob("*") if path.is_file()]
        assert files == [store.root / digest[:2] / digest[2:4] / digest]


def test_an_absent_object_is_the_callers_error(tmp_path: Path) -> None:
    store = Store(tmp_path)
    absent = hashlib.sha256(b"absent").hexdigest()
    assert not store.has(absent)
    with pytest.raises(UserError, match=absent):
        store.get(absent)


def test_changed_content_is_never_returned(tmp_path: Path) -> None:
    store = Store(tmp_path)
    digest = store.put(b"truth")
    (tmp_path / digest[:2] / digest[2:4] / digest).write_bytes(b"a lie")
    with pytest.raises(LogError, match="does not hash"):
        store.get(digest)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_a_name_that_is_no_digest_never_becomes_a_path(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a SHA-256"):
        Store(tmp_path).get(name)


def test_a_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("in the way")
    with pytest.raises(LogError, match="cannot be written"):
        Store(tmp_path / "store").put(b"x")
