"""What a backend needs to build a world's root filesystem, and nothing about where it came from.

Invariant: a `Root` is already resolved. Its layers are directories that exist, are complete and
do not change; the backend mounts them read-only and never writes below them. A root does not
promise that the layers still hold what their digest says: `quintain image verify` does.
"""

from __future__ import annotations

from collections.abc import Mapping

from quintain.types import Noun

__all__ = ["HOST_ROOT", "Root"]


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


HOST_ROOT = Root()
"""The host itself, unpinned: no layers, no settings."""
