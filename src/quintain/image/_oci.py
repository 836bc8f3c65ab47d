"""Read what ``docker save`` writes, and OCI image layouts, as a directory or as one tar.

Invariant: every layer hashes to what the image's own config says, and is applied in order with
its whiteouts. Signatures are not checked, and nothing is ever fetched.
"""

from __future__ import annotations

import hashlib
import os
import platform
import posixpath
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from quintain.errors import UserError
from quintain.image._archive import ArchiveLimits, Budget, read_tar
from quintain.image._bundle import Bundle, open_bundle
from quintain.image._spec import BaseKind, BaseSpec
from quintain.image._tree import Tree
from quintain.types import Noun

__all__ = ["BaseConfig", "read_base"]

T = TypeVar("T")

_MAX_JSON = 16 << 20
_REF_NAME = "org.opencontainers.image.ref.name"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}


class BaseConfig(Noun, frozen=True, kw_only=True):
    """The settings that an archive brings along."""

    env: Mapping[str, str] = {}
    workdir: str = ""
    user: str = ""


class _Runtime(msgspec.Struct, frozen=True):
    env: list[str] | None = msgspec.field(name="Env", default=None)
    workdir: str | None = msgspec.field(name="WorkingDir", default=None)
    user: str | None = msgspec.field(name="User", default=None)


class _RootFs(msgspec.Struct, frozen=True):
    diff_ids: list[str]


class _Config(msgspec.Struct, frozen=True):
    rootfs: _RootFs
    config: _Runtime | None = None


class _Saved(msgspec.Struct, frozen=True, rename="pascal"):
    config: str
    layers: list[str]
    repo_tags: list[str] | None = None


class _Platform(msgspec.Struct, frozen=True):
    architecture: str = ""
    os: str = ""


class _Descriptor(msgspec.Struct, frozen=True, rename="camel"):
    digest: str
    media_type: str = ""
    platform: _Platform | None = None
    annotations: dict[str, str] = {}


class _Index(msgspec.Struct, frozen=True):
    manifests: list[_Descriptor]


class _Manifest(msgspec.Struct, frozen=True):
    config: _Descriptor
    layers: list[_Descriptor]


def read_base(
    base: BaseSpec, path: Path, work: Path, limits: ArchiveLimits
) -> tuple[Tree, BaseConfig]:
    """Read the archive of a base into a tree, and its settings.

    Raises `UserError` when it cannot be read, is damaged, or holds a member that is refused.
    """
    tree, budget = Tree(), Budget(limits)
    blobs = work / "blobs"
    blobs.mkdir()
    try:
        if base.sha256:
            _check_hash(path, base.sha256)
        if base.kind is BaseKind.TAR:
            with path.open("rb") as file:
                read_tar(file, tree, where=str(path), blobs=blobs, budget=budget, whiteouts=False)
            return tree, BaseConfig()
        with open_bundle(path, work, budget) as bundle:
            choose = _docker_parts if base.kind is BaseKind.DOCKER else _oci_parts
            config, layers = choose(bundle, base.image)
            _read_layers(bundle, config, layers, tree, blobs, budget)
            return tree, _settings(bundle.where, config.config or _Runtime())
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        if error.filename != str(path):
            raise
        raise UserError(f"{path}: cannot be read: {os.strerror(error.errno or 0)}") from error


def _check_hash(path: Path, expected: str) -> None:
    if path.is_dir():
        raise UserError(f"{path}: a directory has no sha256", hint="remove base.sha256")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise UserError(f"{path}: hashes to {found}, base.sha256 says {expected}")


def _read_layers(
    bundle: Bundle,
    config: _Config,
    layers: Sequence[str],
    tree: Tree,
    blobs: Path,
    budget: Budget,
) -> None:
    expected = [_hex(bundle.where, name) for name in config.rootfs.diff_ids]
    if len(expected) != len(layers):
        counts = f"{len(layers)} layers, its config lists {len(expected)}"
        raise UserError(f"{bundle.where}: the image has {counts}")
    for number, (name, digest) in enumerate(zip(layers, expected, strict=True), start=1):
        tree.layer = number
        with bundle.open(name) as file:
            read_tar(
                file,
                tree,
                where=f"{bundle.where}: layer {number} ({name})",
                blobs=blobs,
                budget=budget,
                whiteouts=True,
                expected=digest,
            )


