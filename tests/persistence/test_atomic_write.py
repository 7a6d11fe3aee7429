"""Files that are there in whole or not at all."""

import errno
import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fuselearn import ShareBoostClassifier, save
from fuselearn.persistence import write_atomically


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("mode", "content"), [("w", "grün\n"), ("wb", b"\x00\xff")])
def test_atomic_files_hold_text_or_bytes(mode, content, tmp_path):
    path = tmp_path / "file"
    with write_atomically(path, mode) as file:
        file.write(content)
        assert not path.exists()
        assert os.path.dirname(file.name) == str(tmp_path.resolve())
    assert path.read_bytes() == (content if mode == "wb" else content.encode().replace(b"\n", os.linesep.encode()))
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_a_failure_leaves_the_file_that_was_there(error, tmp_path):
    path = tmp_path / "file"
    path.write_text("before")

    def fail():
        with write_atomically(path) as file:
            file.write("half")
            raise error("disk full")

    with pytest.raises(error):
        fail()
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.name == "nt", reason="permission bits are POSIX")
def test_permissions_are_those_of_a_plain_open(tmp_path):
    path, plain = tmp_path / "file", tmp_path / "plain"
    before = os.umask(0o027)
    try:
        plain.write_text("")
        with write_atomically(path) as file:
            file.write("x")
        assert mode_of(path) == mode_of(plain) == 0o640
        path.chmod(0o604)
        with write_atomically(path) as file:
            file.write("y")
        assert mode_of(path) == 0o604
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_is_followed_and_a_device_is_written_to(tmp_path):
    (tmp_path / "real").write_text("before")
    (tmp_path / "link").symlink_to("real")
    with write_atomically(tmp_path / "link") as file:
        file.write("after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "after"
    with write_atomically("/dev/null") as file:
        file.write("gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_places_that_cannot_be_written_to_are_named(tmp_path):
    for place, error, words in (
        (tmp_path, IsADirectoryError, "is a folder"),
        (tmp_path / "nowhere" / "model.fuse", FileNotFoundError, r"the folder .*nowhere does not exist"),
    ):
        with pytest.raises(error, match=words):
            save(ShareBoostClassifier(), place)
    with pytest.raises(ValueError, match="mode must be"), write_atomically(tmp_path / "file", "a"):
        pass
    assert not list(tmp_path.iterdir())


def write_new(path, content, meanwhile=lambda: None):
    with write_atomically(path, overwrite=False) as file:
        file.write(content)
        meanwhile()


@pytest.fixture(params=["links", "no links"])
def with_or_without_links(request, monkeypatch):
    """File systems with hard links, and without, such as those of memory cards."""

    def refuse(*arguments, **settings):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if request.param == "no links":
        monkeypatch.setattr(os, "link", refuse)


def test_a_file_that_exists_is_not_overwritten_unless_it_may_be(tmp_path, with_or_without_links):
    path = tmp_path / "model.fuse"
    write_new(path, "first")
    with pytest.raises(FileExistsError) as caught:
        write_new(path, "second")
    assert (caught.value.filename, caught.value.filename2) == (str(path), str(tmp_path / "model-2.fuse"))
    with write_atomically(path) as file:
        file.write("third")
    contents = {"model.fuse": "third", "model-2.fuse": "second"}
    assert {entry.name: entry.read_text() for entry in tmp_path.iterdir()} == contents


def test_what_was_written_beside_a_file_that_appeared_is_kept(tmp_path, with_or_without_links):
    path = tmp_path / "model.fuse"
    (tmp_path / "model-2.fuse").write_text("older")
    with pytest.raises(FileExistsError, match="the file exists") as caught:
        write_new(path, "second", meanwhile=lambda: write_new(path, "first"))
    assert caught.value.filename2 == str(tmp_path.resolve() / "model-3.fuse")
    contents = {"model.fuse": "first", "model-2.fuse": "older", "model-3.fuse": "second"}
    assert {entry.name: entry.read_text() for entry in tmp_path.iterdir()} == contents


def test_of_many_writers_at_a_time_one_gets_the_name_and_none_loses(tmp_path, with_or_without_links):
    path, together = tmp_path / "file.csv", threading.Barrier(8)

    def write(number):
        try:
            write_new(path, str(number), meanwhile=together.wait)
        except FileExistsError as error:
            return Path(error.filename2), str(number)
        return path.resolve(), str(number)

    with ThreadPoolExecutor(8) as threads:
        written = dict(threads.map(write, range(8)))
    assert path.resolve() in written
    assert {entry.resolve(): entry.read_text() for entry in tmp_path.iterdir()} == written
    assert sorted(written.values()) == [str(number) for number in range(8)]


@pytest.mark.skipif(os.name == "nt", reason="there, what is open cannot be removed")
def test_what_a_kill_left_is_removed_and_what_is_being_written_is_not(tmp_path):
    """Of two processes that write the same file one is killed: its half file goes, that of the other stays."""
    path = tmp_path / "file"
    script = (
        "import sys; from fuselearn.persistence import write_atomically\n"
        "with write_atomically(sys.argv[1]) as file:\n"
        "    print('half', file=file, flush=True); print('begun', flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    killed, living = (subprocess.Popen([sys.executable, "-c", script, path], **pipes) for _ in range(2))
    assert killed.stdout.readline() == living.stdout.readline() == "begun\n"
    parts = set(tmp_path.glob(".file.*.part"))
    assert len(parts) == 2
    with write_atomically(path) as file:
        file.write("both are alive")
    assert set(tmp_path.glob(".file.*.part")) == parts
    killed.kill()
    killed.communicate()
    assert set(tmp_path.glob(".file.*.part")) == parts
    with write_atomically(path) as file:
        file.write("one is alive")
    assert len(set(tmp_path.glob(".file.*.part")) & parts) == 1
    living.communicate()
    assert path.read_text() == "half\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_temporary_names_that_another_user_prepared_are_left_alone(tmp_path):
    """In a folder where everybody may write, a name can be guessed: nothing is written through a link."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / ".file.0.part").symlink_to(precious)
    os.mkfifo(tmp_path / ".file.1.part")
    (tmp_path / ".file.2.part").mkdir()
    with write_atomically(tmp_path / "file") as file:
        file.write("x")
    assert precious.read_text() == "mine"
    assert (tmp_path / "file").read_text() == "x"
    assert sorted(entry.name for entry in tmp_path.glob(".*")) == [f".file.{number}.part" for number in range(3)]


@pytest.mark.skipif(os.name == "nt", reason="there, a whole path may be too long")
def test_names_as_long_as_the_system_allows(tmp_path):
    for name in ("x" * 255, "漢" * 85):
        with write_atomically(tmp_path / name) as file:
            file.write("x")
        assert (tmp_path / name).read_text() == "x"
    with pytest.raises(FileExistsError) as caught:
        write_new(tmp_path / ("y" * 255), "second", meanwhile=lambda: (tmp_path / ("y" * 255)).write_text("first"))
    assert Path(caught.value.filename2).read_text() == "second"
