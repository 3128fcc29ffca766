"""WebSockets: the handshake, frames of any shape, and peers that break the protocol."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websocket import ABNF

from clientgo.errors import ConnectionFailed, InvalidResponse
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Request
from clientgo.rest.transport import IdleTimeout
from clientgo.streams.channels import PIECE, V4, V5, ChannelSocket, decode_message, encode_message
from clientgo.streams.websockets import PING_SECONDS, WebSocket, open_socket
from clientgo.testing.clock import FakeClock
from tests.streams.peers import FakeDuplex, SocketTransport, closing, frame
from tests.typed.recorder import Recorder

REQUEST = Request(
    verb="connect", resource=GroupVersionResource("", "v1", "pods"), namespace="ns", name="web", subresource="exec"
)
MESSAGES = st.lists(st.binary(max_size=300), max_size=5)


def opened(duplex: FakeDuplex, *, clock: FakeClock | None = None) -> WebSocket:
    return WebSocket(duplex, V5, path=REQUEST.path, clock=clock or FakeClock())


def messages(socket: WebSocket) -> list[bytes]:
    received = []
    while (message := socket.receive()) is not None:
        received.append(message)
    return received


def client(transport: SocketTransport) -> RESTClient:
    return RESTClient(Config("http://api"), transport=transport, clock=FakeClock(auto=True))


def test_handshake_offers_the_protocols_best_first() -> None:
    transport = SocketTransport(FakeDuplex(), protocol=V4)
    assert open_socket(client(transport), REQUEST, (V5, V4)).protocol == V4
    headers = transport.sent_headers[0]
    assert headers["Sec-WebSocket-Protocol"] == f"{V5}, {V4}"
    assert (headers["Connection"], headers["Upgrade"], headers["Sec-WebSocket-Version"]) == (
        "Upgrade", "websocket", "13",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("header", "value", "message"),
    [
        ("sec-websocket-accept", "bm8=", "expected a WebSocket, got a handshake without the key of the request"),
        ("sec-websocket-protocol", "v9", "expected the subprotocol v5.channel.k8s.io or v4.channel.k8s.io, got 'v9'"),
        ("sec-websocket-protocol", "", "got ''"),
    ],
)
def test_handshake_that_is_none_is_an_error_and_closes(header: str, value: str, message: str) -> None:
    duplex = FakeDuplex()
    duplex.headers = {header: value}
    with pytest.raises(InvalidResponse, match=message):
        open_socket(client(SocketTransport(duplex)), REQUEST, (V5, V4))
    assert duplex.closed.is_set()


def test_requester_without_streams_is_named() -> None:
    with pytest.raises(TypeError, match="has no streams: use a RESTClient"):
        open_socket(Recorder(), REQUEST, (V5,))


@given(MESSAGES, st.integers(1, 50))
def test_messages_arrive_as_they_were_sent_however_the_bytes_are_cut(sent: list[bytes], size: int) -> None:
    stream = b"".join(map(frame, sent)) + closing()
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert messages(opened(FakeDuplex(*pieces))) == sent


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=5))
def test_fragments_are_joined_with_control_frames_between_them(fragments: list[bytes]) -> None:
    stream = b""
    for number, fragment in enumerate(fragments):
        opcode = ABNF.OPCODE_CONT if number else ABNF.OPCODE_BINARY
        stream += frame(fragment, opcode, fin=number == len(fragments) - 1) + frame(b"?", ABNF.OPCODE_PING)
    duplex = FakeDuplex(stream + closing())
    assert messages(opened(duplex)) == [b"".join(fragments)]
    assert duplex.frames() == [(ABNF.OPCODE_PONG, b"?")] * len(fragments)


@given(st.integers(0, 255), st.binary(max_size=100))
def test_channel_and_data_survive_the_codec(channel: int, data: bytes) -> None:
    assert decode_message(encode_message(channel, data)) == (channel, data)


@given(st.binary(max_size=3 * PIECE))
def test_long_data_is_sent_in_messages_of_limited_size(data: bytes) -> None:
    duplex = FakeDuplex()
    ChannelSocket(opened(duplex)).send(0, data)
    sent = [message for _, message in duplex.frames()]
    assert b"".join(message[1:] for message in sent) == data
    assert all(message[0] == 0 and len(message) <= PIECE + 1 for message in sent)


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (b"", "was lost"),
        (b"\x82", "was lost"),
        (b"\x82\x05abc", "was lost"),
        (frame(b"abc", fin=0), "was lost"),
        (b"\xc2\x01a", "rsv is not implemented"),
        (b"\x83\x01a", "Invalid opcode 3"),
        (b"\x82\x81aaaaa", "a frame of the server is masked"),
        (b"\x82\x7f" + b"\x7f" * 8, "a frame is larger than 67108864 bytes"),
        (frame(b"a", ABNF.OPCODE_CONT), "Illegal frame"),
        (frame(b"a", fin=0) + frame(b"b"), "Illegal frame"),
        (frame(b"a", ABNF.OPCODE_CLOSE), "Invalid close frame"),
        (closing(7), "Invalid close opcode 7"),
    ],
)
def test_stream_that_breaks_off_or_the_rules_is_an_error(stream: bytes, message: str) -> None:
    with pytest.raises(ConnectionFailed, match=message) as caught:
        messages(opened(FakeDuplex(stream)))
    assert caught.value.broken
    assert REQUEST.path in str(caught.value)


def test_message_without_a_channel_is_an_error() -> None:
    with pytest.raises(ConnectionFailed, match="a message without a channel"):
        ChannelSocket(opened(FakeDuplex(frame(b"")))).receive()


def test_reason_of_the_end_is_available() -> None:
    socket = opened(FakeDuplex(closing(1011, "no node")))
    assert (messages(socket), socket.close_code, socket.close_reason) == ([], 1011, "no node")
    assert socket.receive() is None


def test_end_without_a_reason_is_an_end() -> None:
    socket = opened(FakeDuplex(frame(b"", ABNF.OPCODE_CLOSE)))
    assert (messages(socket), socket.close_code) == ([], 1005)


class SilentDuplex(FakeDuplex):
    """A connection without a word, whose waits take the time of a fake clock."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock

    def receive(self, timeout: float | None) -> bytes:
        assert timeout is not None
        self._clock.step(timeout)
        raise IdleTimeout("silence")


def test_pings_are_sent_in_silence_until_the_timeout() -> None:
    clock = FakeClock()
    duplex, began = SilentDuplex(clock), clock.now()
    with pytest.raises(IdleTimeout):
        opened(duplex, clock=clock).receive(2.5 * PING_SECONDS)
    assert duplex.frames() == [(ABNF.OPCODE_PING, b"")] * 2
    assert clock.now() - began == 2.5 * PING_SECONDS