def _read_json(bundle: Bundle, name: str, kind: type[T], sha256: str = "") -> T:
    with bundle.open(name) as file:
        data = file.read(_MAX_JSON)
    where = f"{bundle.where}: {name}"
    if sha256 and hashlib.sha256(data).hexdigest() != sha256:
        raise UserError(f"{where}: damaged: does not hash to its name")
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{where}: not what it should be: {error}") from error


def _hex(where: str, digest: str) -> str:
    found = re.fullmatch(r"sha256:([0-9a-f]{64})", digest)
    if not found:
        raise UserError(f"{where}: {digest!r} is not a sha256 digest")
    return found[1]


def _docker_parts(bundle: Bundle, image: str) -> tuple[_Config, list[str]]:
    if not bundle.has("manifest.json"):
        hint = "choose base.kind oci" if bundle.has("index.json") else "choose base.kind tar"
        raise UserError(f"{bundle.where}: holds no manifest.json: not from docker save", hint=hint)
    saved = _read_json(bundle, "manifest.json", list[_Saved])
    names = [", ".join(item.repo_tags or ("untagged",)) for item in saved]
    if image:
        saved = [item for item in saved if image in (item.repo_tags or ())]
    chosen = saved[_only(bundle.where, len(saved), image, names)]
    return _read_json(bundle, chosen.config, _Config), chosen.layers


def _oci_parts(bundle: Bundle, image: str) -> tuple[_Config, list[str]]:
    if not bundle.has("index.json"):
        hint = "choose base.kind docker" if bundle.has("manifest.json") else "choose base.kind tar"
        raise UserError(f"{bundle.where}: holds no index.json: not an OCI layout", hint=hint)
    found = _read_json(bundle, "index.json", _Index).manifests
    for _ in range(3):  # an index may list indexes, one for each platform
        names = [item.annotations.get(_REF_NAME, item.digest) for item in found]
        named = [item for item in found if item.annotations.get(_REF_NAME) == image]
        candidates = [item for item in (named if image else found) if _fits(item)]
        chosen = candidates[_only(bundle.where, len(candidates), image, names)]
        if not chosen.media_type.endswith(("image.index.v1+json", "manifest.list.v2+json")):
            break
        found, image = _read_blob(bundle, chosen, _Index).manifests, ""
    manifest = _read_blob(bundle, chosen, _Manifest)
    layers = [f"blobs/sha256/{_hex(bundle.where, item.digest)}" for item in manifest.layers]
    return _read_blob(bundle, manifest.config, _Config), layers


def _read_blob(bundle: Bundle, descriptor: _Descriptor, kind: type[T]) -> T:
    digest = _hex(bundle.where, descriptor.digest)
    return _read_json(bundle, f"blobs/sha256/{digest}", kind, digest)


def _fits(descriptor: _Descriptor) -> bool:
    """Whether a manifest is for this machine, or does not say; attestations say ``unknown``."""
    wanted = descriptor.platform
    if wanted is None or not wanted.architecture:
        return True
    machine = platform.machine()
    return (wanted.os or "linux", wanted.architecture) == ("linux", _MACHINES.get(machine, machine))


def _only(where: str, count: int, image: str, names: Sequence[str]) -> int:
    """Return 0 when exactly one image is left to choose."""
    if count == 1:
        return 0
    what = f"{count or 'no'} image{'s' * (count != 1)} fit"
    named = f" base.image {image!r}" if image else " this machine"
    raise UserError(f"{where}: {what}{named}", hint=f"base.image is one of: {'; '.join(names)}")


def _settings(where: str, runtime: _Runtime) -> BaseConfig:
    env: dict[str, str] = {}
    for item in runtime.env or ():
        key, equals, value = item.partition("=")
        if not key or not equals or "\0" in item:
            raise UserError(f"{where}: the image's environment holds {item!r}, not NAME=value")
        env[key] = value
    workdir = ""
    if runtime.workdir:
        workdir = "/" + posixpath.normpath(posixpath.join("/", runtime.workdir)).lstrip("/")
    return BaseConfig(env=env, workdir=workdir, user=runtime.user or "")
