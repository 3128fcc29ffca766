"""Atomic writing of files."""

import stat
from pathlib import Path

import pytest

from clientgo.files import PRIVATE, write_files
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
