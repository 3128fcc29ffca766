"""The image's bill of materials: python -m hack.sbom hack/requirements.lock dist/sbom.cdx.json

A CycloneDX document of the sample controller and every locked package, with version and hashes. The same lock gives the
same bytes; SOURCE_DATE_EPOCH, if set, is its date.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from clientgo.version import VERSION

# The tool reads what a document is about from a pyproject.toml with a [project] table, which ours has not.
ABOUT = f"""\
[project]
name = "sample-controller"
version = "{VERSION}"
description = "Foo to Deployment: the sample controller, in Python"
license = "Apache-2.0"
"""


def write(lock: Path, target: Path) -> None:
    """Write the document, validated against CycloneDX's schema; nothing is written if that fails.

    Raises:
        subprocess.CalledProcessError: cyclonedx-py refuses the lock, or its own result; `stderr` says why.
    """
    with tempfile.TemporaryDirectory() as folder:
        (about := Path(folder) / "pyproject.toml").write_text(ABOUT)
        made = Path(folder) / "sbom.json"
        options = ["--output-reproducible", "--validate", "--output-format=JSON", f"--output-file={made}"]
        command = [sys.executable, "-m", "cyclonedx_py", "requirements", f"--pyproject={about}", *options, str(lock)]
        # What it says of a success is that the parts' own dependencies are not known to it: a lock doesn't tell.
        subprocess.run(command, check=True, capture_output=True, text=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(made.read_bytes())


def main(arguments: Sequence[str]) -> int:
    """The command."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m hack.sbom LOCK TARGET\n")
        return 2
    try:
        write(Path(arguments[0]), Path(arguments[1]))
    except subprocess.CalledProcessError as error:
        sys.stderr.write(error.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
