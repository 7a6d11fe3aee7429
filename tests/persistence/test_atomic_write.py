"""Files that are there in whole or not at all."""

import os
import stat

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
