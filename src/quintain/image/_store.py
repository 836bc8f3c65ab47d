"""Where images live: layers, images, tags and pinned hosts below one directory.

::

    images/
    ├── layers/DIGEST/tree/…           a layer, read-only by agreement
    ├── layers/DIGEST/entries.jsonl    what the tree held when it was stored
    ├── hosts/DIGEST.jsonl             the file list of a pinned host
    ├── manifests/DIGEST.json          an `Image`
    ├── tags/NAME/TAG                  the digest that a name stands for
    ├── tmp/                           builds under way, and what killed ones left
    └── lock                           shared by builds, exclusive to `gc`

Invariant: everything outside ``tmp`` appears by one rename and is whole when it does; two builders
of the same content both win. The store does not defend against someone who may write to it:
`verify` finds what they changed, as long as they did not rewrite the digests too.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quintain import codec
from quintain.errors import UserError
from quintain.image._scan import compare, encode_entries, entries_digest, scan
from quintain.image._types import Entry, EntryKind, Image, Origin, StoredLayer, Tagged

__all__ = [
    "building",
    "collecting",
    "default_root",
    "find",
    "layer_path",
    "publish_host",
    "publish_image",
    "publish_layer",
    "read_image",
    "remove_tree",
    "stored",
    "tagged",
    "write_whole",
]

_PLACES = ("layers", "hosts", "manifests", "tags", "tmp")
_SHORTEST_PREFIX = 6


def default_root() -> Path:
    """Return the image store below the cache directory that the environment names now."""
    cache = os.environ.get("QUINTAIN_CACHE")
    if not cache:
        cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "quintain")  # noqa: PTH118
    return Path(cache).expanduser().absolute() / "images"


def _prepare(root: Path) -> None:
    for place in _PLACES:
        (root / place).mkdir(parents=True, exist_ok=True)


@contextmanager
def building(root: Path) -> Iterator[Path]:
    """Hold the store for a build and give it a directory of its own, removed at the end."""
    _prepare(root)
    with (root / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with tempfile.TemporaryDirectory(dir=root / "tmp", prefix="build-") as work:
            yield Path(work)


@contextmanager
def collecting(root: Path) -> Iterator[None]:
    """Hold the store alone; raises `UserError` while a build is under way."""
    _prepare(root)
    with (root / "lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hint = "wait for it to end: gc would take what it has not tagged yet"
            raise UserError(f"{root}: an image is being built", hint=hint) from error
        yield


def write_whole(path: Path, data: bytes) -> None:
    """Write a file by one rename."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def layer_path(root: Path, digest: str) -> Path:
    """Return where a layer is, whether or not it is there."""
    return root / "layers" / digest


def publish_layer(root: Path, made: Path, origin: Origin) -> StoredLayer:
    """Move a finished layer into the store; ``made`` holds its ``tree`` and nothing else.

    A layer of that digest that is already there stays, unless it was damaged: then it is replaced.
    """
    entries = scan(made / "tree")
    assert all(entry.kind is not EntryKind.SPECIAL for entry in entries)  # noqa: S101 - refused
    encoded = encode_entries(entries)
    digest = entries_digest(encoded)
    (made / "entries.jsonl").write_bytes(encoded)
    made.chmod(0o755)
    place = layer_path(root, digest)
    try:
        made.rename(place)
    except OSError:
        if not place.exists():
            raise
        if not _is_whole(place, encoded, entries):
            place.rename(made.parent / f"damaged-{digest}")
            made.rename(place)
    size = sum(entry.size for entry in entries)
    return StoredLayer(digest=digest, origin=origin, entries=len(entries), bytes=size)


def _is_whole(place: Path, encoded: bytes, entries: tuple[Entry, ...]) -> bool:
    try:
        recorded = (place / "entries.jsonl").read_bytes()
        return recorded == encoded and not compare(entries, scan(place / "tree"), "")
    except (OSError, UserError):
        return False


def publish_host(root: Path, entries: tuple[Entry, ...]) -> str:
    """Store a host's file list and return its digest."""
    encoded = encode_entries(entries)
    digest = entries_digest(encoded)
    write_whole(root / "hosts" / f"{digest}.jsonl", encoded)
    return digest


def publish_image(root: Path, image: Image, name: str, tag: str) -> Tagged:
    """Store an image and let ``name:tag`` stand for it."""
    digest = image.digest
    write_whole(root / "manifests" / f"{digest}.json", codec.encode(image))
    place = root / "tags" / name
    place.mkdir(exist_ok=True)
    write_whole(place / tag, digest.encode() + b"\n")
    return Tagged(ref=f"{name}:{tag}", digest=digest, image=image)


def read_image(root: Path, digest: str) -> Image:
    """Read an image by its whole digest."""
    return codec.read_json(root / "manifests" / f"{digest}.json", Image)


def tagged(root: Path) -> dict[str, str]:
    """Return every ``name:tag`` with the digest it stands for, in order of name."""
    found = {}
    for path in sorted((root / "tags").glob("*/*")):
        if not path.name.startswith("."):
            found[f"{path.parent.name}:{path.name}"] = path.read_text().strip()
    return found


def stored(root: Path) -> tuple[str, ...]:
    """Return the digests of all images, tagged or not."""
    names = (root / "manifests").glob("*.json")
    return tuple(sorted(path.stem for path in names if not path.name.startswith(".")))


def find(root: Path, ref: str) -> str:
    """Return the digest of ``name``, ``name:tag`` or the first digits of a digest.

    Raises `UserError` when nothing, or more than one image, goes by it.
    """
    tags = tagged(root)
    exact = tags.get(ref) or tags.get(f"{ref}:latest")
    if exact:
        return exact
    hint = "quintain image list shows what there is; quintain image build FILE makes one"
    fitting = [digest for digest in stored(root) if ref and digest.startswith(ref)]
    if len(fitting) == 1 and len(ref) >= _SHORTEST_PREFIX:
        return fitting[0]
    if fitting:
        hint = f"give at least {_SHORTEST_PREFIX} digits, enough to tell: {', '.join(fitting)}"
        raise UserError(f"image {ref!r} is not unique", hint=hint)
    raise UserError(f"no image {ref!r} in {root}", hint=hint)


def remove_tree(path: Path, trash: Path) -> None:
    """Remove a directory so that a kill half-way leaves it in ``tmp`` and nowhere else."""
    doomed = Path(tempfile.mkdtemp(dir=trash, prefix="gone-"))
    path.rename(doomed / "it")
    shutil.rmtree(doomed)
