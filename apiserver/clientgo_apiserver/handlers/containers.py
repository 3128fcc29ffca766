"""Programs of simulated containers: what `exec` and `attach` answer.

The annotation `simulation.clientgo.dev/exec` of a pod is a YAML list of rules. The first whose `command` is the
beginning of the command line is used; without `command`, a rule is for all of them.

| field | |
| --- | --- |
| `stdout`, `stderr` | what the command prints |
| `exitCode` | its exit code (0) |
| `delay` | seconds until it prints anything |
| `disconnect` | true: the connection is lost before the command ends |

A command without a rule prints its own command line and its standard input, and succeeds; `cat` prints the input
alone; `tar -x`, `tar -c` and `test -d` are about files in memory, so that `kubectl cp` works. `attach` prints the pod's
logs, then the input.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

from clientgo.meta.yamlio import read_document
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import bad_request
from clientgo_apiserver.handlers.containertar import FileCommand, file_command
from clientgo_apiserver.http.messages import HTTPRequest, json_response
from clientgo_apiserver.http.upgrades import (
    CLOSE,
    ERROR,
    PIECE,
    STDERR,
    STDIN,
    STDOUT,
    LostConnection,
    SocketChannels,
    Upgrade,
    choose_protocol,
)
from clientgo_apiserver.printers.values import dig
from clientgo_apiserver.state import State

EXEC = "simulation.clientgo.dev/exec"

T = TypeVar("T")


class _Rule(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    command: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    delay: float = 0.0
    disconnect: bool = False


class _Program(msgspec.Struct, frozen=True):
    """A command that runs: its rule, whether it then prints its input, and which streams the client asked for."""

    rule: _Rule
    copies_input: bool
    streams: frozenset[int]


def execute(state: State, pod: Object, container: str, request: HTTPRequest) -> Upgrade:
    """Return the upgrade that runs a command in a simulated container (400)."""
    words = [value for name, value in request.query.pairs if name == "command"]
    if not words:
        raise bad_request("you must specify at least 1 command")
    line = " ".join(words)
    rule = next((rule for rule in _rules(pod) if line.startswith(rule.command)), None)
    command = file_command(state, (pod["metadata"]["uid"], container), words) if rule is None else None
    if command is not None:
        program = _Program(_Rule(), command.reads, _streams(request))
        return Upgrade(choose_protocol(request), partial(_run_files, command, program))
    if rule is None:
        echoed = _Rule(stdout="" if words == ["cat"] else f"{line}\n")
        return _upgrade(state, request, echoed, copies_input=True)
    return _upgrade(state, request, rule, copies_input=False)


def attach(state: State, request: HTTPRequest, logs: str) -> Upgrade:
    """Return the upgrade that attaches to a simulated container (400)."""
    return _upgrade(state, request, _Rule(stdout=logs), copies_input=True)


def _upgrade(state: State, request: HTTPRequest, rule: _Rule, *, copies_input: bool) -> Upgrade:
    streams = _streams(request)
    program = _Program(rule, copies_input and STDIN in streams, streams)
    return Upgrade(choose_protocol(request), partial(_run, state, program))


def _streams(request: HTTPRequest) -> frozenset[int]:
    query = request.query
    streams = frozenset(
        channel
        for channel, name in ((STDIN, "stdin"), (STDOUT, "stdout"), (STDERR, "stderr"))
        if query.flag(name) and not (channel == STDERR and query.flag("tty"))
    )
    if not streams:
        raise bad_request("you must specify at least 1 of stdin, stdout, stderr")
    return streams


def _rules(pod: Object) -> list[_Rule]:
    return read_annotation(pod, EXEC, "list of rules", lambda document: msgspec.convert(document, list[_Rule])) or []


def read_annotation(pod: Object, name: str, expected: str, convert: Callable[[Any], T]) -> T | None:
    """Return the value of a YAML annotation, or None; `convert` raises `ValueError` if the value is wrong (400)."""
    text = dig(pod, "metadata", "annotations", name)
    if not text:
        return None
    try:
        return convert(read_document(text))
    except ValueError as error:
        raise bad_request(f"annotation {name}: expected a YAML {expected}: {error}") from error


async def _run(state: State, program: _Program, channels: SocketChannels) -> None:
    rule = program.rule
    await _begin(channels, program, reading=program.copies_input)
    if rule.delay:
        await _pause(state, rule.delay)
    for channel, text in ((STDOUT, rule.stdout), (STDERR, rule.stderr)):
        # A terminal has one output.
        await _print(channels, program, channel if channel in program.streams else STDOUT, text.encode())
    while program.copies_input:
        channel, data = await channels.receive()
        if channel == CLOSE and data[:1] == bytes((STDIN,)):
            break
        if channel == STDIN:
            await _print(channels, program, STDOUT, data)
    if rule.disconnect:
        raise LostConnection
    await _end(channels, rule.exit_code)


async def _run_files(command: FileCommand, program: _Program, channels: SocketChannels) -> None:
    await _begin(channels, program, reading=command.reads)
    while command.reads:
        channel, data = await channels.receive()
        if channel == CLOSE or (channel == STDIN and await command.add(data)):
            break
    async for piece in command.output():
        await _print(channels, program, STDOUT, piece)
    await _print(channels, program, STDERR, command.errors.encode())
    await _end(channels, command.code)


async def _begin(channels: SocketChannels, program: _Program, *, reading: bool) -> None:
    channels.reading = reading
    for channel in sorted(program.streams - {STDIN})[:1]:
        await channels.send(channel, b"")  # tells the client that the connection is open


async def _end(channels: SocketChannels, code: int) -> None:
    await channels.send(ERROR, json_response(_status(code)).body)


async def _print(channels: SocketChannels, program: _Program, channel: int, data: bytes) -> None:
    if channel in program.streams:
        for start in range(0, len(data), PIECE):
            await channels.send(channel, data[start : start + PIECE])


async def _pause(state: State, seconds: float) -> None:
    """Wait by the server's clock."""
    due: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def resolve() -> None:
        if not due.done():
            due.set_result(None)

    handle = state.scheduler.call_later(seconds, resolve)
    try:
        await due
    finally:
        handle.cancel()


def _status(code: int) -> dict[str, Any]:
    """Return the kubelet's Status of a command that ended with this exit code."""
    if not code:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: command terminated with exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
