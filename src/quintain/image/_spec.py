"""Read ``image.toml``: what an image is to be made of.

Invariant: what comes out can be built as far as the file alone can tell: every key is known, every
name and target is safe to use as a path. Whether the files named exist is found when building.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path, PurePosixPath

import msgspec

from quintain.errors import UserError
from quintain.types import Noun

__all__ = ["BaseKind", "BaseSpec", "FileSpec", "ImageSpec", "PythonSpec", "SystemSpec", "read_spec"]

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SYSTEM_VARIABLES = {
    "LANG": "system.locale",
    "LC_ALL": "system.locale",
    "PYTHONHASHSEED": "system.hash_seed",
    "TZ": "system.timezone",
}
_COVERED = ("/dev", "/proc", "/sys", "/tmp", "/work")  # noqa: S108 - names, not files
_HOST_COVERED = ("/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr", "/venv")


class BaseKind(StrEnum):
    """What lies at the bottom of an image."""

    HOST = "host"
    """This machine's interpreter and libraries, pinned by their content."""
    TAR = "tar"
    """A root filesystem, as one tar file."""
    DOCKER = "docker"
    """What ``docker save`` writes."""
    OCI = "oci"
    """An OCI image layout: a directory, or a tar of one."""


class BaseSpec(Noun, frozen=True, kw_only=True):
    """The ``[base]`` table."""

    kind: BaseKind
    path: str = ""
    """The archive, relative to ``image.toml``."""
    sha256: str = ""
    """What the archive must hash to; empty to take it as it is."""
    image: str = ""
    """Which image of an archive that holds several, for instance ``python:3.11``."""
    pin: tuple[str, ...] = ()
    """Host only: the paths whose content is pinned, instead of the interpreter and libraries."""


class PythonSpec(Noun, frozen=True, kw_only=True):
    """The ``[python]`` table."""

    lock: str
    """Requirements with ``--hash=sha256:…`` for every one, relative to ``image.toml``."""
    find_links: tuple[str, ...] = ()
    """Directories of wheels; with any of them no package index is asked."""
    version: str = ""
    """Python version of the base, for instance ``3.11``; required unless the base is the host."""
    platforms: tuple[str, ...] = ()
    """Wheel platform tags to accept, for instance ``manylinux_2_28_x86_64``."""


class FileSpec(Noun, frozen=True, kw_only=True):
    """One ``[[files]]`` table."""

    source: str
    """A file or directory, relative to ``image.toml``."""
    target: str
    """Absolute path in the image."""


class SystemSpec(Noun, frozen=True, kw_only=True):
    """The ``[system]`` table."""

    locale: str = "C.UTF-8"
    timezone: str = "UTC"
    hash_seed: int = 0
    """Of Python's string hashes, so that sets are walked in the same order each time."""
    workdir: str = ""
    """Where programs start; empty for the base's own, or ``/work``."""
    user: str = ""
    """Empty for the base's own."""


class ImageSpec(Noun, frozen=True, kw_only=True):
    """A whole ``image.toml``."""

    name: str
    tag: str = "latest"
    base: BaseSpec
    python: PythonSpec | None = None
    files: tuple[FileSpec, ...] = ()
    environment: Mapping[str, str] = {}
    system: SystemSpec = SystemSpec()


def read_spec(path: Path) -> ImageSpec:
    """Read and check an ``image.toml``; raises `UserError` that names the file and the key."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not valid TOML: {error}") from error
    _check_texts(path, data.get("environment"))
    try:
        spec = msgspec.convert(data, ImageSpec)
    except msgspec.ValidationError as error:
        raise _misfit(path, error) from error
    _check(path, spec)
    return spec


def _check_texts(path: Path, environment: object) -> None:
    """See to the one table whose keys are free, and which the codec would not name."""
    for key, value in environment.items() if isinstance(environment, dict) else ():
        if not isinstance(value, str):
            hint = f'write it as a text: {key} = "{value}"'
            raise UserError(f"{path}: environment.{key}: not a text", hint=hint)


def _misfit(path: Path, error: msgspec.ValidationError) -> UserError:
    """Turn msgspec's ``… - at `$.base` `` into a key and a hint."""
    what, _, place = str(error).partition(" - at ")
    table = place.strip("`").removeprefix("$").removeprefix(".")
    unknown = re.search(r"unknown field `(.*)`", what)
    if not unknown:
        return UserError(f"{path}: {table or 'top level'}: {what}")
    tables: dict[str, type[Noun]] = {
        "": ImageSpec,
        "base": BaseSpec,
        "python": PythonSpec,
        "files": FileSpec,
        "system": SystemSpec,
    }
    known = tables[table.partition("[")[0]].__struct_fields__
    near = difflib.get_close_matches(unknown[1], known, n=1)
    key = f"{table}.{unknown[1]}" if table else unknown[1]
    hint = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(known)}"
    return UserError(f"{path}: {key}: unknown key", hint=hint)


