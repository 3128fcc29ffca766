"""Command line of the controller."""

import pytest

from clientgo.coordination import LeaderElectionOptions, ShardingOptions, coordination_options
from controller.options import parse


@pytest.mark.feature("A-29")
def test_defaults_are_two_workers_all_namespaces_and_resync_of_30_seconds() -> None:
    options = parse([])
    assert (options.workers, options.namespaces, options.resync_period) == (2, (), 30.0)
    assert (options.qps, options.log_level, options.log_format, options.embedded) == (0.0, "info", "auto", False)


def test_namespace_flag_can_be_repeated() -> None:
    assert parse(["--namespace", "a", "--namespace=b", "--namespace", "a"]).namespaces == ("a", "b")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        pytest.param(["--workers", "0"], "argument --workers: invalid number 0: must be at least 1", id="no workers"),
        pytest.param(["--workers", "two"], "invalid number 'two': expected an integer", id="workers in words"),
        pytest.param(["--resync-period", "-1"], "invalid number -1: must be finite and at least 0", id="negative time"),
        pytest.param(["--qps", "nan"], "invalid number nan", id="no number"),
        pytest.param(["--embedded-port", "70000"], "invalid port 70000: must be 0 to 65535", id="port"),
        pytest.param(["--log-level", "loud"], "invalid choice: 'loud'", id="level"),
        pytest.param(["--log", "debug"], "unrecognized arguments", id="shortened flags are no flags"),
    ],
)
def test_invalid_flag_is_reported(flags: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(flags)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_period_may_be_written_with_its_unit() -> None:
    assert parse(["--resync-period", "45s"]).resync_period == 45.0


def test_leader_election_and_sharding_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--leader-elect", "--shard-count=3"])
    assert "give one of them" in capsys.readouterr().err


def test_leases_are_named_after_the_controller() -> None:
    assert coordination_options(parse([])) is None
    assert coordination_options(parse(["--leader-elect"])) == LeaderElectionOptions(id="sample-controller")
    sharding = ShardingOptions(count=3, lease_prefix="sample-controller")
    assert coordination_options(parse(["--shard-count=3"])) == sharding
