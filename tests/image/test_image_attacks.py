"""Hostile archives: each is refused with the member's name and leaves nothing behind."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from image_archives import (
    Member,
    docker_archive,
    folder,
    hard_link,
    image_file,
    member,
    oci_archive,
    oci_files,
    symlink,
    tar,
)

from quintain.errors import UserError
from quintain.image import ArchiveLimits, build, gc
from quintain.image._archive import Budget, read_tar
from quintain.image._tree import Tree

A = member("a", b"1")

REFUSED: list[tuple[str, list[Member], str]] = [
    ("parent", [member("../evil")], r"'\.\./evil': '\.\.' in the path"),
    ("parent inside", [member("a/../../evil")], r"'a/\.\./\.\./evil': '\.\.' in the path"),
    ("parent directory", [folder("a/../..")], r"'\.\.' in the path"),
    ("absolute", [member("/etc/evil")], "'/etc/evil': absolute path"),
    ("absolute directory", [folder("//etc")], "'//etc': absolute path"),
    ("link up", [symlink("up", "../.."), member("up/evil")], "'up/evil': leads above the root"),
    (
        "link up in two steps",
        [folder("d"), symlink("d/one", ".."), symlink("two", "d/one/.."), member("two/evil")],
        "'two/evil': leads above the root",
    ),
    ("absolute link up", [symlink("l", "/../x"), member("l/evil")], "'l/evil': leads above the"),
    ("link loop", [symlink("x", "y"), symlink("y", "x"), member("x/evil")], "too many symbolic"),
    ("link without target", [symlink("x", "")], "'x': a symbolic link without"),
    ("hard link up", [hard_link("x", "../../etc/passwd")], r"'x': '\.\.' in the path"),
    ("absolute hard link", [hard_link("x", "/etc/passwd")], "'x': absolute path"),
    ("hard link to nothing", [hard_link("x", "etc/passwd")], "hard link to 'etc/passwd', which is"),
    ("hard link to itself", [hard_link("x", "x")], "hard link to 'x', which is not there"),
    ("hard link to a directory", [folder("d"), hard_link("x", "d")], "which is a directory"),
    (
        "hard link through a link up",
        [symlink("up", "../.."), hard_link("x", "up/etc/passwd")],
        "'x': leads above the root",
    ),
    ("below a file", [A, member("a/b", b"2")], "'a/b': lies below 'a', which is a file"),
    ("root replaced by a link", [symlink(".", "/")], "takes the place of the root"),
    ("root replaced by a file", [member("./", b"1")], "takes the place of the root"),
    ("character device", [member("dev/mem", kind=tarfile.CHRTYPE)], "'dev/mem': a device node"),
    ("block device", [member("dev/sda", kind=tarfile.BLKTYPE)], "'dev/sda': a device node"),
    ("fifo", [member("pipe", kind=tarfile.FIFOTYPE)], "'pipe': a device node, FIFO"),
    ("unknown kind", [member("odd", kind=b"Z")], "'odd': a device node, FIFO or other"),
    ("sparse", [member("holes", kind=tarfile.GNUTYPE_SPARSE)], "'holes': a sparse file"),
    ("deep", [member("d/" * 300 + "f")], "more than 256 directories deep"),
    ("long path", [member("/".join(["n" * 200] * 20))], "path longer than 3000 bytes"),
    ("long name", [member("n" * 300)], "a name longer than 255 bytes"),
    ("whiteout of parent", [A, member(".wh...")], r"'\.wh\.\.\.': a whiteout of no name"),
    ("whiteout of here", [A, member("d/.wh..")], "a whiteout of no name"),
    ("whiteout of nothing", [A, member(".wh.")], "a whiteout of no name"),
    (
        "whiteout through a link up",
        [symlink("up", "../.."), member("up/.wh.etc")],
        r"'up/\.wh\.etc': leads above the root",
    ),
    (
        "opaque through a link up",
        [symlink("up", "../.."), member("up/.wh..wh..opq")],
        "leads above the root",
    ),
]


@pytest.mark.parametrize(
    ("members", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_hostile_members_are_refused_by_name(
    tmp_path: Path, members: list[Member], message: str
) -> None:
    store = tmp_path / "store"
    file = image_file(tmp_path / "in", "docker", docker_archive([tar([A]), tar(members)]))
    if members[0][0].name in ("a", "."):
        file = image_file(tmp_path / "in", "docker", docker_archive([tar(members)]))
    before = sorted(path for path in tmp_path.rglob("*"))
    with pytest.raises(UserError, match=message) as caught:
        build(file, store)
    assert "base.tar: layer" in caught.value.message
    left = {path.name for path in tmp_path.rglob("*") if path not in before}
    assert left == {"store", "layers", "hosts", "manifests", "tags", "tmp", "lock"}


def header(kind: bytes, size: int, name: str = "x") -> bytes:
    """Write a header that promises more than follows."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


