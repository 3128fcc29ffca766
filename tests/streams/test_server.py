"""Commands in the pods of a bundled server."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConnectionFailed
from clientgo.kubernetes.clients.core_v1 import CoreV1, PodClient
from clientgo.manager.client import DirectClient
from clientgo.rest.client import RESTClient
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import StopEvent, ends_with
from clientgo.streams import CommandResult, OutputPiece
from tests.streams.peers import no_thread_left
from tests.streams.simulated import running_requester

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def requester() -> Iterator[RESTClient]:
    with running_requester() as client:
        yield client


@pytest.fixture(scope="module")
def pods(requester: RESTClient) -> PodClient:
    return CoreV1(requester).pods("default")


def test_command_has_an_exit_code_and_two_outputs(pods: PodClient) -> None:
    assert pods.run("web", ["fail"]) == CommandResult(3, b"out", b"err")
    assert pods.run("web", ["a b", "c&d=e"]) == CommandResult(0, b"a b c&d=e\n", b"")


def test_terminal_has_one_output(pods: PodClient) -> None:
    with pods.exec("web", ["fail"], tty=True) as process:
        process.resize(80, 25)
        assert list(process) == [OutputPiece("stdout", b"out"), OutputPiece("stdout", b"err")]
        assert process.exit_code == 3


@pytest.mark.parametrize("size", [1, 10_000, 1_000_000])
def test_binary_input_comes_back_as_it_is(pods: PodClient, size: int) -> None:
    data = bytes(number * number % 256 for number in range(size))
    with no_thread_left("stdin"):
        assert pods.run("web", ["cat"], stdin=data).stdout == data


def test_conversation_with_a_command(pods: PodClient) -> None:
    with pods.exec("web", ["cat"], stdin=True) as process:
        for word in (b"one", b"two"):
            process.write(word)
            assert process.read() == OutputPiece("stdout", word)
        process.close_stdin()
        assert process.read() is None
        assert process.exit_code == 0


def test_attached_process_prints_and_reads(pods: PodClient) -> None:
    with pods.attach("web", stdin=True) as process:
        assert process.read() == OutputPiece("stdout", b"log\n")
        process.write(b"more")
        assert process.read() == OutputPiece("stdout", b"more")


def test_client_of_a_manager_runs_commands_too(requester: RESTClient) -> None:
    client = DirectClient(requester).writing(field_validation="Strict")
    assert client.generated(PodClient, "default").run("web", ["fail"]).exit_code == 3


def test_stop_ends_a_command_within_a_second(requester: RESTClient) -> None:
    stop = StopEvent()
    with ends_with(stop), CoreV1(requester).pods("default").exec("web", ["slow"]) as process, Group() as group:
        group.start(stop.set, name="stopper")
        began = SYSTEM_CLOCK.now()
        with pytest.raises(ConnectionFailed, match="stopping"):
            process.read()
        assert SYSTEM_CLOCK.now() - began < 3  # of a loaded machine


def test_hundred_commands_run_at_once(pods: PodClient) -> None:
    def run(number: int) -> bytes:
        return pods.run("web", ["cat"], stdin=b"%d" % number).stdout

    with no_thread_left("stdin"), ThreadPoolExecutor(100) as pool:
        assert list(pool.map(run, range(100))) == [b"%d" % number for number in range(100)]
