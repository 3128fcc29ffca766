"""The command line: which cluster, how many workers, what is logged."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from clientgo.log import FORMATS, LEVELS


@dataclass(frozen=True, slots=True)
class Options:
    """What the flags said; seconds where times are meant."""

    kubeconfig: str | None
    master: str | None
    context: str | None
    workers: int
    namespaces: tuple[str, ...]
    resync_period: float
    qps: float
    burst: int
    log_level: str
    log_format: str
    embedded: bool
    embedded_port: int


def parse(arguments: Sequence[str]) -> Options:
    """Read the flags; a wrong one ends the program with its usage, as argparse does."""
    given = _parser().parse_args(arguments)
    return Options(
        kubeconfig=given.kubeconfig,
        master=given.master,
        context=given.context,
        workers=given.workers,
        namespaces=tuple(dict.fromkeys(given.namespace or ())),
        resync_period=given.resync_period,
        qps=given.qps,
        burst=given.burst,
        log_level=given.log_level,
        log_format=given.log_format,
        embedded=given.embedded,
        embedded_port=given.embedded_port,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="main.py", description="The sample controller: one Deployment for each Foo.", allow_abbrev=False
    )
    cluster = parser.add_argument_group("which cluster")
    cluster.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig to use (default: $KUBECONFIG, then the cluster this runs in, then ~/.kube/config)",
    )
    cluster.add_argument("--master", metavar="URL", help="address of the API server, in place of the kubeconfig's")
    cluster.add_argument("--context", metavar="NAME", help="context of the kubeconfig (default: its current one)")
    cluster.add_argument(
        "--namespace", metavar="NAME", action="append", help="namespace to watch; may be repeated (default: all)"
    )
    cluster.add_argument("--embedded", action="store_true", help="need no cluster: start an API server of our own")
    cluster.add_argument(
        "--embedded-port", metavar="PORT", type=_port, default=0, help="its port (default: any free one)"
    )
    work = parser.add_argument_group("how it works")
    work.add_argument("--workers", metavar="N", type=_positive, default=2, help="Foos synced at once (default: 2)")
    work.add_argument(
        "--resync-period",
        metavar="SECONDS",
        type=_seconds,
        default=30.0,
        help="look at every Foo again this often; 0 for never (default: 30)",
    )
    work.add_argument(
        "--qps", metavar="N", type=_amount, default=0.0, help="requests a second at most; 0 for no limit (default: 0)"
    )
    work.add_argument("--burst", metavar="N", type=_positive, default=10, help="requests beyond --qps at once")
    logs = parser.add_argument_group("what is logged")
    logs.add_argument("--log-level", choices=LEVELS, default="info", help="(default: info)")
    logs.add_argument("--log-format", choices=FORMATS, default="text", help="(default: text)")
    return parser


def _positive(text: str) -> int:
    number = _integer(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is too small: give 1 or more")
    return number


def _port(text: str) -> int:
    number = _integer(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port: give 0 to 65535")
    return number


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _amount(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is out of range: give 0 or more")
    return number


def _seconds(text: str) -> float:
    return _amount(text.removesuffix("s"))
