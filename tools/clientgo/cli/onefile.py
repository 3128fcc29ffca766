"""`clientgo run FILE`: runs the reconcilers of one file, with the flags of a manager.

    clientgo run greeter.py --embedded
    clientgo run greeter.py -n demo --leader-elect

The file needs no `run(...)`: every `Reconciler` class that it defines is run. If its block `if __name__ == "__main__":`
calls `run`, the arguments of that call are run, with their flags: the same program as `python greeter.py`.
"""

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, make_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, NoReturn, cast

from clientgo.cli.names import CommandError
from clientgo.codegen.crd.manifest import crds
from clientgo.codegen.crd.schema import SchemaMaker
from clientgo.codegen.inputs.apitypes import imported, read_modules, with_storage
from clientgo.codegen.problems import Problems
from clientgo.manager import ClusterOptions, Manager, ManagerFlags, Reconciler, run, stop_on_signals
from clientgo.manager.program import named_options, run_manager
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


Setup = type[Reconciler[Any]] | Callable[[Manager, Any], object]


@dataclass(frozen=True)
class FileProgram:
    """The program of a file."""

    classes: Sequence[type[Reconciler[Any]]]
    setups: Sequence[Setup]
    options: ClusterOptions
    flags: FileFlags = FileFlags()


def run_file(path: Path, arguments: Sequence[str]) -> int:
    """Run the reconcilers of a file until SIGINT or SIGTERM, and return the exit code. For the main thread.

    Raises:
        CommandError: the file cannot be imported or executed, or has no reconciler.
    """
    program = program_of(load_file(path), path)
    parser = FlagParser(program.flags, prog=f"clientgo run {path}", description=f"Run the reconcilers of {path}.")
    flags = parser.parse(arguments)
    setup_logging(flags)

    def start() -> None:
        stop = stop_on_signals()
        for reconciler in program.classes:
            check_reconciler(reconciler)
        if not flags.embedded:
            config = flags.config("run without a cluster: --embedded")
            run_manager(program.setups, flags, config, program.options, stop)
            return
        with _embedded_cluster(program.classes, flags.crds) as config:
            run_manager(program.setups, flags, config, program.options, stop)

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


def program_of(module: ModuleType, path: Path) -> FileProgram:
    """Return the program of a file: the arguments of its `run(...)`, or else its reconcilers.

    Raises:
        CommandError: it has no reconciler, or its main block fails.
    """
    classes = list(reconcilers(module))
    if (program := _program_of_main_block(module, path, classes)) is not None:
        return program
    if not classes:
        raise CommandError(f"{path}: no reconciler found: define class MyReconciler(Reconciler[Kind])")
    return FileProgram(classes, classes, ClusterOptions(name=path.stem))


def _with_flags_of_the_command(flags: ManagerFlags | None) -> FileFlags:
    if flags is None:
        return FileFlags()
    combined = make_dataclass("Flags", (), bases=(FileFlags, type(flags)), frozen=True)
    return cast("FileFlags", combined(**{option.name: getattr(flags, option.name) for option in fields(flags)}))


def _program_of_main_block(
    module: ModuleType, path: Path, classes: Sequence[type[Reconciler[Any]]]
) -> FileProgram | None:
    """Execute the main block of a module that imports `run`, up to the call of `run`, and return its arguments."""
    names = [name for name, value in vars(module).items() if value is run]
    tree = ast.parse(path.read_bytes(), str(path))
    body = [line for block in tree.body if _is_main_block(block) for line in cast("ast.If", block).body]
    if not names or not body:
        return None
    programs: list[FileProgram] = []

    def called(
        *setups: Setup,
        name: str = "",
        options: ClusterOptions | None = None,
        flags: ManagerFlags | None = None,
        **_others: object,
    ) -> NoReturn:
        further = [setup for setup in setups if isinstance(setup, type) and setup not in classes]
        named = named_options(options, name, path.stem)
        programs.append(FileProgram([*classes, *further], setups, named, _with_flags_of_the_command(flags)))
        sys.exit()  # as `run` does

    vars(module).update(dict.fromkeys(names, called))
    try:
        exec(compile(ast.Module(body, []), str(path), "exec"), vars(module))  # nosec B102  # the user's own program
    except (Exception, SystemExit) as error:  # user code
        if not programs:
            raise CommandError(f"{path}: its main block failed: {type(error).__name__}: {error}") from error
    finally:
        vars(module).update(dict.fromkeys(names, run))
    return programs[0] if programs else None


def _is_main_block(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and ast.unparse(statement.test) in (
        "__name__ == '__main__'",
        "'__main__' == __name__",
    )


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
