"""Building twice is the same; verify finds every kind of change; gc takes only what is loose."""

from __future__ import annotations

import fcntl
import importlib.util
import marshal
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from image_archives import folder, image_file, member, symlink, tar, wheel, write

from quintain.errors import UserError
from quintain.image import build, gc, list_images, resolve, show, verify
from quintain.image._python import release_script
from quintain.sandbox._root import HOST_ROOT, bind_points

PYTHON = '[python]\nlock = "lock.txt"\nfind_links = ["wheels"]\n'


def host_file(directory: Path, extra: str = "") -> Path:
    """Write an image on a host base that pins one small directory of its own."""
    pinned = directory / "pinned"
    write(pinned / "lib" / "module.py", "X = 1\n")
    text = f'name = "made"\n[base]\nkind = "host"\npin = ["{pinned}"]\n{extra}'
    return write(directory / "image.toml", text)


def locked(directory: Path, *, version: str = "1.0") -> Path:
    """Write a host image with one locked wheel."""
    _, digest = wheel(directory / "wheels", version)
    write(
        directory / "lock.txt",
        f"# made by hand\nsundial=={version} \\\n    --hash=sha256:{digest}  # one\n",
    )
    return host_file(directory, PYTHON)


def layer_of(file: Path, store: Path) -> Path:
    return Path(resolve(build(file, store).digest, store).layers[-1])


# --- the same twice ---------------------------------------------------------------------------


def test_files_built_twice_under_other_conditions_give_one_digest(tmp_path: Path) -> None:
    files = '[[files]]\nsource = "data"\ntarget = "/opt/data"\n'
    digests = set()
    for number, names in enumerate((["b", "a"], ["a", "b"])):
        directory = tmp_path / str(number)
        before = os.umask(0o077 if number else 0o022)
        try:
            for name in names:
                path = write(directory / "data" / name, name)
                os.utime(path, (number * 1000, number * 1000))
                path.chmod(0o700 if name == "a" else 0o660)
            (directory / "data" / "link").symlink_to("a")
            built = build(image_file(directory, "tar", tar([]), files), tmp_path / f"s{number}")
        finally:
            os.umask(before)
        digests.add(built.digest)
        tree = Path(resolve(built.digest, tmp_path / f"s{number}").layers[-1])
        assert (tree / "opt/data/link").readlink() == Path("a")
        assert stat.S_IMODE((tree / "opt/data/a").stat().st_mode) == 0o755
        assert stat.S_IMODE((tree / "opt/data/b").stat().st_mode) == 0o644
    assert len(digests) == 1


def test_locked_packages_built_twice_give_one_digest_and_no_trace_of_pip(tmp_path: Path) -> None:
    trees = [layer_of(locked(tmp_path / name), tmp_path / name / "store") for name in ("x", "yy")]
    assert trees[0].parent.name == trees[1].parent.name
    site = trees[0] / "opt/quintain/python"
    info = site / "sundial-1.0.dist-info"
    assert {path.name for path in info.iterdir()} == {
        *("METADATA", "WHEEL", "RECORD", "entry_points.txt"),
    }
    text = "".join(path.read_text() for path in [*site.glob("bin/*"), info / "RECORD"])
    assert str(tmp_path) not in text
    assert sys.executable not in text
    assert (site / "bin/sundial").read_text() == (
        "#!/usr/bin/env python3\nimport sys\nfrom sundial.cli import main\n\n"
        'if __name__ == "__main__":\n    sys.exit(main())\n'
    )
    assert (site / "bin/shade").read_text().startswith("#!/usr/bin/env python3\n")


def test_scripts_are_freed_of_the_builders_interpreter_and_others_left_alone(
    tmp_path: Path,
) -> None:
    script, exe = tmp_path / "script", "/long path/python"
    env = "#!/usr/bin/env python3\n"
    rows = [
        (f"#!{exe}\nx\ny\nz\nend", f"{env}x\ny\nz\nend"),
        (f'#!"{exe}"\nx', f"{env}x"),
        (f"#!/bin/sh\n'''exec' \"{exe}\" \"$0\" \"$@\"\n' '''\nx\ny\n", f"{env}x\ny\n"),
        (f"#!/bin/sh\nexec {exe} tool\n", f"#!/bin/sh\nexec {exe} tool\n"),
        ("#!/usr/bin/python3 -O\nx", "#!/usr/bin/python3 -O\nx"),
        ("", ""),
    ]
    for before, after in rows:
        script.write_text(before)
        release_script(script, exe)
        assert script.read_text() == after


