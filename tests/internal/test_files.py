"""Atomic writing of files, and paths below a folder."""

import stat
from pathlib import Path

import pytest

from clientgo.errors import ConfigError
from clientgo.internal.files import PRIVATE, path_below, write_files
from tests.fulldisk import contents, full_disk


def test_files_and_their_folders_are_written(tmp_path: Path) -> None:
    write_files({tmp_path / "a": b"1", tmp_path / "b" / "c": b"2"})
    write_files({tmp_path / "a": b"3"})
    assert contents(tmp_path) == {"a": b"3", "b/c": b"2"}


def test_error_leaves_all_files_as_they_were(tmp_path: Path) -> None:
    write_files({tmp_path / "a": b"1", tmp_path / "b": b"2"})
    with full_disk(2), pytest.raises(OSError, match="File too large"):
        write_files({tmp_path / "a": b"3", tmp_path / "b": b"too long"})
    assert contents(tmp_path) == {"a": b"1", "b": b"2"}


def test_private_file_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"old")
    write_files({tmp_path / "key": b"new"}, mode=PRIVATE)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"theirs")
    (tmp_path / "link").symlink_to("outside")
    write_files({tmp_path / "link": b"ours"})
    assert contents(tmp_path) == {"outside": b"theirs", "link": b"ours"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder with links to a file and a folder outside of it, to nothing, to itself, and to one of its files."""
    (root := tmp_path / "root").mkdir()
    (tmp_path / "secret").write_text("theirs")
    (root / "inside").write_text("ours")
    for name, target in (("file", "../secret"), ("up", ".."), ("none", "missing"), ("loop", "loop"), ("own", "inside")):
        (root / name).symlink_to(target)
    return root


@pytest.mark.parametrize("path", ["a", "a/b.py", "./a", "inside", "own"])
def test_path_below_a_folder_is_returned(folder: Path, path: str) -> None:
    assert path_below(folder, path) == folder / path


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/etc/passwd", "it leads out of "),
        ("../secret", "it leads out of "),
        ("a/../../secret", "it leads out of "),
        ("a/../inside", "it leads out of "),
        ("file", "it leads out of "),
        ("up/secret", "it leads out of "),
        ("none", "it is a symbolic link to a missing file; remove it"),
        ("loop", ""),
        ("a\0b", ""),
    ],
)
def test_path_out_of_a_folder_is_rejected_in_one_line(folder: Path, path: str, error: str) -> None:
    with pytest.raises(ConfigError, match=r"^invalid path ") as raised:
        path_below(folder, path)
    assert error in str(raised.value)
    assert "\n" not in str(raised.value)
