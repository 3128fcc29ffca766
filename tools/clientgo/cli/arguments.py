"""Command-line parser of `clientgo`."""

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from clientgo.cli.further import FURTHER
from clientgo.cli.names import CERT_MANAGER, CERTIFICATES
from clientgo.codegen.problems import reason_of
from clientgo.errors import ClientGoError
from clientgo.program.flags import parse_bool
from clientgo.version import VERSION

SIGNALLED = 128
"""Exit code after a signal, to which its number is added, as shells report it."""

_RUN_FLAGS = ("--reload", "--help", "-h")


class Parser(argparse.ArgumentParser):
    """Argument parser that reports errors on one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def exit_code_of(prog: str, run: Callable[[], int]) -> int:
    """Run a command and return its exit code; report an error in one line.

    SIGTERM and SIGHUP end it as Ctrl-C does, with all that it has started, unless it handles them itself.
    """
    try:
        with _exit_on_signals():
            return run()
    except ClientGoError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {reason_of(error)}" if error.filename else str(error)
    except KeyboardInterrupt:
        return SIGNALLED + signal.SIGINT
    print(f"{prog}: {message}", file=sys.stderr)  # noqa: T201  # the command's answer
    return 1


@contextmanager
def _exit_on_signals() -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGHUP) if threading.current_thread() is threading.main_thread() else ()
    defaults = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in defaults:
        signal.signal(number, _exit)
    try:
        yield
    finally:
        for number in defaults:
            signal.signal(number, signal.SIG_DFL)


def _exit(number: int, _: object) -> NoReturn:
    sys.exit(SIGNALLED + number)


def several(text: str) -> list[str]:
    """Split a comma-separated list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; `run` leaves the flags of the manager unparsed, `perturb` a command, in `arguments`."""
    own_arguments, passed_on = list(arguments), []
    if own_arguments[:1] == ["perturb"] and "--" in own_arguments:
        split = own_arguments.index("--")
        own_arguments, passed_on = own_arguments[:split], own_arguments[split + 1 :]
    if own_arguments[:1] == ["run"]:
        own_arguments, passed_on = _of_run(own_arguments)
    options, unknown = parser().parse_known_args(own_arguments)
    if unknown:
        prog = f"clientgo {options.command}"
        Parser(prog=prog).error(f"unrecognized arguments: {' '.join(unknown)}")
    options.arguments = passed_on
    return options


def _of_run(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the arguments of `run` into its own and those of the manager, which are around FILE, or after `--`."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    before, after = list(arguments[:end]), list(arguments[end + 1 :])
    words = [word for last, word in pairwise(before) if not word.startswith("-") and last != "--webhook-host"]
    file = next((word for word in words if word.endswith(".py")), next(iter(words), None))
    if file is None:
        return before, after
    at = before.index(file, 1)
    own_arguments = ["run", *(word for word in before[1:at] if word in _RUN_FLAGS), file]
    return own_arguments, [*(word for word in before[1:at] if word not in _RUN_FLAGS), *before[at + 1 :], *after]


def parser() -> Parser:
    """Return the parser of all commands; it sets `command` to the chosen one, such as `create api`."""
    root = Parser(
        prog="clientgo", description="Scaffold and build projects of Kubernetes controllers.", allow_abbrev=False
    )
    root.add_argument("--version", action="version", version=f"clientgo {VERSION}", help="print the version and exit")
    commands = root.add_subparsers(metavar="COMMAND", required=True)
    _init(_command(commands, "init", "create a project in the current folder, which must be empty"))
    _layout(_command(commands, "edit", "change the settings of the project"))
    upgrade = _command(commands, "upgrade", "merge the scaffold of the installed version into the project")
    _origin(upgrade, certificates="that of the project")
    create = _command(commands, "create", "scaffold an API or a webhook")
    what_to_create = create.add_subparsers(metavar="api|webhook", required=True)
    _api(_command(what_to_create, "api", "scaffold an API type, its controller, or both"))
    _webhook(_command(what_to_create, "webhook", "scaffold webhooks for an API type"))
    for name, what in (
        ("manifests", "generate CRDs, roles and webhook configurations from hack/manifests.yaml"),
        ("generate", "generate clients, listers and informers from hack/generate.yaml"),
    ):
        checked = "write nothing; print a diff and fail if files are out of date"
        _command(commands, name, what).add_argument("--verify", action="store_true", help=checked)
    command = _command(commands, "certificates", "make the webhooks' certificate of a project without cert-manager")
    command.add_argument(
        "--host", default="", help="host name of the webhooks' Service (default: that of config/default)"
    )
    what = "run the manager of the project, or the reconcilers of a file, on this machine"
    _run(_command(commands, "run", what, help_flag=False))
    _perturb(_command(commands, "perturb", "prove controllers by perturbation, without a cluster"))
    _doctor(_command(commands, "doctor", "check Python, the cluster, CRDs, permissions, ports and certificates"))
    _explain(_command(commands, "explain", "describe a kind or one of its fields, as kubectl explain does, offline"))
    for name, further in FURTHER.items():  # `clientgo.cli.__main__` passes their arguments on
        commands.add_parser(name, help=further.help, add_help=False)
    completion = _command(commands, "completion", "print a shell completion script")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))
    _command(commands, "version", "print the version")
    return root


def _command(commands: "argparse._SubParsersAction[Parser]", name: str, what: str, *, help_flag: bool = True) -> Parser:
    description = f"{what[0].upper()}{what[1:]}."
    command = commands.add_parser(name, help=what, description=description, allow_abbrev=False, add_help=help_flag)
    command.set_defaults(command=command.prog.partition(" ")[2])
    return command


def _init(command: Parser) -> None:
    add = command.add_argument
    add("--domain", default="my.domain", help="domain of the API groups (default: %(default)s)")
    add("--project-name", help="name of the project and prefix of its objects (default: name of the folder)")
    add("--repo", default="", help="URL of the source repository, recorded in PROJECT")
    add("--owner", default="", help="copyright owner named in generated files")
    # Without a default: argparse would not notice one that is given explicitly.
    licence = command.add_mutually_exclusive_group().add_argument
    licence("--license", choices=("apache2", "none"), help="license header of generated files (default: none)")
    licence("--license-file", default="", metavar="FILE", help="file with your own license header")
    _origin(command, certificates=f"{CERT_MANAGER}, which the cluster must have")
    _layout(command)


def _origin(command: Parser, *, certificates: str) -> None:
    command.add_argument("--certificates", choices=CERTIFICATES,
        help=f"origin of the webhooks' certificate (default: {certificates})")  # fmt: skip
    add = command.add_mutually_exclusive_group().add_argument
    add("--clientgo-from", type=Path, metavar="PATH",
        help="install clientgo in the project, its CI and image from this wheel or checkout")  # fmt: skip
    add("--index-url", type=_package_index, metavar="URL",
        help="install clientgo and all other packages from this package index")  # fmt: skip


def _run(command: Parser) -> None:
    command.set_defaults(print_help=command.print_help)
    command.add_argument("-h", "--help", action="store_true", help="show this message and the manager's flags")
    command.add_argument("--reload", action="store_true", help="restart the manager when its source changes")
    command.add_argument("--webhook-host", default="", metavar="HOST",
        help="name or address at which kubectl's cluster calls the webhooks on this machine")  # fmt: skip
    command.add_argument("file", nargs="?", type=Path, metavar="FILE.py [FLAG ...] | -- [FLAG ...]",
        help="file whose reconcilers to run instead of the project; the other flags are the manager's")  # fmt: skip


def _perturb(command: Parser) -> None:
    add = command.add_argument
    add("file", type=Path, metavar="FILE.py | FILE.yaml -- COMMAND ...",
        help="Python file with scenarios, or YAML file with steps for the operator that COMMAND starts")  # fmt: skip
    add("--scenario", default="", metavar="NAME", help="run only the scenario of this name")
    add("--plan", action="append", default=[], metavar="NAME", help="repeat this plan; repeatable")
    _list(command, "kind", "KIND", "run only these kinds of plans")
    add("--smoke", action="store_true", help="run only a few plans of each kind")
    _list(command, "steps", "N", "run only these steps of the scenario")
    add("--shard", default="1/1", metavar="I/N", help="run only every n-th plan (default: %(default)s)")
    add("--max-time", type=float, default=0.0, metavar="SECONDS", help="begin no plan after this time")
    add("--processes", type=int, default=0, metavar="N", help="number of processes (default: one per processor)")
    add("--shrink", action="store_true", help="look for the fewest steps that show each failure")
    add("--list", action="store_true", help="print the plans and oracles, and run nothing")
    add("--html", type=Path, metavar="FILE", help="write a page with pictures of the failures")
    add("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML")
    add("--quiet", action="store_true", help="print no line for plans that pass")


def _doctor(command: Parser) -> None:
    add = command.add_argument
    searched = "kubeconfig to use (default: $KUBECONFIG, then the cluster this runs in, then ~/.kube/config)"
    add("--kubeconfig", metavar="FILE", help=searched)
    add("--context", metavar="NAME", help="context of the kubeconfig (default: its current one)")
    add("--as", dest="as_user", default="", metavar="USER",
        help="user to check instead, such as system:serviceaccount:NAMESPACE:NAME")  # fmt: skip


def _explain(command: Parser) -> None:
    add = command.add_argument
    add("target", metavar="KIND[.FIELD...]",
        help="built-in kind, kind of a CRD, or MODULE:CLASS, such as deployment.spec.strategy")  # fmt: skip
    add("--api-version", default="", metavar="GROUP/VERSION", help="version of the kind (default: the preferred one)")
    add("--crd", type=Path, action="append", default=[], metavar="FILE",
        help="file with CustomResourceDefinitions; may be repeated")  # fmt: skip
    add("--recursive", action="store_true", help="print the names and types of all fields below")


def _layout(command: Parser) -> None:
    _switch(command, "multigroup", "allow several API groups, each in its own folders")
    _switch(command, "namespaced", "restrict the manager to its own namespace")


def _api(command: Parser) -> None:
    _kind(command)
    add = command.add_argument
    add("--plural", default="",
        help="plural resource name (default: as other versions of the kind, else the English plural)")  # fmt: skip
    _switch(command, "resource", "scaffold the types; prompted for if omitted")
    _switch(command, "controller", "scaffold the controller; prompted for if omitted")
    _switch(command, "namespaced", "namespaced resource (default: as other versions of the kind, else true)")
    add("--from-crd", type=Path, metavar="FILE", help="generate the types of a third-party kind from its CRD")
    add("--controller-name", default="", help="name of the controller, if a kind has several (default: the kind)")
    add("--make", action="store_true", help="run `make manifests generate` afterwards")


def _webhook(command: Parser) -> None:
    _kind(command)
    add = command.add_argument
    add("--defaulting", action="store_true", help="scaffold a defaulting webhook")
    add("--programmatic-validation", action="store_true", help="scaffold a validating webhook")
    for name in ("defaulting", "validation"):
        add(f"--{name}-path", default="", metavar="PATH", help=f"URL path of the {name} webhook")
    add("--conversion", action="store_true", help="scaffold a conversion webhook; --version is the hub")
    _list(command, "spoke", "VERSION", "versions to convert (default: all other versions of the kind)")


def _kind(command: Parser) -> None:
    add = command.add_argument
    add("--group", default="", help="API group, without the domain")
    add("--version", default="", help="API version, such as v1alpha1")
    add("--kind", default="", help="kind, such as Foo")
    add("--force", action="store_true", help="overwrite modified files")


def _switch(command: Parser, name: str, what: str) -> None:
    command.add_argument(f"--{name}", nargs="?", const=True, type=parse_bool, metavar="BOOL", help=what)


def _list(command: Parser, name: str, item: str, what: str) -> None:
    metavar = f"{item}[,{item}]"
    command.add_argument(f"--{name}", type=several, action="extend", default=[], metavar=metavar, help=what)


def _package_index(text: str) -> str:
    """Return the URL of a package index, which will be in version control."""
    try:
        url = urlsplit(text)
    except ValueError:
        url = urlsplit("")
    if url.scheme not in ("https", "http", "file") or text.split() != [text]:
        raise argparse.ArgumentTypeError(f"invalid URL {text!r}: expected one such as https://index.example.com/simple")
    if url.username or url.password:
        raise argparse.ArgumentTypeError("the URL contains credentials: put them into pip's configuration or ~/.netrc")
    return text
