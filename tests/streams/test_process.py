"""Processes in containers: input, output, terminals, exit codes, and connections that end in any place."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from websocket import ABNF

from clientgo.errors import ApiError, BadRequest, ConnectionFailed, Forbidden, InternalError, LeaseNotHeld
from clientgo.kubernetes.clients.core_v1 import CoreV1
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.fence import FencedRequester
from clientgo.rest.request import ForwardingRequester
from clientgo.rest.transport import IdleTimeout
from clientgo.streams import CommandFailed, CommandResult, OutputPiece, RemoteProcess
from clientgo.streams.channels import CLOSE, PIECE, RESIZE, STDERR, STDIN, STDOUT, V4
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from clientgo.testing.transport import refusal
from tests.streams.peers import FakeDuplex, SocketTransport, closing, frame, no_thread_left, pods, pods_of, status

OUT, ERR = frame(bytes((STDOUT,)) + b"out\xff"), frame(bytes((STDERR,)) + b"err")
PATH = "/api/v1/namespaces/ns/pods/web"
COMMAND = ["ls", "-l"]


def run(*script: bytes) -> CommandResult:
    return pods(FakeDuplex(*script)).run("web", COMMAND)


def test_result_has_exit_code_and_separate_outputs() -> None:
    assert run(OUT, ERR, OUT, status(), closing()) == CommandResult(0, b"out\xffout\xff", b"err")
    assert run(status(3), closing()) == CommandResult(3, b"", b"")


def test_failed_command_raises_only_if_it_is_checked() -> None:
    assert run(status(), closing()).check().exit_code == 0
    with pytest.raises(CommandFailed, match="command ended with exit code 3: err") as failed:
        run(ERR, status(3), closing()).check()
    assert failed.value.result.exit_code == 3


def test_parameters_are_those_of_the_api() -> None:
    transport = SocketTransport(*[FakeDuplex(status(), closing()) for _ in range(3)])
    client = pods_of(transport)
    client.run("web", ["a b", "&"])
    client.run("web", ["cat"], stdin=b"x", container="c")
    client.exec("web", ["sh"], tty=True, stdin=True).close()
    assert transport.targets == [
        f"{PATH}/exec?stdout=true&stderr=true&command=a+b&command=%26",
        f"{PATH}/exec?container=c&stdin=true&stdout=true&stderr=true&command=cat",
        f"{PATH}/exec?stdin=true&stdout=true&tty=true&command=sh",
    ]


def test_text_is_no_command() -> None:
    with pytest.raises(TypeError, match=r"expected a list, such as \['sh', '-c', 'ls -l'\]"):
        pods().run("web", "ls -l")


def test_namespace_is_needed() -> None:
    with pytest.raises(BadRequest, match="a namespace must be given to connect a Pod"):
        CoreV1(RESTClient(Config("http://api"), transport=SocketTransport())).pods().run("web", COMMAND)


def test_connection_that_ends_in_any_place_before_the_status_is_an_error() -> None:
    session = OUT + ERR + status(3)
    for end in range(len(session)):
        with pytest.raises(ConnectionFailed, match="was lost"):
            run(session[:end])


def test_connection_that_ends_after_the_status_has_a_result() -> None:
    session = OUT + status(3)
    for end in range(len(closing()) + 1):
        assert run(session, closing()[:end]) == CommandResult(3, b"out\xff", b"")


def test_server_that_leaves_the_connection_open_after_the_status_is_not_waited_for() -> None:
    assert pods(FakeDuplex(OUT, status(), silent=True)).run("web", COMMAND).stdout == b"out\xff"


def test_orderly_end_without_a_status_is_an_error() -> None:
    with pytest.raises(ConnectionFailed, match=r"web ended without an exit status \(code 1011 no node\)"):
        run(OUT, closing(1011, "no node"))


def test_status_may_arrive_in_several_messages() -> None:
    text = msgspec.json.encode({"status": "Success"})
    assert run(*(frame(bytes((3, byte))) for byte in text), closing()).exit_code == 0


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"status": "Failure", "reason": "InternalError", "message": "no such file", "code": 500}, InternalError),
        ({"status": "Failure", "reason": "NonZeroExitCode", "message": "?"}, ApiError),
        (
            {
                "status": "Failure",
                "reason": "NonZeroExitCode",
                "details": {"causes": [{"reason": "ExitCode", "message": "-"}]},
            },
            ApiError,
        ),
    ],
    ids=["not run", "no causes", "no number"],
)
def test_failure_that_is_no_exit_code_is_raised(body: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        run(frame(b"\x03" + msgspec.json.encode(body)), closing())


@pytest.mark.parametrize("data", [b"abc", [b"a", b"", b"bc"]], ids=["bytes", "pieces"])
def test_input_is_sent_and_ended(data: bytes | list[bytes]) -> None:
    duplex = FakeDuplex(OUT, status(), closing())
    with no_thread_left("stdin"), pods(duplex).exec("web", COMMAND, stdin=True) as process:
        process.feed([data] if isinstance(data, bytes) else data)
        eventually(lambda: duplex.frames()[-1:] == [(ABNF.OPCODE_BINARY, bytes((CLOSE, STDIN)))])
        assert list(process) == [OutputPiece("stdout", b"out\xff")]
    sent = [message for _, message in duplex.frames()]
    assert b"".join(message[1:] for message in sent[:-1] if message[0] == STDIN) == b"abc"
    assert sent[-1] == bytes((CLOSE, STDIN))


class EndsWithInput(FakeDuplex):
    """The connection of a process that ends once its input has ended."""

    def receive(self, timeout: float | None) -> bytes:
        eventually(lambda: self.sent)
        return super().receive(timeout)


def test_communicate_without_data_ends_the_input() -> None:
    duplex = EndsWithInput(OUT, status(), closing())
    assert pods(duplex).exec("web", COMMAND, stdin=True).communicate().stdout == b"out\xff"
    assert duplex.frames() == [(ABNF.OPCODE_BINARY, bytes((CLOSE, STDIN)))]


def test_communicate_without_an_input_sends_nothing() -> None:
    duplex = FakeDuplex(OUT, status(), closing())
    assert pods(duplex).exec("web", COMMAND).communicate().stdout == b"out\xff"
    assert duplex.frames() == []


def test_communicate_with_an_older_server_leaves_the_input_open() -> None:
    process = pods(FakeDuplex(OUT, status(), closing()), protocol=V4).exec("web", COMMAND, stdin=True)
    assert process.communicate().stdout == b"out\xff"


def test_terminal_is_written_to_and_resized() -> None:
    duplex = FakeDuplex(silent=True)
    with pods(duplex).exec("web", ["sh"], stdin=True, tty=True) as process:
        process.resize(120, 40)
        process.write(b"exit\n")
        process.close_stdin()
    resized, written, ended = (message for _, message in duplex.frames())
    assert (resized[0], msgspec.json.decode(resized[1:])) == (RESIZE, {"Width": 120, "Height": 40})
    assert (written, ended) == (b"\x00exit\n", bytes((CLOSE, STDIN)))


def test_older_server_cannot_be_told_the_end_of_the_input() -> None:
    client = pods(FakeDuplex(OUT, status(), closing()), FakeDuplex(), protocol=V4)
    assert client.run("web", COMMAND).stdout == b"out\xff"
    with pytest.raises(ConnectionFailed, match=r"speaks v4.channel.k8s.io. Use Kubernetes 1.30 or later"):
        client.run("web", COMMAND, stdin=b"x")


def test_exception_of_the_input_is_raised() -> None:
    def broken() -> Iterator[bytes]:
        yield b"a"
        raise ValueError("no more")

    with no_thread_left("stdin"), pytest.raises(ValueError, match="no more"):
        pods(FakeDuplex(silent=True)).run("web", COMMAND, stdin=broken())


def test_input_that_is_late_does_not_hold_up_the_end() -> None:
    late = threading.Event()

    def waiting() -> Iterator[bytes]:
        assert late.wait(20)
        yield b"late"

    with no_thread_left("stdin"):
        assert pods(FakeDuplex(status(), closing())).run("web", COMMAND, stdin=waiting()).exit_code == 0
        late.set()
        eventually(lambda: not any("stdin" in thread.name for thread in threading.enumerate()))


def test_endless_status_is_an_error() -> None:
    part = frame(b"\x03" + bytes(32 * 1024))
    with pytest.raises(ConnectionFailed, match="the exit status is larger than 1048576 bytes"):
        run(*[part] * 40)


def test_input_that_the_command_does_not_read_is_no_error() -> None:
    duplex = FakeDuplex(status(), closing())
    duplex.closed.set()
    assert pods(duplex).run("web", COMMAND, stdin=b"unread").exit_code == 0


def test_command_that_does_not_end_in_time_is_an_error() -> None:
    duplex = FakeDuplex(OUT, silent=True)
    with pytest.raises(ConnectionFailed, match="web did not end within 5 s") as late:
        pods(duplex).run("web", COMMAND, timeout=5.0)
    assert late.value.timeout
    assert duplex.closed.is_set()


def test_output_that_is_late_can_be_waited_for_again() -> None:
    with pods(FakeDuplex(OUT, silent=True)).exec("web", COMMAND) as process:
        assert process.read(1.0) == OutputPiece("stdout", b"out\xff")
        with pytest.raises(IdleTimeout):
            process.read(1.0)
        with pytest.raises(IdleTimeout):
            process.read(1.0)
        assert process.exit_code is None


@pytest.mark.parametrize("use", [lambda p: p.write(b"x"), lambda p: p.resize(1, 1), lambda p: p.close_stdin()])
def test_closed_process_cannot_be_used(use: Callable[[RemoteProcess], object]) -> None:
    process = pods(FakeDuplex()).exec("web", COMMAND)
    process.close()
    process.close()
    with pytest.raises(ConnectionFailed, match="closed"):
        use(process)


def test_refusal_is_raised_as_by_other_requests() -> None:
    with pytest.raises(Forbidden, match="no exec") as refused:
        pods(refusal(403, "Forbidden", "no exec")).run("web", COMMAND)
    assert refused.value.request == f"CONNECT {PATH}/exec"


def test_command_is_not_sent_again_after_its_connection_broke() -> None:
    transport = SocketTransport(ConnectionFailed("broke"), FakeDuplex(status(), closing()))
    with pytest.raises(ConnectionFailed, match="broke"):
        pods_of(transport).run("web", COMMAND)
    assert len(transport.targets) == 1


def test_server_that_is_busy_is_asked_again() -> None:
    client = pods(refusal(429, retry_after=1), FakeDuplex(status(), closing()))
    assert client.run("web", COMMAND).exit_code == 0


def test_command_is_a_write_that_needs_the_lease() -> None:
    requester = FencedRequester(RESTClient(Config("http://api"), transport=SocketTransport()), lambda: False)
    with pytest.raises(LeaseNotHeld, match="connect pods not sent"):
        CoreV1(requester).pods("ns").run("web", COMMAND)


def fenced(duplex: FakeDuplex, leads: Callable[[], bool]) -> ForwardingRequester:
    client = RESTClient(Config("http://api"), transport=SocketTransport(duplex), clock=FakeClock())
    return ForwardingRequester(FencedRequester(client, leads))  # as in a manager, the fence is not the outermost one


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda process: process.write(b"rm x\n"), id="input"),
        pytest.param(lambda process: process.close_stdin(), id="end of the input"),
        pytest.param(lambda process: process.resize(1, 2), id="size of the terminal"),
    ],
)
def test_input_of_a_running_command_needs_the_lease(act: Callable[[RemoteProcess], None]) -> None:
    duplex, lost = FakeDuplex(silent=True), threading.Event()
    with CoreV1(fenced(duplex, lambda: not lost.is_set())).pods("ns").exec("web", ["sh"], stdin=True) as process:
        process.write(b"ls\n")
        before = duplex.sent
        lost.set()
        with pytest.raises(LeaseNotHeld, match="connect pods not sent"):
            act(process)
    assert duplex.frames()[0][1][1:] == b"ls\n"
    assert duplex.sent == before


def test_long_input_ends_with_the_lease() -> None:
    duplex = FakeDuplex(silent=True)
    requester = fenced(duplex, lambda: len(duplex.sent) < 3 * PIECE)
    with CoreV1(requester).pods("ns").exec("web", ["sh"], stdin=True) as process, pytest.raises(LeaseNotHeld):
        process.write(bytes(100 * PIECE))
    assert len(duplex.frames()) == 3


def test_lost_lease_ends_a_command_that_is_fed() -> None:
    duplex, lost = FakeDuplex(silent=True), threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b"a"
        lost.set()
        yield b"b"

    with pytest.raises(LeaseNotHeld):
        CoreV1(fenced(duplex, lambda: not lost.is_set())).pods("ns").run("web", ["sh"], stdin=pieces())
    messages = [data for opcode, data in duplex.frames() if opcode == ABNF.OPCODE_BINARY]  # and pings of the reader
    assert messages == [bytes((STDIN,)) + b"a"]


def test_command_is_sent_once_more_with_a_new_token_after_401(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    transport = SocketTransport(refusal(401, "Unauthorized"), FakeDuplex(status(), closing()))
    client = RESTClient(Config("http://api", token_file=str(token)), transport=transport, clock=FakeClock(auto=True))
    token.write_text("new")
    assert CoreV1(client).pods("ns").run("web", COMMAND).exit_code == 0
    assert [headers["Authorization"] for headers in transport.sent_headers] == ["Bearer old", "Bearer new"]
