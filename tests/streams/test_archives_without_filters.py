"""Copies from containers on Python 3.11.0 to 3.11.3, whose `tarfile` has no filters."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import io, pathlib, sys, tarfile

for name in ("data_filter", "AbsoluteLinkError", "LinkOutsideDestinationError", "SpecialFileError"):
    delattr(tarfile, name)

from clientgo.streams.archives import CopyFailed, archive_of, unpack

archive = b"".join(archive_of(pathlib.Path(sys.argv[1]), "srv"))
try:
    unpack(io.BytesIO(archive), "srv", pathlib.Path(sys.argv[1]) / "copy")
except CopyFailed as error:
    print(error)
"""


@pytest.mark.e2e
def test_copy_names_the_python_that_it_needs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], cwd=Path(__file__).parents[2],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout == "cannot copy from a container: Python 3.11.4 or newer is needed, which filters archives\n"
    assert not (tmp_path / "copy").exists()