def test_an_image_has_this_digest_on_every_machine(tmp_path: Path) -> None:
    archive = tar([folder("etc", 0o750), member("etc/issue", b"hello"), symlink("l", "etc")])
    files = '[[files]]\nsource = "one"\ntarget = "/opt/one"\n[environment]\nA = "b"\n'
    write(tmp_path / "one", "1")
    built = build(image_file(tmp_path, "tar", archive, files), tmp_path / "store")
    assert built.digest == "32d39c06577c54337827d872b3419544", (
        "a change of the format needs a new `Image.schema`"
    )


def test_bytecode_in_a_layer_never_looks_at_file_times(tmp_path: Path) -> None:
    site = layer_of(locked(tmp_path), tmp_path / "store") / "opt/quintain/python"
    source = site / "sundial" / "__init__.py"
    data = Path(importlib.util.cache_from_source(str(source))).read_bytes()
    assert data[:4] == importlib.util.MAGIC_NUMBER
    assert int.from_bytes(data[4:8], "little") == 1
    assert data[8:16] == importlib.util.source_hash(source.read_bytes())
    assert marshal.loads(data[16:]).co_filename == "/opt/quintain/python/sundial/__init__.py"


def test_packages_of_a_layer_can_be_imported_and_know_their_version(tmp_path: Path) -> None:
    site = layer_of(locked(tmp_path), tmp_path / "store") / "opt/quintain/python"
    program = (
        "import importlib.metadata as m, sundial; "
        "print(m.version('sundial'), sorted(sundial.HOURS), len(m.files('sundial')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1.0 [1, 2, 3] 8\n"


def test_the_name_of_an_image_is_no_part_of_its_digest(tmp_path: Path) -> None:
    first = build(image_file(tmp_path, "tar", tar([member("a", b"1")])), tmp_path / "store")
    file = tmp_path / "image.toml"
    file.write_text(file.read_text().replace('"made"', '"other"\ntag = "2"'))
    second = build(file, tmp_path / "store")
    assert (first.ref, second.ref) == ("made:latest", "other:2")
    assert first.digest == second.digest


def test_packages_are_on_the_paths_of_programs(tmp_path: Path) -> None:
    env = build(locked(tmp_path), tmp_path / "store").image.env
    assert env["PYTHONPATH"] == "/opt/quintain/python"
    assert "PATH" not in env, "only the sandbox knows where the host's interpreter is"
    file = image_file(tmp_path, "tar", tar([]), PYTHON + 'version = "3.11"\n')
    env = build(file, tmp_path / "store").image.env
    assert env["PATH"].split(":")[:2] == ["/opt/quintain/python/bin", "/usr/local/sbin"]


def test_packages_for_another_root_have_no_bytecode_of_the_builders_interpreter(
    tmp_path: Path,
) -> None:
    locked(tmp_path)
    file = image_file(tmp_path, "tar", tar([]), PYTHON + 'version = "3.12"\n')
    tree = layer_of(file, tmp_path / "store")
    assert (tree / "opt/quintain/python/sundial/__init__.py").is_file()
    assert list(tree.rglob("*.pyc")) == []


# --- what is refused --------------------------------------------------------------------------


def test_a_wheel_with_another_hash_than_the_lock_is_refused_in_pips_words(tmp_path: Path) -> None:
    file = locked(tmp_path)
    write(tmp_path / "lock.txt", f"sundial==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(UserError, match=r"(?s)lock\.txt: pip refused.*DO NOT MATCH THE HASHES"):
        build(file, tmp_path / "store")
    assert list((tmp_path / "store" / "layers").iterdir()) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sundial==1.0", r"lock\.txt:2: sundial==1\.0 has no sha256 hash"),
        ("--no-binary :all:", r"lock\.txt:2: option --no-binary in a lock"),
        ("-e .", r"lock\.txt:2: option -e in a lock"),
        ("-r other.txt", r"lock\.txt:2: option -r in a lock"),
        ("--index-url \\\n https://example.org", r"lock\.txt:2: option --index-url"),
        ("sundial==1.0 # --hash=sha256:" + "0" * 64, "has no sha256 hash"),
        ("sundial==1.0 --hash=md5:" + "0" * 32, "has no sha256 hash"),
    ],
)
def test_a_lock_that_is_none_is_refused_by_line(tmp_path: Path, line: str, message: str) -> None:
    file = locked(tmp_path)
    write(tmp_path / "lock.txt", f"# a lock\n{line}\n")
    with pytest.raises(UserError, match=message):
        build(file, tmp_path / "store")


