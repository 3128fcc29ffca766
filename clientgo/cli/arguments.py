"""What can be said to the command."""

import argparse
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """Answers what it does not understand with one sentence."""

    def error(self, message: str) -> NoReturn:
        """End the program with exit code 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def truth(text: str) -> bool:
    """`true` or `false`."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def several(text: str) -> list[str]:
    """What stands between commas."""
    return [one.strip() for one in text.split(",") if one.strip()]


def parser() -> Parser:
    """All commands; what is chosen is in `command` of the result, as `init` or `create api`."""
    made = Parser(prog="clientgo", description="Begin a project of controllers, and add to it.", allow_abbrev=False)
    commands = made.add_subparsers(metavar="COMMAND", required=True)
    _init(_command(commands, "init", "begin a project in this folder, which must be empty"))
    _edit(_command(commands, "edit", "change what the project in this folder is like"))
    create = _command(commands, "create", "add to the project in this folder")
    what_to_create = create.add_subparsers(metavar="COMMAND", required=True)
    _api(_command(what_to_create, "api", "add a kind, its controller, or both"))
    _webhook(_command(what_to_create, "webhook", "add webhooks to a kind that the project has"))
    for name, what in (
        ("manifests", "write CRDs, roles and webhook configurations, as hack/manifests.yaml says"),
        ("generate", "write clients, listers and informers, as hack/generate.yaml says"),
    ):
        command = _command(commands, name, what)
        command.add_argument("--verify", action="store_true", help="write nothing; show what would change, and fail")
    _bundle(_command(commands, "bundle", "write what the Operator Lifecycle Manager installs, or validate it"))
    chart = _command(commands, "chart", "write a Helm chart of config/default into dist/chart")
    chart.add_argument(
        "--version", default="0.0.1", help="the chart's version, and the operator's (default: %(default)s)"
    )
    chart.add_argument("--image", default="controller:latest", help="the manager's image (default: %(default)s)")
    _run(_command(commands, "run", "run the manager from here, on the cluster that kubectl uses"))
    # Its flags are the server's own, which `clientgo.cli.__main__` passes on.
    commands.add_parser("apiserver", help="run an API server for development, in memory, on loopback", add_help=False)
    completion = _command(commands, "completion", "print what makes a shell complete this command's words")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))
    _command(commands, "version", "print the version")
    return made


def _command(commands: "argparse._SubParsersAction[Parser]", name: str, what: str) -> Parser:
    made = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.", allow_abbrev=False)
    made.set_defaults(command=made.prog.partition(" ")[2])
    return made


def _init(command: Parser) -> None:
    add = command.add_argument
    add("--domain", default="my.domain", help="what the API groups end with (default: %(default)s)")
    add("--project-name", help="what every object of the deployment begins with (default: the folder's name)")
    add("--repo", default="", help="where the project's source is, for the file PROJECT")
    add("--owner", default="", help="who holds the copyright, for the head of every generated file")
    add("--license", choices=("apache2", "none"), default="none", help="what that head says (default: %(default)s)")
    add("--license-file", default="", metavar="FILE", help="what that head says, in words of your own")
    _layout(command)


def _edit(command: Parser) -> None:
    _layout(command)


def _bundle(command: Parser) -> None:
    add = command.add_argument
    add("--package", default="", help="the package in a catalogue (default: the project's name)")
    add("--version", default="0.0.1", help="the operator's version (default: %(default)s)")
    add("--image", default="controller:latest", help="the manager's image (default: %(default)s)")
    add("--channels", default="alpha", help="where users find it, parted by commas (default: %(default)s)")
    add("--default-channel", default="", help="which of them users get unless they choose")
    add("--use-image-digests", action="store_true", help="list images by their digests, which --image has to name")
    what = command.add_subparsers(metavar="validate")
    validate = _command(what, "validate", "say what of OLM's rules a bundle does not keep")
    validate.add_argument("folder", nargs="?", default="bundle", help="the bundle's folder (default: %(default)s)")
    validate.add_argument("--suite", action="append", default=[], choices=("operatorhub", "good-practices"),
        help="further rules; may be said twice")  # fmt: skip


def _run(command: Parser) -> None:
    command.add_argument("--reload", action="store_true", help="start it again whenever its source changes")
    command.add_argument("arguments", nargs="*", metavar="-- FLAG", help="the manager's own flags, after --")


def _layout(command: Parser) -> None:
    add = command.add_argument
    add("--multigroup", nargs="?", const=True, type=truth, metavar="BOOL",
        help="let the project have kinds of several groups, each in folders of its own")  # fmt: skip
    add("--namespaced", nargs="?", const=True, type=truth, metavar="BOOL",
        help="watch, and be allowed, the manager's own namespace alone")  # fmt: skip


def _api(command: Parser) -> None:
    _kind(command)
    add = command.add_argument
    add("--plural", default="", help="the resource's name (default: the kind's English plural)")
    for name, what in (("resource", "write the types"), ("controller", "write the controller")):
        add(f"--{name}", nargs="?", const=True, type=truth, metavar="BOOL", help=f"{what}; asked if it is not said")
    add("--namespaced", nargs="?", const=True, default=True, type=truth, metavar="BOOL",
        help="whether objects belong to a namespace (default: true)")  # fmt: skip
    add("--controller-name", default="", help="what the controller is called, if there are several (default: the kind)")
    add("--make", action="store_true", help="do at once what `make manifests generate` does")


def _webhook(command: Parser) -> None:
    _kind(command)
    add = command.add_argument
    add("--defaulting", action="store_true", help="fill in what users leave out")
    add("--programmatic-validation", action="store_true", help="object to what may not be")
    for name in ("defaulting", "validation"):
        add(f"--{name}-path", default="", metavar="PATH", help=f"where the API server asks for {name}, if not as usual")
    add("--conversion", action="store_true", help="convert objects between versions; this one is the hub")
    add("--spoke", type=several, action="extend", default=[], metavar="VERSION[,VERSION]",
        help="which versions are converted (default: every other version of the kind)")  # fmt: skip


def _kind(command: Parser) -> None:
    add = command.add_argument
    add("--group", default="", help="the API group, without the domain")
    add("--version", default="", help="the API's version, as v1alpha1")
    add("--kind", default="", help="the kind, as Foo")
    add("--force", action="store_true", help="write files anew, even where a hand has changed them")
