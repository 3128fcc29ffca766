"""`clientgo run FILE`: runs the reconcilers of one file, with the flags of a manager.

    clientgo run greeter.py --embedded
    clientgo run greeter.py -n demo --leader-elect

The file needs no `run(...)`: every `Reconciler` class that it defines is run.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from clientgo.cli.names import CommandError
from clientgo.codegen.crd.manifest import crds
from clientgo.codegen.crd.schema import SchemaMaker
from clientgo.codegen.inputs.apitypes import imported, read_modules, with_storage
from clientgo.codegen.problems import Problems
from clientgo.manager import ClusterOptions, ManagerFlags, Reconciler, stop_on_signals
from clientgo.manager.program import run_manager
from clientgo.manager.reconciler import check_reconciler
from clientgo.meta.classes.check import is_built_in
from clientgo.meta.scheme import api_of
from clientgo.meta.yamlio import to_yaml
from clientgo.program.commandline import CLUSTER, FlagParser, flag, setup_logging
from clientgo.rest import Config
from clientgo.stop.lifecycle import exit_code


@dataclass(frozen=True)
class FileFlags(ManagerFlags):
    """Flags of `clientgo run FILE`."""

    embedded: bool = flag(
        False, "start an in-memory API server with the file's CRDs instead of connecting to a cluster", group=CLUSTER
    )
    crds: tuple[Path, ...] = flag(
        (),
        "file or folder with CRDs of third-party kinds for --embedded; repeatable",
        group=CLUSTER,
        metavar="PATH",
        type=Path,
    )


def run_file(path: Path, arguments: Sequence[str]) -> int:
    """Run the reconcilers of a file until SIGINT or SIGTERM, and return the exit code. For the main thread.

    Raises:
        CommandError: the file cannot be imported, or has no reconciler.
    """
    parser = FlagParser(FileFlags, prog=f"clientgo run {path}", description=f"Run the reconcilers of {path}.")
    flags = parser.parse(arguments)
    module = load_file(path)
    classes = list(reconcilers(module))
    if not classes:
        raise CommandError(f"{path}: no reconciler found: define class MyReconciler(Reconciler[Kind])")
    setup_logging(flags)
    options = ClusterOptions(name=path.stem)

    def start() -> None:
        stop = stop_on_signals()
        for reconciler in classes:
            check_reconciler(reconciler)
        if not flags.embedded:
            run_manager(classes, flags, flags.config("run without a cluster: --embedded"), options, stop)
            return
        with _embedded_cluster(classes, flags.crds) as config:
            run_manager(classes, flags, config, options, stop)

    return exit_code(start)


def print_flags() -> int:
    """Print the flags of a manager, and return the exit code."""
    print(flush=True)  # noqa: T201  # separates it from the command's own help
    FlagParser(FileFlags, prog="clientgo run FILE.py", description="Flags of the manager:").parse(["--help"])
    return 0


def reconcilers(module: ModuleType) -> Iterator[type[Reconciler[Any]]]:
    """Yield the reconciler classes that a module defines, without base classes of others among them."""
    classes = [cls for cls in vars(module).values() if isinstance(cls, type) and cls.__module__ == module.__name__]
    for cls in classes:
        if issubclass(cls, Reconciler) and not any(cls in other.__mro__[1:] for other in classes):
            yield cls


def load_file(path: Path) -> ModuleType:
    """Import a Python file; CommandError if that fails."""
    if not path.is_file():
        raise CommandError(f"{path}: no such file")
    sys.path.insert(0, str(path.parent.resolve()))
    problems = Problems()
    module = imported(path.stem, problems)
    for problem in problems:
        raise CommandError(problem)
    if module is None or Path(module.__file__ or "").resolve() != path.resolve():
        raise CommandError(f"{path}: another module is called {path.stem}: rename the file")
    return module


@contextmanager
def _embedded_cluster(classes: Iterable[type[Reconciler[Any]]], crd_paths: Sequence[Path]) -> Iterator[Config]:
    # Imported here, 350 ms: on a cluster nothing needs the server.
    from clientgo_apiserver.local import local_cluster, print_guide  # noqa: PLC0415

    problems = Problems()
    used = {kind for cls in classes for kind in cls.declaration.kinds() if not is_built_in(kind)}
    modules = {kind.__module__ for kind in used if is_dataclass(kind)}
    if (foreign := [kind.__name__ for kind in used if kind.__module__ not in modules]) and not crd_paths:
        raise CommandError(f"--embedded needs the CRD of {' and '.join(sorted(foreign))}: add --crds FILE")
    kinds = with_storage(read_modules(sorted(modules), problems, all_versions=False))
    files = crds(kinds, SchemaMaker(problems), problems)
    for problem in problems:
        raise CommandError(problem)
    with TemporaryDirectory() as folder:
        for name, (documents, _) in files.items():
            Path(folder, name).write_text(to_yaml(documents[0]), encoding="utf-8")
        with local_cluster([Path(folder), *crd_paths]) as (config, kubeconfig):
            plurals = ",".join(sorted({api_of(kind).plural for kind in used}))
            print_guide(config, kubeconfig, [f"kubectl get {plurals}"] if plurals else [])
            yield config