def _check(path: Path, spec: ImageSpec) -> None:
    for key, value in (("name", spec.name), ("tag", spec.tag)):
        if not _NAME.fullmatch(value):
            hint = "lower-case letters, digits, dots, dashes and underscores, 64 at most"
            raise UserError(f"{path}: {key}: {value!r} is not usable", hint=hint)
    if spec.name == "host":
        raise UserError(f"{path}: name: 'host' means the unpinned host", hint="take another name")
    _check_base(path, spec)
    _check_environment(path, spec.environment)
    if not 0 <= spec.system.hash_seed <= 4294967295:
        raise UserError(f"{path}: system.hash_seed: must be from 0 to 4294967295")
    if spec.system.workdir and not _is_clean(spec.system.workdir):
        raise UserError(f"{path}: system.workdir: {spec.system.workdir!r} is not an absolute path")
    for index, item in enumerate(spec.files):
        _check_target(f"{path}: files[{index}].target", item.target, spec.base.kind)


def _check_base(path: Path, spec: ImageSpec) -> None:
    base = spec.base
    host = base.kind is BaseKind.HOST
    if host and (base.path or base.sha256 or base.image):
        hint = "remove path, sha256 and image, or choose kind tar, docker or oci"
        raise UserError(f"{path}: base: the host has no archive", hint=hint)
    if not host and not base.path:
        raise UserError(f"{path}: base.path: required for kind {base.kind.value}")
    if not host and base.pin:
        raise UserError(f"{path}: base.pin: only a host base is pinned by path")
    for pinned in base.pin:
        if not _is_clean(pinned):
            raise UserError(f"{path}: base.pin: {pinned!r} is not an absolute path")
    if base.sha256 and not re.fullmatch(r"[0-9a-f]{64}", base.sha256):
        raise UserError(f"{path}: base.sha256: not 64 hexadecimal digits")
    if spec.python is None:
        return
    version = spec.python.version
    if version and not re.fullmatch(r"3\.\d+", version):
        raise UserError(f"{path}: python.version: {version!r} is not a version such as 3.11")
    if not host and not version:
        hint = "wheels are chosen for it, and the builder's own version says nothing about the base"
        raise UserError(f"{path}: python.version: required unless the base is the host", hint=hint)


def _check_environment(path: Path, environment: Mapping[str, str]) -> None:
    for key, value in environment.items():
        if not _VARIABLE.fullmatch(key) or "\0" in value:
            raise UserError(f"{path}: environment.{key}: not usable as a variable")
        if key in _SYSTEM_VARIABLES:
            hint = f"set {_SYSTEM_VARIABLES[key]}"
            raise UserError(f"{path}: environment.{key}: decided elsewhere", hint=hint)


def _is_clean(path: str) -> bool:
    """Whether a path is absolute and holds no ``..``, ``.`` or empty part."""
    return (
        path.startswith("/")
        and "\0" not in path
        and str(PurePosixPath(path)) == path
        and (".." not in path.split("/") and not path.startswith("//"))
    )


def _check_target(where: str, target: str, base: BaseKind) -> None:
    if not _is_clean(target) or target == "/":
        raise UserError(f"{where}: {target!r} is not an absolute path below /")
    covered = _COVERED + (_HOST_COVERED if base is BaseKind.HOST else ())
    for top in covered:
        if target == top or target.startswith(top + "/"):
            hint = "choose a path of its own, for instance below /opt"
            raise UserError(f"{where}: {target!r} lies in {top}, which covers it", hint=hint)
