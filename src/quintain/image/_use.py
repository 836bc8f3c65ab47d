"""Find, check and clear away built images."""

from __future__ import annotations

from pathlib import Path

from quintain.errors import UserError
from quintain.image._host import list_host
from quintain.image._scan import compare, decode_entries, encode_entries, entries_digest, scan
from quintain.image._store import (
    collecting,
    default_root,
    find,
    layer_path,
    read_image,
    remove_tree,
    stored,
    tagged,
)
from quintain.image._types import Collected, Difference, DifferenceKind, Image, Tagged
from quintain.sandbox._root import HOST_ROOT, Root

__all__ = ["gc", "list_images", "resolve", "show", "verify"]

_TOLD = 20


def list_images(store_root: Path | None = None) -> tuple[Tagged, ...]:
    """Return every image, the tagged ones first, in order of name."""
    root = (store_root or default_root()).absolute()
    tags = tagged(root)
    found = [(ref, digest) for ref, digest in tags.items()]
    found += [("", digest) for digest in stored(root) if digest not in tags.values()]
    return tuple(
        Tagged(ref=ref, digest=digest, image=read_image(root, digest)) for ref, digest in found
    )


def show(ref: str, store_root: Path | None = None) -> Tagged:
    """Return one image; raises `UserError` when ``ref`` names none, or several."""
    root = (store_root or default_root()).absolute()
    digest = find(root, ref)
    names = [name for name, found in tagged(root).items() if found == digest]
    named = ref if ref in names else f"{ref}:latest"
    chosen = named if named in names else next(iter(names), "")
    return Tagged(ref=chosen, digest=digest, image=read_image(root, digest))


def resolve(ref: str, store_root: Path | None = None, *, accept_drift: bool = False) -> Root:
    """Turn a reference into what a sandbox needs; ``host`` is the unpinned host.

    Raises `UserError` when there is no such image, when a layer is missing, and when the host is
    not the one that was pinned, unless ``accept_drift``: then the root says how it differs and has
    a digest of its own. Layers are not read again: `verify` does that.
    """
    if ref == "host":
        return HOST_ROOT
    root = (store_root or default_root()).absolute()
    found = show(ref, root)
    image, digest = found.image, found.digest
    drift: tuple[str, ...] = ()
    for layer in image.layers:
        if not (layer_path(root, layer.digest) / "tree").is_dir():
            hint = "build the image again"
            raise UserError(f"image {ref} has no layer {layer.digest} in {root}", hint=hint)
    if image.host:
        differences, host = _host_drift(root, image)
        drift = _summary(differences)
        if drift and not accept_drift:
            told = "\n".join(drift)
            hint = "build the image again on this host, or accept the drift and have it reported"
            raise UserError(f"image {ref} was pinned on another host:\n{told}", hint=hint)
        digest += f"+drift-{host}" if drift else ""
    return Root(
        layers=tuple(str(layer_path(root, layer.digest) / "tree") for layer in image.layers),
        host=bool(image.host),
        env=image.env,
        workdir=image.workdir,
        user=image.user,
        digest=digest,
        drift=drift,
    )


def _host_drift(root: Path, image: Image) -> tuple[tuple[Difference, ...], str]:
    """Compare this host with the one that was pinned; return its own digest too."""
    present = list_host(image.pins, root)
    digest = entries_digest(encode_entries(present))
    if digest == image.host:
        return (), digest
    record = root / "hosts" / f"{image.host}.jsonl"
    try:
        encoded = record.read_bytes()
    except OSError as error:
        return (_lost("host", record.name, error.strerror or ""),), digest
    if entries_digest(encoded) != image.host:
        return (_changed("host", record.name, "does not hash to its name"),), digest
    return compare(decode_entries(encoded, where=str(record)), present, "host"), digest


def _summary(differences: tuple[Difference, ...]) -> tuple[str, ...]:
    told = tuple(str(difference) for difference in differences[:_TOLD])
    left = len(differences) - len(told)
    return (*told, f"and {left} more") if left else told


def _lost(place: str, path: str, detail: str = "") -> Difference:
    return Difference(place=place, path=path, kind=DifferenceKind.MISSING, detail=detail)


def _changed(place: str, path: str, detail: str) -> Difference:
    return Difference(place=place, path=path, kind=DifferenceKind.CHANGED, detail=detail)


def verify(ref: str, store_root: Path | None = None) -> tuple[Difference, ...]:
    """Read everything an image is made of again and name what is not as it was; empty when whole.

    Raises `UserError` when there is no such image, or its own record cannot be decoded.
    """
    root = (store_root or default_root()).absolute()
    digest = find(root, ref)
    image = read_image(root, digest)
    found: list[Difference] = []
    if image.digest != digest:
        found.append(_changed("image", f"{digest}.json", "does not hash to its name"))
    for layer in image.layers:
        found += _verify_layer(root, layer.digest)
    if image.host:
        found += _host_drift(root, image)[0]
    return tuple(found)


def _verify_layer(root: Path, digest: str) -> tuple[Difference, ...]:
    place, named = layer_path(root, digest), f"layer {digest}"
    try:
        present = scan(place / "tree")
    except FileNotFoundError:
        return (_lost(named, "tree"),)
    try:
        encoded = (place / "entries.jsonl").read_bytes()
        sound = entries_digest(encoded) == digest
    except FileNotFoundError:
        encoded, sound = b"", False
    if sound:
        return compare(decode_entries(encoded, where=named), present, named)
    found = [_changed(named, "entries.jsonl", "does not hash to the layer's name")]
    if entries_digest(encode_entries(present)) != digest:
        found.append(_changed(named, "tree", "does not hash to the layer's name"))
    return tuple(found)


def gc(store_root: Path | None = None, *, dry_run: bool = False) -> Collected:
    """Remove images without a tag, what only they used, and what killed builds left.

    Raises `UserError` while a build is under way. A sandbox that still runs in an image without a
    tag loses its files: untag only what is no longer in use.
    """
    root = (store_root or default_root()).absolute()
    with collecting(root):
        kept = {digest: read_image(root, digest) for digest in set(tagged(root).values())}
        layers = {layer.digest for image in kept.values() for layer in image.layers}
        hosts = {image.host for image in kept.values() if image.host}
        doomed = {
            "images": [p for p in _in(root, "manifests") if p.stem not in kept],
            "layers": [p for p in _in(root, "layers") if p.name not in layers],
            "hosts": [
                p for p in _in(root, "hosts") if p.suffix == ".jsonl" and p.stem not in hosts
            ],
            "leftovers": [*_in(root, "tmp"), *root.glob("*/.new-*"), *root.glob("tags/*/.new-*")],
        }
        size = sum(_size(path) for paths in doomed.values() for path in paths)
        if not dry_run:
            for path in (path for paths in doomed.values() for path in paths):
                _remove(path, root / "tmp")
    names = {kind: tuple(path.stem for path in paths) for kind, paths in doomed.items()}
    return Collected(
        images=names["images"],
        layers=names["layers"],
        hosts=names["hosts"],
        leftovers=names["leftovers"],
        bytes=size,
    )


def _in(root: Path, place: str) -> list[Path]:
    return sorted(p for p in (root / place).iterdir() if not p.name.startswith("."))


def _size(path: Path) -> int:
    files = [path, *path.rglob("*")] if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files)


def _remove(path: Path, trash: Path) -> None:
    if path.is_dir():
        remove_tree(path, trash)
    else:
        path.unlink(missing_ok=True)
