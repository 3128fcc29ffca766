"""Archives of simulated containers."""

import io
import tarfile

from clientgo_apiserver.http.upgrades import PIECE
from clientgo_apiserver.storage.containerfiles import ArchiveReader, ContainerFiles

CONTAINER = ("uid", "c")


def packed(sizes: dict[str, int]) -> bytearray:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as opened:
        for name, size in sizes.items():
            member = tarfile.TarInfo(name)
            member.size = size
            opened.addfile(member, io.BytesIO(b"x" * size))
    return bytearray(archive.getvalue())


def test_small_files_share_messages_and_large_ones_are_divided() -> None:
    sizes = {**{f"f{number:03}": 10 for number in range(500)}, "large": 5 * PIECE + 1}
    files = ContainerFiles()
    files.extract(CONTAINER, packed(sizes), "/data")
    pieces = list(files.archive(files.members(CONTAINER, "/", "/data")))
    assert {len(piece) for piece in pieces[:-1]} == {PIECE}
    with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as archive:
        assert {member.name: member.size for member in archive} == {f"data/{name}": sizes[name] for name in sizes}


def test_files_are_kept_until_their_pod_is_gone() -> None:
    files = ContainerFiles()
    files.extract(CONTAINER, packed({"a": 1}), "/data")
    files.keep({"uid"})
    assert [files.is_folder(CONTAINER, path) for path in ("/data", "/data/a", "/none", "/tmp")] == [
        True, False, False, True,
    ]  # fmt: skip
    files.keep(set())
    assert not files.is_folder(CONTAINER, "/data")


def test_the_end_of_an_archive_is_recognized_however_it_is_divided() -> None:
    archive = packed({"a": 1500, "b": 0})
    for size in (1, 511, 700, len(archive)):
        reader = ArchiveReader()
        for start in range(0, len(archive), size):
            assert not reader.complete or not any(archive[start:])
            reader.add(bytes(archive[start : start + size]))
        assert reader.complete
