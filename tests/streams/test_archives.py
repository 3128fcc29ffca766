"""Archives of copies: files of every kind, and archives of containers that try to write elsewhere."""

import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.streams.archives import CopyFailed, archive_of, unpack


def packed(source: Path, name: str = "copy") -> io.BytesIO:
    return io.BytesIO(b"".join(archive_of(source, name)))


def archive(*members: tuple[str, dict[str, object]], data: bytes = b"evil") -> io.BytesIO:
    """Return an archive of members by name, with these attributes; regular files have `data`."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as opened:
        for name, attributes in members:
            member = tarfile.TarInfo(name)
            for key, value in attributes.items():
                setattr(member, key, value)
            member.size = len(data) if member.isreg() else 0
            opened.addfile(member, io.BytesIO(data))
    return io.BytesIO(file.getvalue())


FOLDER: dict[str, object] = {"type": tarfile.DIRTYPE}
FILE: dict[str, object] = {}


def link_to(target: str, kind: bytes = tarfile.SYMTYPE) -> dict[str, object]:
    return {"type": kind, "linkname": target}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with an empty file, a large binary one, a script, links, a long and a strange name."""
    root = tmp_path / "tree"
    (root / "a" / ("n" * 120)).mkdir(parents=True)
    (root / "empty").touch()
    (root / "a" / "large").write_bytes(bytes(range(256)) * 1000)
    (root / "a" / ("n" * 120) / "x ü\udcff").write_bytes(b"x")
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("a/large")
    os.link(root / "run", root / "same")
    return root


def contents(root: Path) -> dict[str, tuple[bytes | str, int]]:
    """Return the content and the permissions of each file, and the targets of links."""
    return {
        str(path.relative_to(root)): (
            (str(path.readlink()), 0)
            if path.is_symlink()
            else (path.read_bytes() if path.is_file() else b"", path.stat().st_mode)
        )
        for path in root.rglob("*")
    }


def test_tree_comes_back_as_it_is(tree: Path, tmp_path: Path) -> None:
    unpack(packed(tree), "copy", tmp_path / "result")
    assert contents(tmp_path / "result") == contents(tree)
    assert (tmp_path / "result" / "same").samefile(tmp_path / "result" / "run")


def test_archive_can_be_read_by_tar(tree: Path) -> None:
    with tarfile.open(fileobj=packed(tree, "b/c")) as opened:
        names = opened.getnames()
        assert {(member.uid, member.gid, member.uname) for member in opened} == {(0, 0, "")}
    assert names[:2] == ["b/c", "b/c/a"]
    assert len(names) == 9


def test_file_gets_the_name_of_the_target(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"data")
    unpack(packed(tmp_path / "a", "x/a"), "x/a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"data"


def test_file_that_becomes_shorter_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(1_000_000))
    pieces = archive_of(path, "a")
    next(pieces)
    os.truncate(path, 1000)
    with pytest.raises(OSError, match="became shorter"):
        list(pieces)


def test_socket_is_not_copied_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.mkfifo(tmp_path / "pipe")
    with tarfile.open(fileobj=packed(tmp_path)) as opened:
        assert opened.getnames() == ["copy"]
    assert "neither a file nor a folder nor a link" in caplog.text


@pytest.mark.parametrize(
    "members",
    [
        [("copy/../evil", FILE)],
        [("../evil", FILE)],
        [("/evil", FILE)],
        [("evil", FILE)],
        [("copying", FILE)],
        [("copy/a/../../evil", FILE)],
        [("copy", FOLDER), ("copy/a", link_to("b")), ("copy/b", FOLDER), ("copy/a/evil", FILE)],
        [("copy", FOLDER), ("copy/a", link_to("../evil", tarfile.LNKTYPE))],
        [("copy", link_to("/etc/passwd"))],
        [("copy", {"type": tarfile.CHRTYPE})],
        [],
    ],
)  # fmt: skip
def test_archive_with_other_members_is_rejected(tmp_path: Path, members: list[tuple[str, dict[str, object]]]) -> None:
    with pytest.raises(CopyFailed):
        unpack(archive(*members), "copy", tmp_path / "target")
    assert not list(tmp_path.rglob("*evil*"))


