"""A content-addressed directory: bytes in, digest out, and the same bytes back.

Invariant: an object is there as a whole or not at all, and what `Store.get` returns hashes to the
digest that was asked for. Concurrent writers of the same bytes agree by construction.
Not guaranteed: that an object outlives a power cut in the second after `Store.put` on a file system
that reorders renames; a lost object is absent, not wrong.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

from quintain.errors import LogError, UserError

__all__ = ["Store"]

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Store:
    """Keeps bytes under their SHA-256, two directory levels deep.

    ::

        digest = Store(path).put(b"...")
        assert Store(path).get(digest) == b"..."
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, data: bytes) -> str:
        """Store bytes and return their digest; raises `LogError` when they cannot be written."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        if path.exists():
            return digest
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fd, partial = tempfile.mkstemp(dir=self.root, prefix=".put-")
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                Path(partial).replace(path)
            except BaseException:
                Path(partial).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise LogError(
                f"{self.root}: cannot be written: {error.strerror}",
                hint="free space or make the directory writable",
            ) from error
        return digest

    def get(self, digest: str) -> bytes:
        """Return the bytes; raises `UserError` when absent, `LogError` when they were changed."""
        path = self._path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise UserError(f"{self.root}: has no object {digest}") from error
        except OSError as error:
            raise LogError(f"{path}: cannot be read: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise LogError(f"{path}: its content does not hash to its name")
        return data

    def has(self, digest: str) -> bool:
        """Say whether the object is there; its content is checked by `get`."""
        return self._path(digest).is_file()

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise UserError(f"{digest!r} is not a SHA-256 digest of 64 lower-case digits")
        return self.root / digest[:2] / digest[2:4] / digest
