"""TCP proxy that simulates network faults; one thread, controlled from any other.

It does not parse the traffic, except for the last request line of each connection: `of="watch="` restricts a fault to
watches.
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from urllib.parse import urlsplit

from clientgo.stop.lifecycle import Group

Direction = Literal["up", "down"]
"""To the server, or back from it."""

_AT_ONCE = 65536
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close at once, with a reset


@dataclass(frozen=True, slots=True)
class Mood:
    """Treatment of connections whose last request contains `of`; empty means all.

    `pause` stops a direction. `delay` is the number of seconds before each piece of a response, `piece` the number of
    bytes sent at once (0: as received), `cut` the number of response bytes after which a connection is reset (0:
    never), `garble` the distance of changed bytes (0: none).
    """

    of: str = ""
    pause: frozenset[Direction] = frozenset()
    delay: float = 0.0
    piece: int = 0
    cut: int = 0
    garble: int = 0


class _Writer(Protocol):
    """Used part of a StreamWriter."""

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None: ...


class _Pair:
    """One client connection, and the corresponding server connection."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client, self.server = client, server
        self.request = ""
        self.down = 0  # bytes of answers since the mood changed
        self.dead = False

    def reset(self) -> None:
        """Close both; the client's by a reset."""
        for writer in (self.client, self.server):
            sock = writer.get_extra_info("socket")
            if sock is not None and sock.fileno() >= 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()


class Proxy:
    """Proxy from 127.0.0.1:`port` to the server at `target` (a URL), from `start` to `stop`."""

    def __init__(self, target: str) -> None:
        self._target = _address(target)
        self._group = Group()
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._mood = Mood()
        self._changed = asyncio.Event()
        self._pairs: set[_Pair] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Server | None = None
        self.port = 0
        self.accepted = 0

    def __repr__(self) -> str:
        return f"<Proxy {self.port} to {self._target}, {len(self._pairs)} connections, {self._mood}>"

    def start(self) -> None:
        """Start forwarding."""
        self._group.start(self._run, name="proxy")
        self._ready.wait()

    def stop(self) -> None:
        """Close every connection and end the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._group.join(10)

    def aim(self, target: str) -> None:
        """Forward new connections to another server; existing ones are unchanged."""
        self._target = _address(target)

    def set(self, mood: Mood) -> None:
        """Treat every connection like this from now on. Bytes of a paused direction wait until `heal`."""
        self._do(lambda: self._set(mood))

    def heal(self) -> None:
        """Forward normally; connections with paused bytes stay dead, as after a lost route."""
        self._do(self._heal)

    def reset(self, of: str = "") -> None:
        """Reset all connections."""
        self._do(lambda: self._reset(of))

    def inject(self, pieces: Sequence[bytes], of: str) -> int:
        """Send bytes to the clients of matching connections, as if from the server; return their number."""
        return asyncio.run_coroutine_threadsafe(self._inject(pieces, of), self._loop).result()

    def refuse(self) -> None:
        """Stop listening, so that connections are refused; reset the open ones."""
        asyncio.run_coroutine_threadsafe(self._refuse(), self._loop).result()

    def listen(self) -> None:
        """Listen again at the same port."""
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def count(self, of: str = "") -> int:
        """Return the number of connections."""
        return self._do(lambda: self._of(of))

    def _reset(self, of: str) -> None:
        for pair in self._of(of):
            pair.reset()

    def _do(self, what: Callable[[], list[_Pair] | None]) -> int:
        async def on_loop() -> int:
            return len(what() or ())

        return asyncio.run_coroutine_threadsafe(on_loop(), self._loop).result()

    def _of(self, of: str) -> list[_Pair]:
        return [pair for pair in self._pairs if of in pair.request]

    def _set(self, mood: Mood) -> None:
        self._mood = mood
        for pair in self._pairs:
            pair.down = 0
        self._changed.set()
        self._changed = asyncio.Event()

    def _heal(self) -> None:
        if self._mood.pause:
            for pair in self._of(self._mood.of):
                pair.dead = True
        self._set(Mood())

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._listen())
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _listen(self) -> None:
        self._listening = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=_AT_ONCE)
        self.port = self._listening.sockets[0].getsockname()[1]

    async def _refuse(self) -> None:
        if self._listening is not None:
            self._listening.close()
        for pair in self._of(""):
            pair.reset()

    async def _inject(self, pieces: Sequence[bytes], of: str) -> int:
        pairs = self._of(of)
        for piece in pieces:
            for pair in pairs:
                if not pair.client.transport.is_closing():
                    pair.client.write(piece)
            # Who has had enough hangs up.
            await asyncio.gather(*(pair.client.drain() for pair in pairs), return_exceptions=True)
        return len(pairs)

    async def _end(self) -> None:
        await self._refuse()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports that were aborted close their sockets in the loop's next turn

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            from_server, to_server = await asyncio.open_connection(*self._target, limit=_AT_ONCE)
        except OSError:
            writer.transport.abort()
            return
        for item in (writer, to_server):
            item.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = _Pair(writer, to_server)
        self._pairs.add(pair)
        tasks = {
            self._loop.create_task(self._pump(pair, reader, to_server, "up")),
            self._loop.create_task(self._pump(pair, from_server, writer, "down")),
        }
        self._tasks |= tasks
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks -= tasks
        self._pairs.discard(pair)
        writer.close()
        to_server.close()

    async def _pump(self, pair: _Pair, reader: asyncio.StreamReader, writer: _Writer, direction: Direction) -> None:
        try:
            while data := await reader.read(_AT_ONCE):
                if direction == "up" and data[:1].isalpha():
                    pair.request = data.split(b"\r\n", 1)[0].decode("latin-1")
                mood = await self._passable(pair, direction)
                if direction == "up":
                    writer.write(data)
                    await writer.drain()
                elif not await self._send(pair, data, mood, writer):
                    return
        except OSError:
            return  # one side is closed; ending this pump closes the other

    async def _passable(self, pair: _Pair, direction: Direction) -> Mood:
        while True:
            mood = self._mood if self._mood.of in pair.request else Mood()
            if direction not in mood.pause and not pair.dead:
                return mood
            await self._changed.wait()

    async def _send(self, pair: _Pair, data: bytes, mood: Mood, writer: _Writer) -> bool:
        """Send bytes to the client; return whether the connection continues."""
        if mood.delay:
            await asyncio.sleep(mood.delay)
        if mood.garble:
            data = _garbled(data, mood.garble)
        before, pair.down = pair.down, pair.down + len(data)
        if mood.cut and pair.down >= mood.cut:
            writer.write(data[: max(0, mood.cut - before)])
            await asyncio.sleep(0)
            pair.reset()
            return False
        for begin in range(0, len(data), mood.piece or len(data)):
            writer.write(data[begin : begin + (mood.piece or len(data))])
            await writer.drain()
            if mood.piece:
                await asyncio.sleep(0)
        return True


def _address(url: str) -> tuple[str, int]:
    return urlsplit(url).hostname or "", urlsplit(url).port or 0


def _garbled(data: bytes, apart: int) -> bytes:
    changed = bytearray(data)
    for location in range(apart // 2, len(changed), apart):
        changed[location] ^= 0x55
    return bytes(changed)