END = bytes(1024)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_of_a_gigabyte_is_refused_before_it_is_read(tmp_path: Path, kind: bytes) -> None:
    archive = tar([A])[:1024] + header(kind, 1 << 30) + END
    with pytest.raises(UserError, match="'a': a header of 1073"):
        build(image_file(tmp_path, "tar", archive), tmp_path / "store")
    with pytest.raises(UserError, match="'a': a header of 1073"):
        build(image_file(tmp_path, "docker", archive), tmp_path / "store")


def test_a_bomb_is_refused_while_it_expands(tmp_path: Path) -> None:
    bomb = gzip.compress(tar([member("zeros", bytes(100 << 20))]))
    with pytest.raises(UserError, match="'zeros': expands more than 200 times"):
        build(image_file(tmp_path, "tar", bomb), tmp_path / "store")
    assert list((tmp_path / "store" / "tmp").iterdir()) == []


def test_limits_of_bytes_and_members_count_over_all_layers(tmp_path: Path) -> None:
    layers = [tar([member(str(number), bytes(9000))]) for number in range(4)]
    file = image_file(tmp_path, "oci", oci_archive(oci_files(layers)))
    with pytest.raises(UserError, match=r"layer 2 .*member '1': more than 25000 bytes"):
        build(file, tmp_path / "store", limits=ArchiveLimits(max_bytes=25_000))
    with pytest.raises(UserError, match=r"layer 4 .*member '3': more than 3 members"):
        build(file, tmp_path / "store", limits=ArchiveLimits(max_members=3))