@pytest.mark.parametrize(
    "attributes",
    [link_to("../evil"), link_to("/etc/passwd"), {"type": tarfile.FIFOTYPE}, {"type": tarfile.CHRTYPE}],
    ids=["link outside", "absolute link", "pipe", "device"],
)
def test_links_that_lead_out_and_devices_are_skipped_and_logged(
    tmp_path: Path, attributes: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    members = (("copy", FOLDER), ("copy/a", attributes), ("copy/a", FILE), ("copy/b", FILE))
    unpack(archive(*members), "copy", tmp_path / "target")
    assert sorted(contents(tmp_path / "target")) == ["a", "b"]
    assert "not copied" in caplog.text


def test_file_replaces_a_link_instead_of_writing_through_it(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"safe")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "a").symlink_to("../victim")
    unpack(archive(("copy/a", FILE)), "copy", tmp_path / "target")
    assert (tmp_path / "victim").read_bytes() == b"safe"
    assert (tmp_path / "target" / "a").read_bytes() == b"evil"


def test_permissions_that_are_a_risk_are_not_copied(tmp_path: Path) -> None:
    unpack(archive(("copy/a", {"mode": 0o6777})), "copy", tmp_path / "target")
    assert (tmp_path / "target" / "a").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize("size", [1, 511, 512, 600, 1025])
def test_archive_that_is_cut_off_is_an_error(tmp_path: Path, size: int) -> None:
    data = archive(("copy/a", FILE), data=bytes(1000)).getvalue()[:size]
    with pytest.raises(CopyFailed, match="invalid archive of copy"):
        unpack(io.BytesIO(data), "copy", tmp_path / "target")


@given(st.binary(max_size=2000))
def test_any_bytes_are_an_archive_or_an_error(data: bytes) -> None:
    with pytest.raises(CopyFailed):
        unpack(io.BytesIO(data), "copy", Path("/nonexistent/target"))


LOOK_RIGHT_WHEN_MADE = {
    "through a link that is replaced": [
        ("copy/x/y", FOLDER), ("copy/a", link_to("x/y")), ("copy/out", link_to("a/../..")), ("copy/a", link_to(".")),
    ],
    "through a link that is made later": [
        ("copy/x", FOLDER), ("copy/out", link_to("x/a/..")), ("copy/x/a", link_to("..")),
    ],
    "hard link to a link in a deeper folder": [
        ("copy/x/y", FOLDER), ("copy/x/y/in", link_to("../..")), ("copy/out", link_to("copy/x/y/in", tarfile.LNKTYPE)),
    ],
    "link that remains after another is removed": [
        ("copy/x/y", FOLDER), ("copy/a", link_to("x/y")), ("copy/b", link_to("a/../..")),
        ("copy/out", link_to("b/x/..")), ("copy/a", link_to(".")),
    ],
}  # fmt: skip


@pytest.mark.parametrize("members", LOOK_RIGHT_WHEN_MADE.values(), ids=LOOK_RIGHT_WHEN_MADE)
def test_no_link_of_the_finished_copy_leads_out(
    tmp_path: Path, members: list[tuple[str, dict[str, object]]], caplog: pytest.LogCaptureFixture
) -> None:
    target = tmp_path / "target"
    unpack(archive(("copy", FOLDER), *members), "copy", target)
    leading_out = [path for path in target.rglob("*") if not path.resolve().is_relative_to(target)]
    assert leading_out == []
    assert "not copied: the link leads out of the copy" in caplog.text


def test_links_of_an_incomplete_copy_do_not_lead_out(tmp_path: Path) -> None:
    members = LOOK_RIGHT_WHEN_MADE["through a link that is replaced"]
    with pytest.raises(CopyFailed):
        unpack(archive(("copy", FOLDER), *members, ("other", FOLDER)), "copy", tmp_path / "target")
    assert not (tmp_path / "target" / "out").is_symlink()


def test_long_chain_of_links_is_not_copied(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chain = [(f"copy/l{number}", link_to(f"l{number - 1}" if number else ".")) for number in range(200)]
    unpack(archive(("copy", FOLDER), *chain), "copy", tmp_path / "target")
    assert (tmp_path / "target" / "l30").is_symlink()
    assert not (tmp_path / "target" / "l40").is_symlink()
    assert "not copied" in caplog.text
