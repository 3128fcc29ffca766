"""Copies to and from containers: names of targets, failures of `tar`, and lost connections."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.errors import ConnectionFailed, NotFound
from clientgo.kubernetes.clients.core_v1 import PodClient
from clientgo.streams import CommandFailed, CopyFailed
from tests.streams.peers import FakeDuplex, SocketTransport, closing, frame, no_thread_left, pods, pods_of, status
from tests.streams.simulated import running_pod

LARGE = bytes(range(256)) * 4096
ERROR = frame(b"\x02tar: /none: Cannot stat: No such file or directory\n")


def archive(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as opened:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        opened.addfile(member, io.BytesIO(data))
    return file.getvalue()


def output(data: bytes) -> bytes:
    return b"".join(frame(b"\x01" + data[start : start + 1000]) for start in range(0, len(data), 1000))


COPY = output(archive("srv/a", b"x" * 5000))


def test_copy_of_a_file_is_complete_or_an_error(tmp_path: Path) -> None:
    pods(FakeDuplex(COPY, status(), closing())).copy_from("web", "/srv/a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"x" * 5000
    for end in range(0, len(COPY + status()), 500):
        with pytest.raises(ConnectionFailed, match="was lost"):
            pods(FakeDuplex((COPY + status())[:end])).copy_from("web", "/srv/a", tmp_path / "b")


@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        (ERROR + status(2), CommandFailed, "command ended with exit code 2: tar: /none: Cannot stat"),
        (COPY + ERROR + status(2), CommandFailed, "Cannot stat"),
        (output(archive("srv/a", b"x" * 5000)[:3000]) + status(137), CommandFailed, "exit code 137"),
        (output(archive("srv/a", b"x" * 5000)[:3000]) + status(), CopyFailed, "invalid archive of srv/a"),
        (output(archive("etc/a", b"x")) + status(), CopyFailed, "it contains 'etc/a'"),
        (status(), CopyFailed, "invalid archive"),
        (COPY + output(bytes(1_100_000)) + status(), CopyFailed, "more than 1048576 bytes follow the archive"),
    ],
    ids=["no file", "late error", "killed", "cut off", "other file", "empty", "padding"],
)
def test_failure_of_tar_is_an_error(tmp_path: Path, script: bytes, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pods(FakeDuplex(script, closing())).copy_from("web", "/srv/a", tmp_path / "b")


@pytest.mark.parametrize(
    ("source", "command"), [("/a/../srv/./x", "/srv/x"), ("srv/x/", "srv/x"), ("-x", ".%2F-x"), (".", ".")]
)
def test_source_is_a_plain_path(source: str, command: str, tmp_path: Path) -> None:
    transport = SocketTransport(FakeDuplex(status(1), closing()))
    with pytest.raises(CommandFailed):
        pods_of(transport).copy_from("web", source, tmp_path)
    assert transport.targets[0].partition("&command=")[2].replace("/", "%2F") == (
        f"tar&command=-cf&command=-&command={command.replace('/', '%2F')}"
    )


def test_source_above_the_folder_of_the_container_is_invalid(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"invalid path '../x': expected an absolute one"):
        pods().copy_from("web", "a/../../x", tmp_path)


def test_copy_that_takes_too_long_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConnectionFailed, match="web: the copy did not end within 5 s"):
        pods(FakeDuplex(COPY[:3000], silent=True)).copy_from("web", "/srv/a", tmp_path / "b", timeout=5)


def test_missing_local_file_is_an_error_before_anything_is_sent(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        pods().copy_to("web", tmp_path / "none", "/srv")


@pytest.fixture(scope="module")
def simulated() -> Iterator[PodClient]:
    with running_pod() as client:
        yield client


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.integration
@pytest.mark.parametrize("data", [b"", bytes(10_000), LARGE], ids=["empty", "zeros", "1 MB"])
def test_file_comes_back_as_it_was(simulated: PodClient, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    with no_thread_left("stdin"):
        simulated.copy_to("web", tmp_path / "a", "/tmp/file")
        simulated.copy_from("web", "/tmp/file", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == data


@pytest.mark.integration
def test_folder_comes_back_as_it_was(simulated: PodClient, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "a" / "b").mkdir(parents=True)
    (source / "a" / "b" / "large").write_bytes(LARGE)
    (source / "small").write_bytes(b"x")
    simulated.copy_to("web", source, "/srv/copy")
    simulated.copy_from("web", "/srv/copy", tmp_path / "result")
    assert content(tmp_path / "result") == content(source)


@pytest.mark.integration
def test_existing_folder_as_target_gets_the_copy_by_its_name(simulated: PodClient, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    simulated.copy_to("web", tmp_path / "a", "/tmp")
    simulated.copy_to("web", tmp_path / "a", "/new/")
    (tmp_path / "result").mkdir()
    simulated.copy_from("web", "/tmp/a", tmp_path / "result")
    simulated.copy_from("web", "/new", str(tmp_path / "result"))
    assert content(tmp_path / "result") == {"a": b"1", "new/a": b"1"}


@pytest.mark.integration
def test_source_that_does_not_exist_is_an_error(simulated: PodClient, tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="Cannot stat: No such file or directory"):
        simulated.copy_from("web", "/none", tmp_path)
    with pytest.raises(NotFound):
        simulated.copy_from("none", "/none", tmp_path)