def test_files_are_refused_when_missing_special_or_in_each_others_way(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    write(tmp_path / "one", "1")
    (tmp_path / "up").symlink_to("../../..")
    rows = [
        ([("none", "/opt/a")], r"files\[0\]\.source: .*none is not there"),
        ([("pipe", "/opt/a")], r"files\[0\]\.source: .*pipe is a special file"),
        ([("one", "/opt/a"), ("one", "/opt/a")], r"files\[1\]\.target: /opt/a is there already"),
        ([("one", "/opt/a"), ("one", "/opt/a/b")], "/opt/a/b lies below a file"),
        ([("up", "/opt/a"), ("one", "/opt/a/b/c")], "/opt/a/b/c lies below a symbolic link"),
    ]
    for pairs, message in rows:
        tables = [f'[[files]]\nsource = "{s}"\ntarget = "{t}"\n' for s, t in pairs]
        with pytest.raises(UserError, match=message):
            build(host_file(tmp_path, "".join(tables)), tmp_path / "store")
    assert not (tmp_path.parents[2] / "b").exists()


@pytest.mark.parametrize("prefix", [sys.prefix, sys.base_prefix])
@pytest.mark.parametrize("depth", [2, 3])
def test_files_may_not_cover_the_interpreter_of_the_host(
    tmp_path: Path, prefix: str, depth: int
) -> None:
    target = str(Path(*Path(prefix).parts[:depth]))
    files = f'[[files]]\nsource = "one"\ntarget = "{target}"\n'
    with pytest.raises(UserError, match=r"would cover|lies in") as caught:
        build(host_file(tmp_path, files), tmp_path / "store")
    assert "files[0].target" in caught.value.message


# --- verify -----------------------------------------------------------------------------------


def _flip(tree: Path) -> None:
    data = bytearray((tree / "d/file").read_bytes())
    data[2] ^= 1
    status = (tree / "d/file").stat()
    (tree / "d/file").write_bytes(data)
    os.utime(tree / "d/file", (status.st_mtime, status.st_mtime))


def _relink(tree: Path) -> None:
    (tree / "link").unlink()
    (tree / "link").symlink_to("/etc")


def _retype(tree: Path) -> None:
    (tree / "link").unlink()
    (tree / "link").mkdir()


CHANGES: list[tuple[Callable[[Path], object], str]] = [
    (_flip, "d/file: changed (content)"),
    (lambda tree: (tree / "d/file").unlink(), "d/file: missing"),
    (lambda tree: (tree / "d/new").write_text("x"), "d/new: added"),
    (lambda tree: os.mkfifo(tree / "d/pipe"), "d/pipe: added"),
    (lambda tree: (tree / "d/empty").mkdir(), "d/empty: added"),
    (lambda tree: (tree / "d/file").chmod(0o755), "d/file: changed (mode 0755, was 0644)"),
    (lambda tree: (tree / "d").chmod(0o777), "d: changed (mode 0777, was 0755)"),
    (_relink, "link: changed (points to /etc, was d)"),
    (_retype, "link: changed (a directory, was a symlink)"),
    (lambda tree: os.utime(tree / "d/file", (5, 5)), "d/file: changed (time 5, was 1600000000)"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES, ids=[row[1] for row in CHANGES])
def test_verify_names_every_kind_of_change(
    tmp_path: Path, change: Callable[[Path], object], message: str
) -> None:
    store = tmp_path / "store"
    archive = tar([member("d/file", b"content"), symlink("link", "d")])
    file = image_file(tmp_path, "tar", archive)
    tree = layer_of(file, store)
    assert verify("made", store) == ()
    change(tree)
    digest = tree.parent.name
    assert [str(found) for found in verify("made", store)] == [f"layer {digest}: {message}"]
    build(file, store)
    assert verify("made", store) == (), "building again repairs"


def test_verify_finds_records_that_were_rewritten_or_lost(tmp_path: Path) -> None:
    store = tmp_path / "store"
    built = build(image_file(tmp_path, "tar", tar([member("a", b"1")])), store)
    layer = store / "layers" / built.image.layers[0].digest
    record = layer / "entries.jsonl"
    whole = record.read_bytes()
    record.write_bytes(whole.replace(b'"size":1', b'"size":2'))
    assert [found.path for found in verify("made", store)] == ["entries.jsonl"]
    (layer / "tree" / "a").write_bytes(b"22")
    assert [found.path for found in verify("made", store)] == ["entries.jsonl", "tree"]
    (layer / "tree").rename(tmp_path / "elsewhere")
    assert [str(found) for found in verify("made", store)] == [f"layer {layer.name}: tree: missing"]
    manifest = store / "manifests" / f"{built.digest}.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"/work"', b'"/evil"'))
    assert verify("made", store)[0].place == "image"


# --- a pinned host ----------------------------------------------------------------------------


def test_a_drifted_host_is_refused_until_the_drift_is_accepted_and_reported(
    tmp_path: Path,
) -> None:
    store = tmp_path / "store"
    built = build(host_file(tmp_path), store)
    pinned = tmp_path / "pinned" / "lib"
    assert resolve("made", store).digest == built.digest
    (pinned / "__pycache__").mkdir()
    write(pinned / "__pycache__" / "module.pyc", "x")
    os.utime(pinned / "module.py", (1, 1))
    assert resolve("made", store).drift == (), "times and caches are no drift"
    status = (pinned / "module.py").stat()
    write(pinned / "module.py", "X = 2\n")
    os.utime(pinned / "module.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    write(pinned / "new.py", "")
    with pytest.raises(
        UserError, match=r"(?s)pinned on another host.*module\.py: changed"
    ) as caught:
        resolve("made", store)
    assert "accept the drift" in caught.value.hint
    root = resolve("made", store, accept_drift=True)
    where = str(pinned).lstrip("/")
    assert root.drift == (
        f"host: {where}/module.py: changed (content)",
        f"host: {where}/new.py: added",
    )
    assert root.digest.startswith(f"{built.digest}+drift-")
    assert [str(found) for found in verify("made", store)] == list(root.drift)


def test_remembered_hashes_are_dropped_when_a_file_changes(tmp_path: Path) -> None:
    store, pinned = tmp_path / "store", tmp_path / "pinned" / "lib" / "module.py"
    file = host_file(tmp_path)
    first = build(file, store).digest
    memory = store / "hosts" / "hashes.json"
    deadline = time.monotonic() + 20
    while not (memory.exists() and b"module.py" in memory.read_bytes()):
        assert time.monotonic() < deadline
        time.sleep(0.3)
        assert build(file, store).digest == first
    write(pinned, "X = 2\n")
    changed = build(file, store).digest
    assert changed != first
    write(pinned, "X = 1\n")
    assert build(file, store).digest == first


def test_the_default_pin_covers_the_standard_library_and_the_interpreter(tmp_path: Path) -> None:
    from quintain.image._host import default_pins

    pins = default_pins()
    for path in (os.__file__, os.path.realpath(sys.executable)):
        real = os.path.realpath(path)
        assert any(real == pin or real.startswith(pin + "/") for pin in pins)
    assert not any(a != b and a.startswith(b + "/") for a in pins for b in pins)


# --- names, gc, two at once -------------------------------------------------------------------


def test_an_image_is_found_by_name_tag_and_first_digits(tmp_path: Path) -> None:
    store = tmp_path / "store"
    built = build(image_file(tmp_path, "tar", tar([member("a", b"1")])), store)
    for ref in ("made", "made:latest", built.digest, built.digest[:6]):
        assert show(ref, store).digest == built.digest
        assert show(ref, store).ref == "made:latest"
    assert resolve("host", store) is HOST_ROOT
    with pytest.raises(UserError, match="'made:1'"):
        resolve("made:1", store)
    with pytest.raises(UserError, match="is not unique"):
        show(built.digest[:3], store)
    with pytest.raises(UserError, match="no image ''"):
        show("", store)


def test_gc_keeps_what_a_tag_reaches_and_removes_the_rest(tmp_path: Path) -> None:
    store = tmp_path / "store"
    shared = '[[files]]\nsource = "one"\ntarget = "/opt/one"\n'
    write(tmp_path / "one", "1")
    old = build(image_file(tmp_path, "tar", tar([member("a", b"old")]), shared), store)
    new = build(image_file(tmp_path, "tar", tar([member("a", b"new")]), shared), store)
    host = build(host_file(tmp_path / "h", shared.replace('"one"', '"../one"')), store)
    assert [item.ref for item in list_images(store)] == ["made:latest", "", ""]
    assert show(old.digest, store).ref == ""
    expected = ((old.digest, new.digest), (old.image.layers[0].digest, new.image.layers[0].digest))
    dry = gc(store, dry_run=True)
    assert (set(dry.images), set(dry.layers), dry.hosts) == (*map(set, expected), ())
    assert len(list_images(store)) == 3
    assert gc(store) == dry
    assert [item.digest for item in list_images(store)] == [host.digest]
    assert verify("made", store) == ()
    assert gc(store).bytes == 0


def test_gc_waits_for_no_build_but_says_so(tmp_path: Path) -> None:
    store = tmp_path / "store"
    build(image_file(tmp_path, "tar", tar([member("a", b"1")])), store)
    with (store / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with pytest.raises(UserError, match="is being built"):
            gc(store)


def test_builders_at_once_all_succeed_with_one_digest(tmp_path: Path) -> None:
    members = [member(f"d{number}/f", str(number).encode()) for number in range(200)]
    file = image_file(tmp_path, "tar", tar(members))
    program = (
        "import sys; from pathlib import Path; from quintain.image import build; "
        "print(build(Path(sys.argv[1]), Path(sys.argv[2])).digest)"
    )
    command = [sys.executable, "-c", program, str(file), str(tmp_path / "store")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    said = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert len(set(said)) == 1
    assert verify("made", tmp_path / "store") == ()
    assert list((tmp_path / "store" / "tmp").iterdir()) == []


def test_a_build_killed_half_way_stores_nothing(tmp_path: Path) -> None:
    store = tmp_path / "store"
    os.mkfifo(tmp_path / "wait")
    file = write(tmp_path / "image.toml", 'name = "made"\n[base]\nkind = "tar"\npath = "wait"\n')
    program = "import sys; from pathlib import Path; from quintain.image import build; "
    program += "build(Path(sys.argv[1]), Path(sys.argv[2]))"
    process = subprocess.Popen([sys.executable, "-c", program, str(file), str(store)])
    while not (store / "tmp").is_dir() or not list((store / "tmp").iterdir()):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(list((store / "tmp").iterdir())) == 1
    assert [list((store / place).iterdir()) for place in ("layers", "manifests", "tags")] == [
        []
    ] * 3
    assert len(gc(store).leftovers) == 1
    assert list((store / "tmp").iterdir()) == []


# --- what a sandbox is told -------------------------------------------------------------------


def test_layers_over_the_host_become_the_fewest_bind_mounts(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write(one / "opt/quintain/python/a.py", "")
    write(two / "opt/data/x", "")
    write(two / "srv/y", "")
    assert bind_points([str(one), str(two)]) == (
        (f"{two}/opt/data", "/opt/data"),
        (f"{one}/opt/quintain", "/opt/quintain"),
        (f"{two}/srv/y", "/srv/y"),
    )


def test_a_root_names_layers_lowest_first_and_whether_the_host_lies_below(tmp_path: Path) -> None:
    store = tmp_path / "store"
    write(tmp_path / "one", "1")
    files = '[[files]]\nsource = "one"\ntarget = "/opt/one"\n'
    built = build(image_file(tmp_path, "tar", tar([member("a", b"1")]), files), store)
    root = resolve("made", store)
    assert [sorted(path.name for path in Path(layer).iterdir()) for layer in root.layers] == [
        ["a"],
        ["opt"],
    ]
    assert (root.host, root.digest, root.workdir) == (False, built.digest, "/work")
    assert resolve(build(host_file(tmp_path), store).ref, store).host


def test_a_missing_layer_is_named_before_anything_runs(tmp_path: Path) -> None:
    store = tmp_path / "store"
    tree = layer_of(image_file(tmp_path, "tar", tar([member("a", b"1")])), store)
    tree.rename(tmp_path / "gone")
    with pytest.raises(UserError, match=f"has no layer {tree.parent.name}") as caught:
        resolve("made", store)
    assert caught.value.hint == "build the image again"
