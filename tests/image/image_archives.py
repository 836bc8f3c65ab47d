"""Archives, wheels and image files that the tests write themselves."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Member = tuple[tarfile.TarInfo, bytes]


def member(
    name: str,
    data: bytes = b"",
    *,
    kind: bytes = tarfile.REGTYPE,
    link: str = "",
    mode: int = 0o644,
    mtime: int = 1_600_000_000,
) -> Member:
    """Describe one member of a tar."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.mtime = kind, link, mode, mtime
    info.size = len(data)
    info.uid = info.gid = 4711
    return info, data


def folder(name: str, mode: int = 0o755) -> Member:
    return member(name, kind=tarfile.DIRTYPE, mode=mode)


def symlink(name: str, target: str) -> Member:
    return member(name, kind=tarfile.SYMTYPE, link=target)


def hard_link(name: str, target: str) -> Member:
    return member(name, kind=tarfile.LNKTYPE, link=target)


def tar(members: Sequence[Member]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _config(layers: Sequence[bytes], runtime: Mapping[str, object]) -> bytes:
    diff_ids = [f"sha256:{_sha256(layer)}" for layer in layers]
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": dict(runtime),
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
        "history": [],
    }
    return json.dumps(config).encode()


def docker_archive(
    layers: Sequence[bytes], runtime: Mapping[str, object] = {}, tag: str = "base:1"
) -> bytes:
    """Write what `docker save` writes, in its older form: one folder for each layer."""
    config = _config(layers, runtime)
    name = f"{_sha256(config)}.json"
    paths = [f"{number:02}/layer.tar" for number in range(len(layers))]
    manifest = [{"Config": name, "RepoTags": [tag], "Layers": paths}]
    files = {name: config, "manifest.json": json.dumps(manifest).encode()}
    files |= dict(zip(paths, layers, strict=True))
    return tar([member(path, data) for path, data in files.items()])


def oci_files(
    layers: Sequence[bytes],
    runtime: Mapping[str, object] = {},
    pack: Callable[[bytes], bytes] = lambda data: gzip.compress(data, mtime=0),
) -> dict[str, bytes]:
    """Return the files of an OCI image layout by path."""
    blobs: dict[str, bytes] = {}

    def put(data: bytes, media_type: str) -> dict[str, object]:
        blobs[f"blobs/sha256/{_sha256(data)}"] = data
        kind = f"application/vnd.oci.image.{media_type}"
        return {"mediaType": kind, "digest": f"sha256:{_sha256(data)}", "size": len(data)}

    manifest = {
        "schemaVersion": 2,
        "config": put(_config(layers, runtime), "config.v1+json"),
        "layers": [put(pack(layer), "layer.v1.tar+gzip") for layer in layers],
    }
    index = {
        "schemaVersion": 2,
        "manifests": [put(json.dumps(manifest).encode(), "manifest.v1+json")],
    }
    return {
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
        "index.json": json.dumps(index).encode(),
        **blobs,
    }


def oci_archive(files: Mapping[str, bytes]) -> bytes:
    return tar([member(path, data) for path, data in files.items()])


def wheel(directory: Path, version: str = "1.0") -> tuple[Path, str]:
    """Write a small pure-Python wheel with a module, a script and an entry point."""
    info = f"sundial-{version}.dist-info"
    files = {
        "sundial/__init__.py": b"from __future__ import annotations\n\nHOURS = {1, 2, 3}\n",
        "sundial/cli.py": b"def main() -> None:\n    print('noon')\n",
        f"sundial-{version}.data/scripts/shade": b"#!python\nprint('shade')\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: sundial\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": b"[console_scripts]\nsundial = sundial.cli:main\n",
    }
    rows = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(data)}")
    record = "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
    directory.mkdir(parents=True, exist_ok=True)
    place = directory / f"sundial-{version}-py3-none-any.whl"
    with zipfile.ZipFile(place, "w") as archive:
        for path, data in {**files, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(path, data)
    return place, _sha256(place.read_bytes())


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def image_file(directory: Path, kind: str, archive: bytes, extra: str = "") -> Path:
    """Write an archive and an ``image.toml`` on top of it."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "base.tar").write_bytes(archive)
    base = f'name = "made"\n[base]\nkind = "{kind}"\npath = "base.tar"\n'
    return write(directory / "image.toml", base + extra)
