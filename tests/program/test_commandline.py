"""Command lines declared as dataclasses."""

from dataclasses import dataclass, replace

import pytest

from clientgo.meta.names import ObjectName
from clientgo.program.commandline import ClientFlags, FlagParser, ServingFlags, ShardingFlags, flag, flag_values
from clientgo.program.flags import Address, natural, positive, seconds


@dataclass(frozen=True)
class Base:
    kubeconfig: str | None = flag(None, "file", group="cluster", metavar="FILE")
    lease: str = flag("", "name of the lease", group="replicas")


@dataclass(frozen=True)
class Options(Base):
    lease: str = flag("foos", "name of the lease", group="replicas")
    namespaces: tuple[str, ...] = flag((), "may be repeated", "-n", "--namespace", group="cluster")
    log_debug: bool = flag(False, "a switch", group="logs")
    workers: int = flag(2, "how many", group="work", type=positive, metavar="N")


PARSER = FlagParser(Options, prog="foos", description="Foos.")


def test_defaults_are_those_of_the_fields() -> None:
    assert PARSER.parse([]) == Options(None, "foos", (), log_debug=False, workers=2)


def test_flags_are_named_after_the_fields_and_converted_by_their_type() -> None:
    arguments = PARSER.parse(["--kubeconfig=x", "--lease", "mine", "--log-debug", "--workers=3"])
    assert arguments == Options("x", "mine", (), log_debug=True, workers=3)


@dataclass(frozen=True)
class Waiting:
    delay: float = flag(1.0, "time to wait (default: %(default)s)", group="g")
    on: bool = flag(True, "wait (default: %(default)s)", group="g")
    callback: str = "none"


def test_help_has_the_defaults_of_the_instance(capsys: pytest.CaptureFixture[str]) -> None:
    parser = FlagParser(Waiting(delay=2.5), prog="waiting", description="Waiting.")
    with pytest.raises(SystemExit):
        parser.parse(["--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "time to wait (default: 2.5)" in printed
    assert "wait (default: true)" in printed


def test_field_that_is_not_declared_as_a_flag_has_none() -> None:
    waiting = Waiting(callback="given")
    assert FlagParser(waiting, prog="waiting", description="Waiting.").parse(["--no-on"]) == replace(waiting, on=False)
    assert flag_values(waiting) == {"delay": 1.0, "on": True}


@dataclass(frozen=True)
class Server:
    port: int = flag(9443, "port", group="servers", variable="SERVER_PORT", type=positive)


@pytest.mark.parametrize(
    ("environ", "flags", "port"),
    [
        pytest.param({}, [], 9443, id="default"),
        pytest.param({"SERVER_PORT": "8443"}, [], 8443, id="variable"),
        pytest.param({"SERVER_PORT": "8443"}, ["--port=1"], 1, id="flag"),
        pytest.param({"SERVER_PORT": ""}, [], 9443, id="empty variable"),
    ],
)
def test_environment_variable_overrides_the_default_of_its_flag(
    environ: dict[str, str], flags: list[str], port: int
) -> None:
    parser = FlagParser(Server, prog="server", description="Server.", environ=environ)
    assert parser.parse(flags) == Server(port)


@dataclass(frozen=True)
class Typed:
    on: bool = flag(True, "switch", group="g", variable="ON")
    debug: bool = flag(False, "switch", group="g", variable="DBG")
    count: int = flag(1, "number", group="g", variable="COUNT")
    ratio: float = flag(0.5, "number", group="g", variable="RATIO")
    wait: float = flag(1.0, "duration", group="g", variable="WAIT", type=seconds)
    limit: int | None = flag(None, "number", group="g", variable="LIMIT", type=natural)
    names: tuple[str, ...] = flag((), "names", group="g", variable="NAMES")
    ports: tuple[int, ...] = flag((80,), "ports", "--port", group="g", variable="PORTS", type=positive)
    level: str = flag("info", "level", group="g", variable="LEVEL", choices=("info", "debug"))


def typed(*flags: str, **environ: str) -> Typed:
    return FlagParser(Typed, prog="typed", description="Typed.", environ=environ).parse(flags)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], True),
        (["--on"], True),
        (["--on=true"], True),
        (["--on=False"], False),
        (["--on", "no"], False),
        (["--no-on"], False),
        (["--no-on", "--on"], True),
    ],
)
def test_switch_is_written_as_in_go_or_in_python(flags: list[str], expected: bool) -> None:
    assert typed(*flags) == Typed(on=expected)
    assert typed(*(flag.replace("on", "debug") for flag in flags if flag), DBG="true").debug is expected


