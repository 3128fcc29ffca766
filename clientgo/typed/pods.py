"""Additional verbs of pods: logs, commands, eviction, binding to a node."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from clientgo import streams
from clientgo.meta.codec import encode_value
from clientgo.meta.typemeta import accepted_kinds, type_meta
from clientgo.rest.limits import started_deadline
from clientgo.rest.request import ByteStream, open_stream
from clientgo.typed.create import CreateClient
from clientgo.typed.options import DeleteOptions, write_query
from clientgo.typed.response import fetch_success
from clientgo.typed.watch import StreamReader

MAX_LINE = 1024 * 1024
"""Bytes of one line of a log; a longer line arrives in pieces of that size, so that memory stays bounded."""


class LogStream(StreamReader[ByteStream]):
    """A container's log, as lines without their line breaks, or by `chunks` as the bytes arrive.

    Use it in a `with` block. `close` ends it from any thread, and a blocked reader returns at once. Iterating raises
    `ConnectionFailed` when the connection breaks.
    """

    def __iter__(self) -> Iterator[bytes]:
        unread = bytearray()  # an unfinished line; it may arrive a byte at a time
        for chunk in self._stream:
            *ends, begin = chunk.split(b"\n")
            for end in ends:
                yield from _pieces(bytes(unread + end))
                unread.clear()
            unread += begin
            while len(unread) > MAX_LINE:
                yield bytes(unread[:MAX_LINE])
                del unread[:MAX_LINE]
        if unread:
            yield bytes(unread)

    def chunks(self) -> Iterator[bytes]:
        """Iterate over the bytes as they arrive, in portions of any size."""
        return iter(self._stream)


class PodExpansion(CreateClient[Any]):
    """Methods that the client of pods inherits."""

    def logs(
        self,
        name: str,
        *,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        timestamps: bool = False,
        tail_lines: int | None = None,
        limit_bytes: int | None = None,
        since_seconds: int | None = None,
        since_time: datetime | None = None,
        insecure_skip_tls_verify_backend: bool = False,
    ) -> LogStream:
        """Open the log of a pod's container, which may be left out if there is only one.

        With `follow` the stream ends when the container does, or when it is closed, however long it is silent.
        `previous` means the container before its last restart.

        Raises:
            BadRequest: the container does not exist or has not started, or the pod has several and none is named.
            NotFound: the pod does not exist.
            TypeError: the requester cannot stream.
            ValueError: `since_time` has no time zone.
        """
        query: dict[str, object] = {
            "container": container,
            "follow": follow,
            "previous": previous,
            "timestamps": timestamps,
            "tailLines": tail_lines,
            "limitBytes": limit_bytes,
            "sinceSeconds": since_seconds,
            "sinceTime": _instant(since_time),
            "insecureSkipTLSVerifyBackend": insecure_skip_tls_verify_backend,
        }
        request = replace(self._request("get", name, subresource="log", query=_set_parameters(query)), accept="*/*")
        self._need_namespace(request)
        return LogStream(open_stream(self._requester, request))

    def exec(
        self,
        name: str,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bool = False,
        tty: bool = False,
        timeout: float | None = None,
    ) -> "streams.RemoteProcess":
        """Run a command in a pod's container, which may be left out if there is only one.

        With `tty` the command has a terminal, and a single output. `timeout` limits the opening, in seconds.

        Raises:
            BadRequest: the container does not exist or has not started, or the pod has several and none is named.
            NotFound: the pod does not exist.
            TypeError: the requester has no streams, or the command is a text.
        """
        if isinstance(command, str):
            raise TypeError(f"invalid command {command!r}: expected a list, such as ['sh', '-c', {command!r}]")
        return self._open_process(name, "exec", _streams(container, stdin=stdin, tty=tty), command, timeout)

    def attach(
        self,
        name: str,
        *,
        container: str = "",
        stdin: bool = False,
        tty: bool = False,
        timeout: float | None = None,
    ) -> "streams.RemoteProcess":
        """Attach to the running process of a pod's container, as `exec` does to a command.

        Closing leaves the process running. `stdin` and `tty` are available only if the container has them.
        """
        return self._open_process(name, "attach", _streams(container, stdin=stdin, tty=tty), (), timeout)

    def run(
        self,
        name: str,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bytes | Iterable[bytes] = (),
        timeout: float | None = None,
    ) -> "streams.CommandResult":
        """Run a command in a pod's container until it ends, with this input; return its exit code and output.

        `timeout` limits the opening and the command together, in seconds.

        Raises:
            ConnectionFailed: the connection was lost, or the command did not end in time.
            ApiError: the command could not be run; see `exec`.
        """
        deadline = started_deadline(timeout)
        process = self.exec(name, command, container=container, stdin=bool(stdin), timeout=timeout)
        return process.communicate_until(deadline, stdin)

    def copy_to(
        self, name: str, source: str | Path, target: str, *, container: str = "", timeout: float | None = None
    ) -> None:
        """Copy a local file or folder into a container that has `tar`, as `kubectl cp`.

        `target` is the name of the copy or, if it is an existing folder or ends with a slash, the folder for it. Files
        belong to the user of the container's process. Local sockets and devices are skipped with a warning. `timeout`
        limits the whole copy, in seconds.

        Raises:
            CommandFailed: `tar` failed in the container.
            ConnectionFailed: the connection was lost, or `timeout` has passed.
            OSError: a local file cannot be read.
        """
        streams.copy_to_container(partial(self.exec, name, container=container), Path(source), target, timeout=timeout)

    def copy_from(
        self, name: str, source: str, target: str | Path, *, container: str = "", timeout: float | None = None
    ) -> None:
        """Copy a file or folder from a container that has `tar`, as `kubectl cp`.

        `target` is the name of the copy or, if it is an existing folder, the folder for it. Nothing is written outside
        of it, whatever the container sends. Links that lead out of the copy, and devices, are skipped with a warning.
        An error may leave a part of the copy. `timeout` limits the copy, in seconds.

        Raises:
            CommandFailed: `tar` failed in the container: the source does not exist, say.
            ConnectionFailed: the connection was lost, or `timeout` has passed.
            CopyFailed: the archive that the container sent is incomplete or invalid.
            OSError: a local file cannot be written.
        """
        start = partial(self.exec, name, container=container)
        streams.copy_from_container(start, source, Path(target), timeout=timeout)

    def port_forward(
        self, name: str, port: int, *, local_port: int = 0, host: str = "127.0.0.1", timeout: float | None = None
    ) -> "streams.PortForward":
        """Forward a local port to a port of a pod, for a `with` block: `with pods.port_forward("web", 80) as forward:`.

        `forward.port` is the local port, chosen by the system by default. `timeout` limits the opening of each
        connection, in seconds. A connection that fails is reset and logged.

        Raises:
            NotFound: the pod does not exist.
            OSError: the local port is in use.
            TypeError: the requester has no streams.
        """
        query = {"ports": str(port)}
        request = self._request("connect", name, subresource="portforward", query=query, timeout=timeout)
        self._need_namespace(request)
        request = replace(request, accept="*/*")
        return streams.forward_port(self._requester, request, host=host, local_port=local_port)

    def _open_process(
        self, name: str, subresource: str, query: Mapping[str, object], command: Sequence[str], timeout: float | None
    ) -> "streams.RemoteProcess":
        parameters = _set_parameters(query)
        request = self._request("connect", name, subresource=subresource, query=parameters, timeout=timeout)
        self._need_namespace(request)
        words = tuple(("command", word) for word in command)
        return streams.open_process(self._requester, replace(request, accept="*/*", repeated=words))

    def evict(self, name: str, options: DeleteOptions | None = None, *, dry_run: bool = False) -> None:
        """Delete a pod if its disruption budgets allow it now; else raise `TooManyRequests`."""
        body: dict[str, object] = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        if options is not None:
            body["deleteOptions"] = options
        self._act(name, "eviction", body, dry_run=dry_run)

    def bind(self, name: str, node: str, *, uid: str = "", dry_run: bool = False) -> None:
        """Assign a pod to a node, as a scheduler does; `Conflict` if it is assigned already, or has not this `uid`."""
        metadata = {"name": name, "uid": uid} if uid else {"name": name}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        self._act(name, "binding", body, dry_run=dry_run)

    def _act(self, name: str, subresource: str, body: Mapping[str, object], *, dry_run: bool) -> None:
        sent = encode_value(body)
        request = self._request("create", name, subresource=subresource, query=write_query(dry_run=dry_run), body=sent)
        self._need_namespace(request)
        kind = type_meta(sent)
        fetch_success(self._requester, request, accepted_kinds(*([kind] if kind else []), success=True))


def _streams(container: str, *, stdin: bool, tty: bool) -> dict[str, object]:
    return {"container": container, "stdin": stdin, "stdout": True, "stderr": not tty, "tty": tty}


def _set_parameters(query: Mapping[str, object]) -> dict[str, str]:
    """Return the parameters that are not left out, as the API reads them."""
    return {
        key: str(value).lower() if value is True else str(value)
        for key, value in query.items()
        if value is not None and value is not False and value != ""
    }


def _instant(time: datetime | None) -> str:
    if time is None:
        return ""
    if time.tzinfo is None:
        raise ValueError(f"invalid time {time!r}: expected one with a time zone, such as datetime.now(UTC)")
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _pieces(line: bytes) -> Iterator[bytes]:
    if len(line) <= MAX_LINE:
        yield line
    else:
        yield from (line[start : start + MAX_LINE] for start in range(0, len(line), MAX_LINE))
