"""How a program ends."""

import pytest

from clientgo.errors import ClientGoError
from clientgo.lifecycle import StillRunning
from clientgo.manager import LeadershipLost, exit_code


@pytest.mark.parametrize(
    "error", [LeadershipLost("leader election lost"), ClientGoError("x"), OSError("y"), StillRunning("z")]
)
def test_what_the_world_did_is_one_sentence_and_exit_code_1(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> None:
        raise error

    assert exit_code(fails) == 1
    assert [(one.getMessage(), one.exc_info) for one in caplog.records] == [(str(error), None)]
    assert exit_code(lambda: None) == 0


def test_a_bug_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_code(lambda: 1 / 0)
