"""What a backend needs to build a world's root filesystem, and nothing about where it came from.

Invariant: a `Root` is already resolved. Its layers are directories that exist, are complete and
do not change; the backend mounts them read-only and never writes below them. A root does not
promise that the layers still hold what their digest says: `quintain image verify` does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from quintain.types import Noun

__all__ = ["HOST_ROOT", "Root", "bind_points"]


class Root(Noun, frozen=True, kw_only=True):
    """A read-only root filesystem, made of layers, with the settings programs start with."""

    layers: tuple[str, ...] = ()
    """Absolute directories, lowest first: a path in a later one hides the same path in an earlier
    one (overlayfs rules, with whiteouts already applied). Layers on the host base hold only paths
    to be added to it."""
    host: bool = True
    """Whether the host's own interpreter and libraries lie below the layers. Without it the
    lowest layer is a whole root filesystem and nothing of the host may be seen."""
    env: Mapping[str, str] = {}
    """The environment of every program, before the program's own settings are laid over it."""
    workdir: str = "/work"
    """Where a program starts, an absolute path; the backend makes it when no layer has it."""
    user: str = ""
    """The user named by the image (name or number, perhaps ``user:group``); empty when it names
    none. Programs run unprivileged whatever it says: it decides names such as ``HOME`` only."""
    digest: str = "host"
    """Names the content: equal digests mean equal worlds. ``host`` is the unpinned host."""
    drift: tuple[str, ...] = ()
    """How this host differs from the one the image was built on, where that was accepted; belongs
    into the notes of every isolation report."""


HOST_ROOT = Root()
"""The host itself, unpinned: no layers, no settings."""


def bind_points(layers: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Lay layers over a base by bind mounts alone: the fewest pairs (source, absolute target).

    A directory that a single layer has is bound whole; one that several have is entered, and so is
    the top level, since the base may have ``/opt`` too. Image building keeps layers on the host
    base out of ``/usr``, ``/etc`` and the like. A source that is a symbolic link must be made
    again, since a bind mount would follow it.
    """
    return tuple(_bind_points(tuple(layers), ""))


def _bind_points(layers: tuple[str, ...], below: str) -> list[tuple[str, str]]:
    names = sorted({entry.name for layer in layers for entry in Path(layer + below).iterdir()})
    found: list[tuple[str, str]] = []
    for name in names:
        path = f"{below}/{name}"
        having = tuple(layer for layer in layers if os.path.lexists(layer + path))
        entered = len(having) > 1 or not below
        if entered and all(_is_directory(Path(layer + path)) for layer in having):
            found += _bind_points(having, path)
        else:
            found.append((having[-1] + path, path))
    return found


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