def test_a_member_that_promises_a_terabyte_is_cut_short_not_allocated(tmp_path: Path) -> None:
    archive = tar([A])[:1024] + header(tarfile.REGTYPE, 1 << 40, "huge") + END
    with pytest.raises(UserError, match="damaged after member 'huge'"):
        build(image_file(tmp_path, "tar", archive), tmp_path / "store")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_an_archive_cut_short_anywhere_is_refused(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    whole = tar([member("a", bytes(range(256)) * 40), member("b", b"2" * 700)])
    packed = pack(whole[: 10240 + 512 + 1024 + 512 + 1024])
    for length in sorted({0, 1, 5, 511, 512, 513, 1024, 10240, 10752, len(packed) // 2}):
        if length >= len(packed):
            continue
        with pytest.raises(UserError, match=r"damaged|cut short"):
            build(image_file(tmp_path, "tar", packed[:length]), tmp_path / "store")


def test_a_layer_that_does_not_hash_to_what_its_config_says_is_refused(tmp_path: Path) -> None:
    good, bad = tar([member("a", b"good")]), tar([member("a", b"evil")])
    archive = docker_archive([good]).replace(b"good", b"evil")
    assert bad in archive
    with pytest.raises(UserError, match=r"layer 1 .*damaged: hashes to"):
        build(image_file(tmp_path, "docker", archive), tmp_path / "store")


def test_a_manifest_that_does_not_hash_to_its_name_is_refused(tmp_path: Path) -> None:
    files = oci_files([tar([A])])
    index = json.loads(files["index.json"])
    name = "blobs/sha256/" + index["manifests"][0]["digest"].removeprefix("sha256:")
    files[name] = files[name].replace(b'"schemaVersion": 2', b'"schemaVersion": 3')
    with pytest.raises(UserError, match="does not hash to its name"):
        build(image_file(tmp_path, "oci", oci_archive(files)), tmp_path / "store")


def test_a_digest_cannot_name_a_file_outside_the_layout(tmp_path: Path) -> None:
    files = oci_files([tar([A])])
    index = {"manifests": [{"digest": "sha256:../../../../etc/passwd"}]}
    files["index.json"] = json.dumps(index).encode()
    with pytest.raises(UserError, match="is not a sha256 digest"):
        build(image_file(tmp_path, "oci", oci_archive(files)), tmp_path / "store")


def test_links_between_members_that_go_round_are_refused(tmp_path: Path) -> None:
    archive = tar([symlink("manifest.json", "x"), symlink("x", "manifest.json")])
    with pytest.raises(UserError, match="holds no manifest"):
        build(image_file(tmp_path, "docker", archive), tmp_path / "store")


def test_an_archive_with_another_hash_than_the_image_file_says_is_refused(tmp_path: Path) -> None:
    file = image_file(tmp_path, "tar", tar([A]), f'sha256 = "{"0" * 64}"\n')
    with pytest.raises(UserError, match="sha256 says 0000"):
        build(file, tmp_path / "store")


@pytest.mark.parametrize("kind", ["tar", "docker", "oci"])
def test_an_archive_that_is_not_there_or_no_archive_is_named(tmp_path: Path, kind: str) -> None:
    file = image_file(tmp_path, kind, b"no archive at all")
    with pytest.raises(UserError, match=r"base\.tar: (not a tar|damaged)"):
        build(file, tmp_path / "store")
    (tmp_path / "base.tar").unlink()
    with pytest.raises(UserError, match=r"base\.tar: cannot be read: No such file"):
        build(file, tmp_path / "store")


def test_zstd_is_read_or_refused_with_a_way_out(tmp_path: Path) -> None:
    file = image_file(tmp_path, "tar", b"\x28\xb5\x2f\xfd" + bytes(100))
    with pytest.raises(UserError, match=r"zstd needs Python 3\.14|damaged"):
        build(file, tmp_path / "store")


@settings(max_examples=150, deadline=None)
@given(
    flips=st.lists(st.tuples(st.integers(0, 5119), st.integers(1, 255)), min_size=1, max_size=6),
    kind=st.sampled_from(["tar", "layer", "docker"]),
)
@example(flips=[(156, 0x30 ^ ord("L"))], kind="tar")
def test_no_damage_to_an_archive_crashes_the_reader(
    tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[int, int]], kind: str
) -> None:
    members = [folder("d"), member("d/" + "n" * 150, b"1" * 600), symlink("s", "d"), A]
    data = bytearray(tar([*members, hard_link("h", "a"), member("größe", b"2")]))
    if kind == "docker":
        data = bytearray(docker_archive([tar(members)]))
    for offset, change in flips:
        data[offset] ^= change
    _fix_checksums(data)
    place = tmp_path_factory.mktemp("fuzz")
    told = ""
    try:
        if kind == "docker":
            build(image_file(place, kind, bytes(data)), place / "store")
        else:
            budget = Budget(ArchiveLimits(max_bytes=1 << 20))
            whiteouts = kind == "layer"
            raw = io.BytesIO(data)
            read_tar(raw, Tree(), where="in", blobs=place, budget=budget, whiteouts=whiteouts)
    except UserError as error:
        told = error.message
    assert not told or told.startswith(("in: ", str(place / "base.tar")))


def _fix_checksums(data: bytearray) -> None:
    """Make damaged headers look sound, so that the damage gets further than the checksum."""
    for start in range(0, len(data), 512):
        block = data[start : start + 512]
        if block[257:262] == b"ustar":
            block[148:156] = b" " * 8
            data[start + 148 : start + 156] = f"{sum(block):06o}\0 ".encode()


def test_a_killed_build_leaves_one_directory_that_gc_removes(tmp_path: Path) -> None:
    store = tmp_path / "store"
    build(image_file(tmp_path, "tar", tar([A])), store)
    left = store / "tmp" / "build-killed"
    (left / "base" / "tree").mkdir(parents=True)
    assert gc(store).leftovers == ("build-killed",)
    assert list((store / "tmp").iterdir()) == []