def test_flag_may_have_the_name_of_another_flag_s_opposite() -> None:
    @dataclass(frozen=True)
    class Caching:
        cache: bool = flag(True, "cache", group="g")
        no_cache: bool = flag(False, "do not cache", group="g")

    parser = FlagParser(Caching, prog="caching", description="Caching.")
    assert parser.parse(["--no-cache"]) == Caching(cache=True, no_cache=True)


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("ON", "false", Typed(on=False)),
        ("DBG", "false", Typed()),
        ("DBG", "TRUE", Typed(debug=True)),
        ("COUNT", "3", Typed(count=3)),
        ("RATIO", "-1.5", Typed(ratio=-1.5)),
        ("WAIT", "1m30s", Typed(wait=90.0)),
        ("LIMIT", "0", Typed(limit=0)),
        ("NAMES", "a, b,a", Typed(names=("a", "b"))),
        ("PORTS", "1,2", Typed(ports=(1, 2))),
        ("LEVEL", "debug", Typed(level="debug")),
        ("LEVEL", "", Typed()),
    ],
)
def test_variable_is_read_as_its_flag(variable: str, text: str, expected: Typed) -> None:
    assert typed(**{variable: text}) == expected


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("DBG", "maybe", "environment variable DBG: invalid value 'maybe': expected true or false"),
        ("COUNT", "many", "environment variable COUNT: invalid number 'many': expected an integer"),
        ("RATIO", "nan", "environment variable RATIO: invalid number nan: must be finite"),
        ("PORTS", "1,x", "environment variable PORTS: invalid number 'x': expected an integer"),
        ("LEVEL", "loud", "environment variable LEVEL: invalid choice: 'loud' (choose from "),
    ],
)
def test_invalid_variable_exits_with_its_name_unless_the_flag_is_set(
    variable: str, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        typed(**{variable: text})
    assert f"typed: error: {message}" in capsys.readouterr().err
    assert typed("--debug", "--count=1", "--ratio=0.5", "--port=80", "--level=info", **{variable: text}).debug


def test_values_of_a_repeated_flag_are_a_tuple_without_duplicates() -> None:
    assert PARSER.parse(["--namespace", "a", "--namespace=b", "--namespace", "a"]).namespaces == ("a", "b")
    assert PARSER.parse([]).namespaces == ()


@dataclass(frozen=True)
class Named:
    name: ObjectName = flag(ObjectName("ns", "a"), "ConfigMap", group="g", type=ObjectName.parse, variable="NAME")


def test_named_tuple_is_the_value_of_one_flag() -> None:
    parser = FlagParser(Named, prog="it", description="", environ={"NAME": "ns/b"})
    assert parser.parse([]).name == ObjectName("ns", "b")
    assert parser.parse(["--name=ns/c"]).name == ObjectName("ns", "c")
    assert FlagParser(Named, prog="it", description="", environ={}).parse([]).name.namespace == "ns"


def test_help_lists_each_group_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        PARSER.parse(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert ended.value.code == 0
    assert [line for line in lines if line.endswith(":") and not line.startswith(" ")] == [
        "options:", "cluster:", "replicas:", "logs:", "work:"
    ]  # fmt: skip


@pytest.mark.parametrize(("columns", "widest"), [("40", 38), ("100", 98)])
def test_help_is_wrapped_at_the_width_of_the_terminal(
    columns: str, widest: int, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = FlagParser(ClientFlags, prog="it", description="word " * 60, environ={"COLUMNS": columns})
    with pytest.raises(SystemExit):
        parser.parse(["--help"])
    assert widest - 6 < max(map(len, capsys.readouterr().out.splitlines())) <= widest


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(["--workers", "0"], "argument --workers: ", id="invalid value"),
        pytest.param(["--work=1"], "unrecognized arguments: --work=1", id="abbreviation"),
        pytest.param(["--log-debug=maybe"], "--log-debug: invalid value 'maybe': expected true or false", id="switch"),
    ],
)
def test_invalid_flag_exits_with_the_usage(flags: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        PARSER.parse(flags)
    output = capsys.readouterr().err
    assert (ended.value.code, output.startswith("usage: foos"), message in output) == (2, True, True)


def test_flag_values_are_listed_by_name() -> None:
    values = flag_values(Options(workers=3))
    assert values == {"kubeconfig": "", "lease": "foos", "namespaces": (), "log-debug": False, "workers": 3}


def test_shared_flags_have_the_defaults_of_client_go() -> None:
    election = ShardingFlags()
    assert (election.leader_elect, election.shard_count) == (False, 0)
    assert (
        election.leader_elect_lease_duration,
        election.leader_elect_renew_deadline,
        election.leader_elect_retry_period,
    ) == (15.0, 10.0, 2.0)
    assert (ClientFlags().qps, ClientFlags().burst) == (0.0, 10)


def test_serving_flags_read_addresses_and_a_switch_with_its_negation() -> None:
    parser = FlagParser(ServingFlags, prog="foos", description="Foos.")
    arguments = parser.parse(
        ["--metrics-bind-address=:8080", "--metrics-secure=false", "--health-probe-bind-address=0"]
    )
    assert arguments == ServingFlags(metrics_bind_address=Address("", 8080), metrics_secure=False)
