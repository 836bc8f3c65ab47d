"""The manifest: what a run was made of, written once before its first trial.

It names everything that shaped the run and is not in the trials: resolved config, seed, versions of
quintain, Python and every installed package, git commit, host, digests. It holds no environment
variables, so no secrets.
Not guaranteed: that the host still has those versions when the run is replayed.
"""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import msgspec

import quintain
from quintain.codec import digest, encode, read_json
from quintain.errors import LogError, UserError
from quintain.log._records import SCHEMA_VERSION
from quintain.log._segment import sync_directory
from quintain.types import Noun

__all__ = [
    "GitState",
    "Host",
    "Leaf",
    "Manifest",
    "make_manifest",
    "read_manifest",
    "write_manifest",
]

Leaf = str | int | float | bool | None


class Host(Noun, frozen=True, kw_only=True):
    """The machine that a run was begun on."""

    system: str
    """Kernel name, release and machine."""
    libc: str
    processor: str
    cores: int
    memory_mib: int


class GitState(Noun, frozen=True, kw_only=True):
    """The checkout that quintain was imported from."""

    commit: str
    dirty: bool
    """Tracked files differ from the commit."""


class Manifest(Noun, frozen=True, kw_only=True):
    """What a run was made of."""

    schema_version: int = SCHEMA_VERSION
    created_at: float
    """Seconds since the epoch."""
    config: Mapping[str, Leaf | tuple[Leaf, ...]]
    """The resolved config; nested fields have dotted names."""
    config_digest: str
    seed: int
    quintain: str
    """Version."""
    python: str
    packages: Mapping[str, str]
    """Name to version of everything installed."""
    git: GitState | None
    """None when quintain does not run from a checkout."""
    host: Host
    digests: Mapping[str, str]
    """Name to digest of what the run used, for instance ``{"interface/code": "…"}``."""


def make_manifest(config: Noun, *, seed: int, digests: Mapping[str, str]) -> Manifest:
    """Describe a run that begins now with ``config``."""
    return Manifest(
        created_at=time.time(),
        config=_leaves(msgspec.to_builtins(config)),
        config_digest=digest(config),
        seed=seed,
        quintain=quintain.__version__,
        python=platform.python_version(),
        packages=_packages(),
        git=_git(Path(quintain.__file__).parent),
        host=_host(),
        digests=digests,
    )


def write_manifest(run_dir: Path, manifest: Manifest) -> None:
    """Begin a run: make its directory and write its manifest, all of it or nothing.

    Raises `UserError` when a run is there already, `LogError` when it cannot be written.
    """
    path = run_dir / "manifest.json"
    partial = run_dir / f".manifest.{os.getpid()}"
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            file.write(msgspec.json.format(encode(manifest), indent=2) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(partial, path)  # unlike rename, it fails when a manifest is there
        finally:
            partial.unlink()
        sync_directory(run_dir)
    except FileExistsError as error:
        raise UserError(
            f"{run_dir}: holds a run already", hint="choose another --out, or --resume this one"
        ) from error
    except OSError as error:
        raise LogError(f"{path}: cannot be written: {error.strerror}") from error


def read_manifest(run_dir: Path) -> Manifest:
    """Read a run's manifest; raises `UserError` when there is none or it does not fit."""
    path = run_dir / "manifest.json"
    if not path.is_file():
        raise UserError(
            f"{run_dir}: is not a run directory, it has no manifest.json",
            hint="quintain run makes one",
        )
    return read_json(path, Manifest)


def _leaves(value: object, prefix: str = "") -> dict[str, Leaf | tuple[Leaf, ...]]:
    """Flatten what `msgspec.to_builtins` made of a config into dotted names."""
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, (list, tuple)):
        if all(isinstance(part, Leaf) for part in value):
            return {prefix: tuple(value)}
        items = list(enumerate(value))
    elif isinstance(value, Leaf):
        return {prefix: value}
    else:
        raise TypeError(f"{prefix}: a {type(value).__name__} has no place in a config")
    flat: dict[str, Leaf | tuple[Leaf, ...]] = {}
    for name, part in items:
        flat |= _leaves(part, f"{prefix}.{name}" if prefix else str(name))
    return flat


def _packages() -> dict[str, str]:
    found = {dist.metadata["Name"]: dist.version for dist in metadata.distributions()}
    return {name: found[name] for name in sorted(found) if name}


def _git(directory: Path) -> GitState | None:
    def ask(*arguments: str) -> str:
        command = ("git", "-C", str(directory), *arguments)
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        commit = ask("rev-parse", "HEAD")
        dirty = ask("status", "--porcelain", "--untracked-files=no") != ""
    except (OSError, subprocess.SubprocessError):
        return None
    return GitState(commit=commit, dirty=dirty)


def _host() -> Host:
    libc, version = platform.libc_ver()
    return Host(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        libc=f"{libc} {version}".strip(),
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        memory_mib=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
