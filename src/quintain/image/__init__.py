"""Immutable, pinned environments: from an ``image.toml`` to layers in a store and one digest.

`build` makes an image, `resolve` turns its name into the `Root` that a sandbox mounts, `verify`
reads everything again, `gc` clears away what no name stands for.
"""

from quintain.image._archive import ArchiveLimits
from quintain.image._build import build
from quintain.image._spec import ImageSpec, read_spec
from quintain.image._types import (
    Collected,
    Difference,
    DifferenceKind,
    Image,
    Origin,
    StoredLayer,
    Tagged,
)
from quintain.image._use import gc, list_images, resolve, show, verify

__all__ = [
    "ArchiveLimits",
    "Collected",
    "Difference",
    "DifferenceKind",
    "Image",
    "ImageSpec",
    "Origin",
    "StoredLayer",
    "Tagged",
    "build",
    "gc",
    "list_images",
    "read_spec",
    "resolve",
    "show",
    "verify",
]
