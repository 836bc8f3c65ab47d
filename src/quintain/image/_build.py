"""Build an image from its ``image.toml``.

Invariant: the same inputs give the same digest, on any day and by any user; a build that fails or
is killed leaves nothing but a directory in ``tmp`` that `gc` removes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from quintain.errors import SandboxError, UserError
from quintain.image._archive import ArchiveLimits
from quintain.image._files import copy_files, neutralise
from quintain.image._host import default_pins, list_host
from quintain.image._oci import BaseConfig, read_base
from quintain.image._python import PREFIX, install
from quintain.image._spec import BaseKind, ImageSpec, PythonSpec, read_spec
from quintain.image._store import (
    building,
    default_root,
    publish_host,
    publish_image,
    publish_layer,
)
from quintain.image._tree import lay_out
from quintain.image._types import Image, Origin, StoredLayer, Tagged

__all__ = ["build"]

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LIMITS = ArchiveLimits()


def _quiet(_message: str) -> None:
    pass


def build(
    path: Path,
    store_root: Path | None = None,
    *,
    progress: Callable[[str], None] = _quiet,
    limits: ArchiveLimits = _LIMITS,
) -> Tagged:
    """Build the image that ``path`` describes, store it, and let its name stand for it.

    ``store_root`` is `default_root` unless given; ``progress`` is told each step. Raises
    `UserError` for input that is wrong, missing, damaged or refused, and `SandboxError` when the
    store cannot be written.
    """
    spec = read_spec(path)
    root = (store_root or default_root()).absolute()
    try:
        with building(root) as work:
            image = _build(spec, path.absolute(), root, work, progress, limits)
            tagged = publish_image(root, image, spec.name, spec.tag)
    except OSError as error:
        raise SandboxError(f"image store {root}: {error}") from error
    progress(f"built {tagged.ref} {tagged.digest}")
    return tagged


def _build(
    spec: ImageSpec,
    path: Path,
    root: Path,
    work: Path,
    progress: Callable[[str], None],
    limits: ArchiveLimits,
) -> Image:
    layers: list[StoredLayer] = []
    config, host = BaseConfig(), ""
    pins: tuple[str, ...] = ()
    if spec.base.kind is BaseKind.HOST:
        _keep_off_interpreter(spec, path)
        pins = spec.base.pin or default_pins()
        progress(f"pinning the host: {', '.join(pins)}")
        host = publish_host(root, list_host(pins, root))
    else:
        progress(f"reading {spec.base.path}")
        layer, config = _base_layer(spec, path, root, work, limits)
        layers.append(layer)
    if spec.python is not None:
        progress(f"installing {spec.python.lock}")
        layers.append(_python_layer(spec.python, path, root, work, compiled=bool(host)))
    if spec.files:
        progress(f"copying {len(spec.files)} files")
        tree = _new_tree(work, "files")
        copy_files(spec.files, path, tree)
        neutralise(tree)
        layers.append(publish_layer(root, tree.parent, Origin.FILES))
    return Image(
        host=host,
        pins=pins,
        layers=tuple(layers),
        env=_environment(spec, config.env),
        workdir=spec.system.workdir or config.workdir or "/work",
        user=spec.system.user or config.user,
    )


def _keep_off_interpreter(spec: ImageSpec, path: Path) -> None:
    """Refuse targets that would cover the host's interpreter where it is mounted in the world."""
    for prefix in (sys.prefix, sys.base_prefix):
        near = Path(prefix).parts[:3]  # the root and two names: what `bind_points` enters
        for index, item in enumerate(spec.files):
            target = Path(item.target).parts[:3]
            if target == near[: len(target)]:
                where = f"{path}: files[{index}].target"
                hint = "choose a path of its own, for instance below /opt"
                raise UserError(f"{where}: {item.target!r} would cover {prefix}", hint=hint)


def _new_tree(work: Path, name: str) -> Path:
    tree = work / name / "tree"
    tree.mkdir(parents=True)
    return tree


def _base_layer(
    spec: ImageSpec, path: Path, root: Path, work: Path, limits: ArchiveLimits
) -> tuple[StoredLayer, BaseConfig]:
    archive = path.parent / spec.base.path
    tree, config = read_base(spec.base, archive, work, limits)
    made = work / "base"
    made.mkdir()
    lay_out(tree, made / "tree")
    return publish_layer(root, made, Origin.BASE), config


def _python_layer(
    python: PythonSpec, path: Path, root: Path, work: Path, *, compiled: bool
) -> StoredLayer:
    tree = _new_tree(work, "python")
    target = tree / PREFIX.lstrip("/")
    target.parent.mkdir(parents=True)
    for directory in python.find_links:
        if not (path.parent / directory).is_dir():
            raise UserError(f"{path}: python.find_links: {directory} is not a directory")
    install(python, path.parent / python.lock, target, compiled=compiled)
    neutralise(tree)
    return publish_layer(root, tree.parent, Origin.PYTHON)


def _environment(spec: ImageSpec, base: Mapping[str, str]) -> dict[str, str]:
    """Lay the settings over each other: the base's, the system's, the packages', the spec's."""
    env = {
        **base,
        "LANG": spec.system.locale,
        "LC_ALL": spec.system.locale,
        "PYTHONHASHSEED": str(spec.system.hash_seed),
        "TZ": spec.system.timezone,
        **spec.environment,
    }
    if spec.python is not None:
        own = "" if spec.base.kind is BaseKind.HOST else _PATH
        if below := env.get("PATH") or own:  # on the host only the sandbox knows where Python is
            env["PATH"] = f"{PREFIX}/bin:{below}"
        env["PYTHONPATH"] = ":".join(filter(None, (PREFIX, env.get("PYTHONPATH"))))
    return dict(sorted(env.items()))
