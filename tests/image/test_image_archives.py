"""What archives become: layers in order, whiteouts, links, modes, settings."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import re
import stat
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
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
from quintain.image import build, resolve
from quintain.image._archive import ArchiveLimits, Budget, read_tar
from quintain.image._tree import Directory, File, Tree


def tree_of(directory: Path, layers: Sequence[Sequence[Member]], kind: str = "docker") -> Path:
    """Build an image of these layers and return the directory of its base layer."""
    packed = [tar(layer) for layer in layers]
    archive = packed[0] if kind == "tar" else docker_archive(packed)
    built = build(image_file(directory, kind, archive), directory / "store")
    return Path(resolve(built.digest, directory / "store").layers[0])


def names(tree: Path) -> set[str]:
    return {str(path.relative_to(tree)) for path in tree.rglob("*")}


def test_later_layers_replace_what_earlier_ones_had(tmp_path: Path) -> None:
    first = [folder("etc"), member("etc/issue", b"one"), member("etc/kept", b"kept")]
    tree = tree_of(tmp_path, [first, [member("etc/issue", b"two")]])
    assert (tree / "etc/issue").read_bytes() == b"two"
    assert (tree / "etc/kept").read_bytes() == b"kept"


def test_a_whiteout_removes_a_file_and_a_whole_directory(tmp_path: Path) -> None:
    first = [member("a/b/c", b"1"), member("a/d", b"2"), member("e", b"3")]
    tree = tree_of(tmp_path, [first, [member("a/.wh.b"), member(".wh.e")]])
    assert names(tree) == {"a", "a/d"}


@pytest.mark.parametrize("last", [True, False])
def test_a_whiteout_spares_what_its_own_layer_adds(tmp_path: Path, last: bool) -> None:
    added, hidden = member("a/new", b"new"), member(".wh.a")
    second = [added, hidden] if last else [hidden, added]
    tree = tree_of(tmp_path, [[member("a/old", b"old")], second])
    assert names(tree) == {"a", "a/new"}


@pytest.mark.parametrize("last", [True, False])
def test_an_opaque_directory_hides_everything_below_it(tmp_path: Path, last: bool) -> None:
    added, opaque = member("a/b/new", b"new"), member("a/.wh..wh..opq")
    second = [added, opaque] if last else [opaque, added]
    first = [member("a/old", b"old"), member("a/b/old", b"old"), member("c", b"kept")]
    tree = tree_of(tmp_path, [first, second])
    assert names(tree) == {"a", "a/b", "a/b/new", "c"}


def test_a_whiteout_of_nothing_is_no_error(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, [[member("a", b"1")], [member("no/where/.wh.b"), member(".wh.c")]])
    assert names(tree) == {"a"}


def test_a_plain_tar_has_no_whiteouts(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, [[member("a", b"1"), member(".wh.a", b"2")]], kind="tar")
    assert names(tree) == {"a", ".wh.a"}


def test_hard_links_share_one_file_across_layers(tmp_path: Path) -> None:
    first = [member("bin/one", b"tool", mode=0o755)]
    tree = tree_of(tmp_path, [first, [hard_link("bin/two", "bin/one")]])
    assert (tree / "bin/one").samefile(tree / "bin/two")
    assert (tree / "bin/two").stat().st_mode & 0o777 == 0o755


def test_replacing_one_name_of_a_hard_link_leaves_the_other(tmp_path: Path) -> None:
    first = [member("one", b"old"), hard_link("two", "one")]
    tree = tree_of(tmp_path, [first, [member("one", b"new")]])
    assert ((tree / "one").read_bytes(), (tree / "two").read_bytes()) == (b"new", b"old")


def test_members_below_a_linked_directory_land_where_it_points(tmp_path: Path) -> None:
    first = [folder("usr/lib"), symlink("lib", "usr/lib"), symlink("abs", "/usr/lib")]
    second = [member("lib/a", b"a"), member("abs/b", b"b")]
    tree = tree_of(tmp_path, [first, second])
    assert (tree / "lib").is_symlink()
    assert (tree / "usr/lib/a").read_bytes() == b"a"
    assert (tree / "usr/lib/b").read_bytes() == b"b"


def test_absolute_links_stay_as_they_are_and_reach_nothing_outside(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    canary.mkdir()
    first = [symlink("out", str(canary))]
    tree = tree_of(tmp_path, [first, [member("out/file", b"x")]])
    assert (tree / "out").readlink() == canary
    assert list(canary.iterdir()) == []
    assert (tree / str(canary / "file").lstrip("/")).read_bytes() == b"x"


def test_modes_are_kept_and_set_user_id_bits_are_not(tmp_path: Path) -> None:
    members = [
        member("su", b"", mode=0o4755),
        member("secret", b"", mode=0o600),
        folder("tmp", mode=0o1777),
        folder("closed", mode=0o050),
    ]
    tree = tree_of(tmp_path, [members], kind="tar")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tree.iterdir()}
    assert modes == {"su": 0o755, "secret": 0o600, "tmp": 0o1777, "closed": 0o750}


def test_file_times_are_kept_for_compiled_files_to_be_judged_by(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, [[member("a.py", b"", mtime=1_234_567)]], kind="tar")
    assert (tree / "a.py").stat().st_mtime == 1_234_567


def test_a_directory_takes_the_place_of_a_link_and_a_file_that_of_a_directory(
    tmp_path: Path,
) -> None:
    first = [folder("b"), symlink("a", "b"), member("c/d", b"1")]
    tree = tree_of(tmp_path, [first, [folder("a"), member("c", b"2")]])
    assert (tree / "a").is_dir()
    assert not (tree / "a").is_symlink()
    assert (tree / "c").read_bytes() == b"2"


def test_settings_of_the_archive_are_honoured_and_the_image_file_wins(tmp_path: Path) -> None:
    runtime = {"Env": ["PATH=/bin", "LANG=de", "A=b=c"], "WorkingDir": "/srv/", "User": "app:7"}
    archive = docker_archive([tar([member("a", b"1")])], runtime)
    built = build(image_file(tmp_path / "1", "docker", archive), tmp_path / "store").image
    assert (built.env["PATH"], built.env["A"]) == ("/bin", "b=c")
    assert (built.env["LANG"], built.env["TZ"], built.env["PYTHONHASHSEED"]) == (
        "C.UTF-8",
        "UTC",
        "0",
    )
    assert (built.workdir, built.user) == ("/srv", "app:7")
    extra = '[environment]\nA = "mine"\n[system]\nworkdir = "/w"\nuser = "me"\nhash_seed = 5\n'
    built = build(image_file(tmp_path / "2", "docker", archive, extra), tmp_path / "store").image
    assert (built.env["A"], built.env["PYTHONHASHSEED"]) == ("mine", "5")
    assert (built.workdir, built.user) == ("/w", "me")


def test_the_same_content_has_one_digest_whatever_archive_it_comes_in(tmp_path: Path) -> None:
    layers = [tar([member("a/b", b"1"), symlink("l", "a")]), tar([member("a/.wh.b")])]
    runtime = {"Env": ["A=b"]}
    layout = tmp_path / "layout"
    for path, data in oci_files(layers, runtime).items():
        (layout / path).parent.mkdir(parents=True, exist_ok=True)
        (layout / path).write_bytes(data)
    directory = image_file(tmp_path / "d", "oci", b"")
    directory.write_text(directory.read_text().replace("base.tar", "../layout"))
    files = [
        image_file(tmp_path / "a", "docker", docker_archive(layers, runtime)),
        image_file(tmp_path / "b", "docker", gzip.compress(docker_archive(layers, runtime))),
        image_file(tmp_path / "c", "oci", oci_archive(oci_files(layers, runtime))),
        directory,
    ]
    assert len({build(file, tmp_path / "store").digest for file in files}) == 1


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_plain_and_compressed_tars_give_one_digest(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    plain = tar([member("a", b"1" * 2000), member("b", b"")])
    expected = build(image_file(tmp_path / "1", "tar", plain), tmp_path / "store").digest
    packed = build(image_file(tmp_path / "2", "tar", pack(plain)), tmp_path / "store").digest
    assert packed == expected


def test_the_image_for_this_machine_is_taken_from_an_index_of_several(tmp_path: Path) -> None:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    files: dict[str, bytes] = {}
    manifests = []
    for architecture, text in ((machine, b"mine"), ("other", b"other"), ("unknown", b"signed")):
        made = oci_files([tar([member("a", text)])])
        found = json.loads(made["index.json"])["manifests"][0]
        manifests.append({**found, "platform": {"os": "linux", "architecture": architecture}})
        files |= made
    files["index.json"] = json.dumps({"manifests": manifests}).encode()
    built = build(image_file(tmp_path, "oci", oci_archive(files)), tmp_path / "store")
    tree = Path(resolve(built.ref, tmp_path / "store").layers[0])
    assert (tree / "a").read_bytes() == b"mine"


def test_an_archive_of_several_images_asks_which(tmp_path: Path) -> None:
    packed = io.BytesIO(docker_archive([tar([member("a", b"1")])]))
    with tarfile.open(fileobj=packed) as outer:
        contents = {info.name: outer.extractfile(info) for info in outer.getmembers()}
        files = {name: file.read() for name, file in contents.items() if file is not None}
    saved = json.loads(files["manifest.json"])
    files["manifest.json"] = json.dumps([*saved, {**saved[0], "RepoTags": ["other:2"]}]).encode()
    file = image_file(tmp_path, "docker", oci_archive(files))
    with pytest.raises(UserError, match="2 images fit") as caught:
        build(file, tmp_path / "store")
    assert "base:1; other:2" in caught.value.hint
    file.write_text(file.read_text() + 'image = "other:2"\n')
    assert build(file, tmp_path / "store").ref == "made:latest"


def test_a_root_filesystem_that_tar_itself_wrote_is_read(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "bin").mkdir(parents=True)
    (source / "bin" / "tool").write_text("tool")
    (source / ("n" * 200)).write_text("a long name")
    (source / "other").hardlink_to(source / "bin" / "tool")
    packed = subprocess.run(
        ["tar", "-C", str(source), "-cz", "."], capture_output=True, check=True
    ).stdout
    built = build(image_file(tmp_path, "tar", packed), tmp_path / "store")
    tree = Path(resolve(built.ref, tmp_path / "store").layers[0])
    assert names(tree) == {"bin", "bin/tool", "n" * 200, "other"}
    assert (tree / "other").samefile(tree / "bin/tool")


def test_a_program_runs_in_a_root_built_from_layers_with_links(tmp_path: Path) -> None:
    """Two layers, an absolute link, a hard link and a whiteout, seen from inside."""
    shell = Path("/bin/sh").resolve()
    listed = subprocess.run(["ldd", str(shell)], capture_output=True, text=True, check=False)
    libraries = re.findall(r"(/\S+) \(0x", listed.stdout)
    if not libraries:
        pytest.skip("needs a dynamic /bin/sh and ldd, to make a small root filesystem of them")
    first = [member("usr/bin/sh", shell.read_bytes(), mode=0o755), symlink("bin", "/usr/bin")]
    first += [member(path.lstrip("/"), Path(path).read_bytes(), mode=0o755) for path in libraries]
    first += [member("etc/one", b"first"), member("etc/gone", b"gone")]
    second = [member("bin/two", b"echo second; read x < /etc/alias; echo $x", mode=0o755)]
    second += [hard_link("etc/alias", "etc/one"), member("etc/.wh.gone")]
    tree = tree_of(tmp_path, [first, second])
    command = ["unshare", "--user", "--map-root-user", "chroot", str(tree), "/bin/sh", "-c"]
    if subprocess.run([*command, ":"], capture_output=True, check=False).returncode:
        pytest.skip("needs unshare with user namespaces")
    script = ". /usr/bin/two; for name in /etc/*; do echo $name; done"
    done = subprocess.run([*command, script], capture_output=True, text=True, check=True)
    assert done.stdout == "second\nfirst\n/etc/alias\n/etc/one\n"


_ADDS = st.dictionaries(
    st.sampled_from(["a/x", "a/y", "a/b/x", "a/b/y", "c/x"]), st.sampled_from(["1", "2"])
)
_HIDES = st.sets(st.sampled_from(["a/x", "a/y", "a/b", "a", "c", "a/b/x"]))
_OPAQUES = st.sets(st.sampled_from(["a", "a/b", "c"]))
Changes = tuple[dict[str, str], set[str], set[str]]


def model(layers: Sequence[Changes]) -> dict[str, str]:
    """Apply layers the plain way: first hide, then add, on a mapping of paths."""
    files: dict[str, str] = {}
    for adds, hides, opaques in layers:
        gone = list(hides) + [f"{path}/" for path in hides | opaques]
        files = {
            path: text
            for path, text in files.items()
            if not any(path == name or (name[-1] == "/" and path.startswith(name)) for name in gone)
        }
        files |= adds
    return files


def flat(directory: Directory, below: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, child in directory.children.items():
        if isinstance(child, Directory):
            found |= flat(child, f"{below}{name}/")
        elif isinstance(child, File):
            found[below + name] = child.blob.read_text()
    return found


@settings(max_examples=60, deadline=None)
@given(
    layers=st.lists(st.tuples(_ADDS, _HIDES, _OPAQUES), min_size=1, max_size=4),
    order=st.randoms(use_true_random=False),
)
def test_whiteouts_act_like_the_plain_model_in_any_order_of_members(
    tmp_path_factory: pytest.TempPathFactory, layers: list[Changes], order: random.Random
) -> None:
    tree, budget = Tree(), Budget(ArchiveLimits())
    blobs = tmp_path_factory.mktemp("blobs")
    for number, (adds, hides, opaques) in enumerate(layers, start=1):
        members = [member(path, text.encode()) for path, text in adds.items()]
        members += [member(f"{Path(path).parent}/.wh.{Path(path).name}") for path in sorted(hides)]
        members += [member(f"{path}/.wh..wh..opq") for path in sorted(opaques)]
        order.shuffle(members)
        tree.layer = number
        raw = io.BytesIO(tar(members))
        read_tar(raw, tree, where="layer", blobs=blobs, budget=budget, whiteouts=True)
    assert flat(tree.root) == model(layers)
