"""SBOM of the image: python -m hack.sbom hack/requirements.lock dist/sbom.cdx.json.

The CycloneDX document lists the sample controller and every locked package with version and hashes. It is reproducible;
SOURCE_DATE_EPOCH, if set, is its date.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from clientgo.version import VERSION

# The tool reads the subject of the document from the [project] table of a pyproject.toml; ours has none.
ABOUT = f"""\
[project]
name = "sample-controller"
version = "{VERSION}"
description = "Foo to Deployment: the sample controller, in Python"
license = "Apache-2.0"
"""


def write(lock: Path, target: Path) -> None:
    """Write the document after validation against CycloneDX's schema.

    Raises:
        subprocess.CalledProcessError: cyclonedx-py rejected the lock or its own result; `stderr` has the reason.
    """
    with tempfile.TemporaryDirectory() as folder:
        (about := Path(folder) / "pyproject.toml").write_text(ABOUT)
        built = Path(folder) / "sbom.json"
        options = ["--output-reproducible", "--validate", "--output-format=JSON", f"--output-file={built}"]
        command = [sys.executable, "-m", "cyclonedx_py", "requirements", f"--pyproject={about}", *options, str(lock)]
        # On success it only warns that a lock does not contain the packages' own dependencies.
        subprocess.run(command, check=True, capture_output=True, text=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(built.read_bytes())


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
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
