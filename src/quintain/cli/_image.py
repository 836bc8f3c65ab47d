"""`quintain image`: build, list, show, verify and clear away images."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from quintain.image import Tagged

__all__ = ["image"]

_STORE = click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="Image store.  [default: images below $QUINTAIN_CACHE, or below ~/.cache/quintain]",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@click.group()
def image() -> None:
    r"""Environments that stay the same: built from a file, named by their content.

    \b
    Examples:
      quintain image build image.toml
      quintain image list
      quintain image verify tools:latest
    """


@image.command()
@click.argument("file", type=click.Path(path_type=Path))
@_STORE
@_JSON
def build(file: Path, store: Path | None, as_json: bool) -> None:
    r"""Build the image that FILE (an image.toml) describes.

    \b
    Examples:
      quintain image build image.toml
      quintain image build envs/tools/image.toml --json | jq -r .digest
    """
    from quintain.image import build as build_image

    built = build_image(file, store, progress=lambda told: click.echo(told, err=True))
    click.echo(_encode(built) if as_json else f"{built.ref} {built.digest}")


@image.command(name="list")
@_STORE
@_JSON
def list_(store: Path | None, as_json: bool) -> None:
    r"""List the images that are stored.

    \b
    Examples:
      quintain image list
      quintain image list --json | jq -r '.[].ref'
    """
    from quintain.image import list_images

    found = list_images(store)
    if as_json:
        click.echo(_encode(found))
        return
    for item in found:
        click.echo(_line(item))


@image.command()
@click.argument("ref")
@_STORE
@_JSON
def show(ref: str, store: Path | None, as_json: bool) -> None:
    r"""Show what the image REF (name, name:tag or first digits of its digest) is made of.

    \b
    Examples:
      quintain image show tools
      quintain image show tools:1 --json | jq .image.env
    """
    from quintain.image import show as show_image

    found = show_image(ref, store)
    if as_json:
        click.echo(_encode(found))
        return
    click.echo(_line(found))
    if found.image.host:
        click.echo(f"base     host {found.image.host}: {', '.join(found.image.pins)}")
    for layer in found.image.layers:
        size = f"{layer.entries} entries, {layer.bytes} bytes"
        click.echo(f"layer    {layer.origin.value:6} {layer.digest}  {size}")
    for key, value in found.image.env.items():
        click.echo(f"env      {key}={value}")
    click.echo(f"workdir  {found.image.workdir}")
    click.echo(f"user     {found.image.user or '(none)'}")


@image.command()
@click.argument("ref")
@_STORE
@_JSON
def verify(ref: str, store: Path | None, as_json: bool) -> None:
    r"""Read everything that REF is made of again; exit 1 when anything is not as it was built.

    \b
    Examples:
      quintain image verify tools
      quintain image verify tools --json | jq -r '.[].path'
    """
    from quintain.image import verify as verify_image

    found = verify_image(ref, store)
    if as_json:
        click.echo(_encode(found))
    else:
        for difference in found:
            click.echo(str(difference))
        click.echo(f"{ref}: {len(found)} differences" if found else f"{ref}: whole", err=True)
    if found:
        sys.exit(1)  # a bare exit code would be lost on the way through the command tree


@image.command()
@click.option("--dry-run", is_flag=True, help="Say what would go, and leave it.")
@_STORE
@_JSON
def gc(dry_run: bool, store: Path | None, as_json: bool) -> None:
    r"""Remove images that no tag stands for, what only they used, and what killed builds left.

    \b
    Examples:
      quintain image gc --dry-run
      quintain image gc
    """
    from quintain.image import gc as collect

    gone = collect(store, dry_run=dry_run)
    if as_json:
        click.echo(_encode(gone))
        return
    for kind in ("images", "layers", "hosts", "leftovers"):
        for name in getattr(gone, kind):
            click.echo(f"{kind:9} {name}")
    click.echo(f"{gone.bytes} bytes {'would be ' if dry_run else ''}freed", err=True)


def _line(item: Tagged) -> str:
    size = sum(layer.bytes for layer in item.image.layers)
    base = "host" if item.image.host else "own root"
    return f"{item.ref or '(untagged)':24} {item.digest}  {base:8}  {size} bytes"


def _encode(value: object) -> str:
    from quintain.codec import encode

    return encode(value).decode()
