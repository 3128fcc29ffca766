"""`clientgo manifests` and `clientgo generate`: the generators, by what the project's files in hack/ say."""

import sys
from pathlib import Path

from clientgo.cli.project import Project
from clientgo.codegen.__main__ import main as codegen


def run_codegen(root: Path, what: str, *, verify: bool) -> int:
    """Write what `hack/<what>.yaml` says; with `verify` tell what would change instead. Returns the exit code.

    Raises:
        Refused: the folder has no project.
    """
    project = Project.read(root)
    if not any(resource.api for resource in project.resources):
        print("There is nothing to generate yet: add a kind with clientgo create api.")  # noqa: T201  # the answer
        return 0
    # The types are imported by their names in the project, which an installed script has not in its path.
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    arguments = ["--config", str(Path("hack", f"{what}.yaml"))]
    return codegen([*arguments, "--verify"] if verify else arguments)
