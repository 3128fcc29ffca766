"""Commands in pods, answered by reactors of a fake."""

import pytest

from clientgo.errors import ConnectionFailed, Forbidden, MethodNotAllowed
from clientgo.kubernetes.clients.core_v1 import PodClient
from clientgo.meta.objects import GroupVersionResource
from clientgo.streams import CommandResult, OutputPiece
from clientgo.testing.actions import Action
from clientgo.testing.client import FakeClient
from clientgo.testing.kubernetes import FakeClientset

PODS = GroupVersionResource("", "v1", "pods")


def backup(pods: PodClient) -> int:
    return len(pods.run("db", ["pg_dump", "shop"], stdin=b"secret").check().stdout)


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536, 1_000_000])
def test_reactor_answers_a_command(size: int) -> None:
    clientset = FakeClientset()
    clientset.prepend_reactor("connect", "pods/exec", lambda _: (True, CommandResult(0, bytes(size), b"")))
    assert backup(clientset.core_v1.pods("ns")) == size
    called = Action(
        verb="connect", resource=PODS, namespace="ns", name="db", subresource="exec", command=("pg_dump", "shop")
    )
    assert clientset.writes == [called]


def test_outputs_and_exit_code_are_those_of_the_result() -> None:
    clientset, result = FakeClientset(), CommandResult(3, b"out", b"err")
    clientset.prepend_reactor("connect", "pods", lambda _: (True, result))
    pods = clientset.core_v1.pods("ns")
    assert pods.run("db", ["ls"]) == result
    with pods.attach("db") as process:
        assert list(process) == [OutputPiece("stdout", b"out"), OutputPiece("stderr", b"err")]
        assert process.exit_code == 3
    with pytest.raises(ConnectionFailed, match="closed"):
        process.write(b"x")


def test_reactor_may_fail_a_command() -> None:
    client = FakeClient()
    client.fail("connect", "pods", Forbidden("no exec"))
    with pytest.raises(Forbidden, match="no exec"):
        backup(client.generated(PodClient, "ns"))


def test_command_without_a_reactor_is_not_supported() -> None:
    with pytest.raises(MethodNotAllowed, match="the fake does not support pods/exec: prepend a reactor"):
        backup(FakeClientset().core_v1.pods("ns"))


def test_reactor_that_returns_something_else_is_named() -> None:
    clientset = FakeClientset()
    clientset.prepend_reactor("connect", "pods", lambda _: (True, b"out"))
    with pytest.raises(TypeError, match="returned no CommandResult: b'out'"):
        backup(clientset.core_v1.pods("ns"))
