"""How a replica shares the work, as the flags have it."""

import threading

import pytest

from clientgo.errors import ConfigError
from clientgo.record import FakeRecorder
from clientgo.rest import Config
from controller.options import parse
from controller.replicas import turn_of

NOWHERE = Config(host="http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        pytest.param([], "there are no other replicas", id="alone"),
        pytest.param(["--leader-elect"], "standing by; nobody leads", id="leader"),
        pytest.param(["--shard-count=3"], "standing by for a share; the members are not known yet", id="share"),
    ],
)
def test_whose_turn_it_is_can_be_told(flags: list[str], words: str) -> None:
    with turn_of(parse(flags), NOWHERE, FakeRecorder(1)) as turn:
        assert turn.describe() == words
        turn.check()


def test_a_replica_that_is_alone_works_at_once_and_on_everything() -> None:
    worked = threading.Event()
    with turn_of(parse([]), NOWHERE, FakeRecorder(1)) as turn, turn.taking("uid") as ours:
        turn.run(lambda _: worked.set(), threading.Event())
        assert (worked.is_set(), turn.may_write(), ours) == (True, True, True)


@pytest.mark.parametrize("mode", ["--leader-elect", "--shard-count=3"])
def test_times_that_cannot_work_together_are_told_in_a_sentence(mode: str) -> None:
    options = parse([mode, "--leader-elect-renew-deadline=20s"])
    with pytest.raises(ConfigError, match="leaseDuration must be greater than renewDeadline"):
        turn_of(options, NOWHERE, FakeRecorder(1)).__enter__()


def test_a_replica_either_leads_or_shares(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--leader-elect", "--shard-count=3"])
    assert "give one of them" in capsys.readouterr().err
