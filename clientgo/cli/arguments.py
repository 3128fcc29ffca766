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


def parser() -> Parser:
    """All commands; what is chosen is in `command` of the result, as `init` or `create api`."""
    made = Parser(prog="clientgo", description="Begin a project of controllers, and add to it.", allow_abbrev=False)
    commands = made.add_subparsers(metavar="COMMAND", required=True)
    _init(_command(commands, "init", "begin a project in this folder, which must be empty"))
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


def _api(command: Parser) -> None:
    _kind(command)
    add = command.add_argument
    add("--plural", default="", help="the resource's name (default: the kind's English plural)")
    for name, what in (("resource", "write the types"), ("controller", "write the controller")):
        add(f"--{name}", nargs="?", const=True, type=truth, metavar="BOOL", help=f"{what}; asked if it is not said")
    add("--namespaced", nargs="?", const=True, default=True, type=truth, metavar="BOOL",
        help="whether objects belong to a namespace (default: true)")  # fmt: skip


def _webhook(command: Parser) -> None:
    _kind(command)
    add = command.add_argument
    add("--defaulting", action="store_true", help="fill in what users leave out")
    add("--programmatic-validation", action="store_true", help="object to what may not be")


def _kind(command: Parser) -> None:
    add = command.add_argument
    add("--group", default="", help="the API group, without the domain")
    add("--version", default="", help="the API's version, as v1alpha1")
    add("--kind", default="", help="the kind, as Foo")
    add("--force", action="store_true", help="write files anew, even where a hand has changed them")
