"""`clientgo manifests` and `clientgo generate`: the generators, by what the project's files in hack/ say."""

import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from clientgo.cli.project import Project
from clientgo.codegen.__main__ import main as codegen
from clientgo.meta.yamlio import read_yaml, to_yaml


def run_codegen(root: Path, what: str, *, verify: bool) -> int:
    """Write what `hack/<what>.yaml` says; with `verify` tell what would change instead. Returns the exit code.

    Raises:
        CommandError: the folder has no project.
    """
    project = Project.read(root)
    kinds = any(resource.api for resource in project.resources)
    if not kinds and (what == "generate" or not project.resources):
        print("There is nothing to generate yet: add a kind with clientgo create api.")  # noqa: T201  # the answer
        return 0
    # The types are imported by their names in the project, which an installed script has not in its path.
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    with ExitStack() as stack:
        config = Path("hack", f"{what}.yaml")
        if not kinds:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            config = _of_others(config, folder / config.name)
        return codegen(["--config", str(config), *(["--verify"] if verify else [])])


def _of_others(config: Path, to: Path) -> Path:
    """The same without what is about kinds of one's own: a project may have controllers of others' kinds alone."""
    try:
        [said] = read_yaml(config.read_text(encoding="utf-8"))
        for output in said["outputs"]:
            for word in ("crd-dir", "input-module"):
                output.pop(word, None)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return config  # which the generator explains
    to.write_text(to_yaml(said), encoding="utf-8")
    return to
