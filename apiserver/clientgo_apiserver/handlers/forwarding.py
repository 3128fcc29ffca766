"""Port forwarding to simulated pods.

The annotation `simulation.clientgo.dev/ports` of a pod is a YAML mapping of its ports to addresses of this machine,
such as `{8080: "127.0.0.1:3000"}`. Any other port that a container declares returns what it receives; all others
refuse.
"""

import asyncio
import ipaddress
from functools import partial

import msgspec

from clientgo_apiserver.api.gotext import parse_uint
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import bad_request
from clientgo_apiserver.handlers.containers import read_annotation
from clientgo_apiserver.http.messages import HTTPRequest
from clientgo_apiserver.http.upgrades import BASE64, PIECE, V4, SocketChannels, Upgrade, choose_protocol

PORTS = "simulation.clientgo.dev/ports"
_ECHO, _REFUSE = "echo", "refuse"


def forward(pod: Object, request: HTTPRequest) -> Upgrade:
    """Return the upgrade that forwards the ports of the query (400)."""
    ports = read_ports(request)
    if not ports:
        raise bad_request('query parameter "ports" is required')
    if 0 in ports:
        raise bad_request('unable to parse "0" as a port')
    addresses = _addresses(pod)
    targets = [(port, addresses.get(port, _REFUSE)) for port in ports]
    return Upgrade(choose_protocol(request, (V4, BASE64)), partial(_run, targets))


def read_ports(request: HTTPRequest) -> list[int]:
    """Return the ports of the query: lists separated by commas (400)."""
    try:
        texts = [text for name, value in request.query.pairs if name == "ports" for text in value.split(",")]
        return [parse_uint(text, bits=16) for text in texts]
    except ValueError as error:
        raise bad_request(f"cannot convert to []int32: {error}") from error


def _addresses(pod: Object) -> dict[int, str]:
    containers = pod["spec"].get("containers") or ()
    declared = {port["containerPort"]: _ECHO for container in containers for port in container.get("ports") or ()}
    return declared | (read_annotation(pod, PORTS, "mapping of ports to addresses", _loopback_addresses) or {})


def _loopback_addresses(document: object) -> dict[int, str]:
    addresses = msgspec.convert(document, dict[str, str])  # a key of JSON is a string
    for address in addresses.values():
        host, _, port = address.rpartition(":")
        # Users who may create pods must not reach other machines through this one.
        if not ipaddress.ip_address(host.strip("[]")).is_loopback or not port.isdecimal():
            raise ValueError(f"{address!r} is not a loopback address with a port")
    return {int(port): address for port, address in addresses.items()}


async def _run(targets: list[tuple[int, str]], channels: SocketChannels) -> None:
    channels.reading = True
    for channel in range(2 * len(targets)):
        await channels.send(channel, targets[channel // 2][0].to_bytes(2, "little"))
    writers: dict[int, asyncio.StreamWriter | None] = {}
    copies: list[asyncio.Future[None]] = []
    try:
        for index, (port, address) in enumerate(targets):
            try:
                reader, writers[2 * index] = await _open(address)
            except OSError:
                refusal = f"failed to connect to localhost:{port}: connect: connection refused"
                await channels.send(2 * index + 1, refusal.encode())
            else:
                copies += [asyncio.ensure_future(_copy(reader, channels, 2 * index))] if reader is not None else []
        if writers:
            copies.append(asyncio.ensure_future(_write(writers, channels)))
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for copy in copies:
            copy.cancel()
        await asyncio.gather(*copies, return_exceptions=True)
        for writer in writers.values():
            if writer is not None:
                writer.close()


async def _open(address: str) -> tuple[asyncio.StreamReader | None, asyncio.StreamWriter | None]:
    """Connect to a target; return None for one that returns what it receives."""
    if address == _ECHO:
        return None, None
    if address == _REFUSE:
        raise ConnectionRefusedError
    host, _, port = address.rpartition(":")
    return await asyncio.open_connection(host.strip("[]"), int(port))


async def _copy(reader: asyncio.StreamReader, channels: SocketChannels, channel: int) -> None:
    while data := await reader.read(PIECE):
        await channels.send(channel, data)


async def _write(writers: dict[int, asyncio.StreamWriter | None], channels: SocketChannels) -> None:
    while True:
        channel, data = await channels.receive()
        writer = writers.get(channel)
        if writer is not None:
            writer.write(data)
            await writer.drain()
        elif channel in writers:
            await channels.send(channel, data)
