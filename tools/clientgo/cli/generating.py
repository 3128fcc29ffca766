"""`clientgo manifests` and `clientgo generate`: the generators, configured by files in hack/."""

import argparse
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from clientgo.cli.project import Project
from clientgo.codegen.__main__ import main as codegen
from clientgo.meta.yamlio import read_document, to_yaml


def run_codegen(options: argparse.Namespace, root: Path) -> int:
    """Run the outputs of `hack/<command>.yaml`, or verify them; return the exit code, or raise `CommandError`."""
    project, what = Project.read(root), options.command
    kinds = any(resource.api or (resource.external and what == "generate") for resource in project.resources)
    if not kinds and (what == "generate" or not project.resources):
        print("Nothing to generate yet: add a kind with clientgo create api.")  # noqa: T201  # the answer
        return 0
    with ExitStack() as stack:
        config = Path("hack", f"{what}.yaml")
        if not kinds:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            config = _of_others(config, folder / config.name)
        return codegen(["--config", str(config), *(["--verify"] if options.verify else [])])


def _of_others(config: Path, to: Path) -> Path:
    """Write the configuration without CRDs, for a project that has only controllers of built-in kinds."""
    try:
        content = read_document(config.read_text(encoding="utf-8"))
        for output in content["outputs"]:
            for word in ("crd-dir", "input-module"):
                output.pop(word, None)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return config  # the generator reports the error
    to.write_text(to_yaml(content), encoding="utf-8")
    return to
