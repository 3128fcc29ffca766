"""Exec credential plugins: programs of a kubeconfig's `exec` that print an ExecCredential (KEP-541).

As in client-go, a plugin runs in the working directory of this process; only the path of its command is relative to the
kubeconfig. Unlike in client-go, it has a time limit, because requests wait for it, and a stop kills it.
"""

import os
import selectors
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from clientgo.clock import SYSTEM_CLOCK
from clientgo.internal.callbacks import MAX_DESCRIPTION
from clientgo.meta import yamlio
from clientgo.rest.bounds import MAX_PLUGIN_BYTES
from clientgo.stop.stopping import on_stop

PLUGIN_SECONDS = 60.0
"""Time limit of a plugin, in seconds."""

INTERACTIVE_SECONDS = 300.0
"""Time limit of a plugin that prompts a user, who may have to log in with a browser."""

_CHUNK = 64 * 1024


class PluginFailed(Exception):
    """The plugin returned no credential; `code` is its exit code, or 1 if it did not run."""

    def __init__(self, message: str, *, status: str = "client_internal_error", code: int = 1) -> None:
        super().__init__(message)
        self.status = status
        """The failure's label value in client-go's metric."""
        self.code = code


class ExecStatus(msgspec.Struct, frozen=True, rename="camel"):
    """A credential returned by a plugin (ExecCredential's status); as in Go, null reads as absent."""

    token: str | None = ""
    client_certificate_data: str | None = ""
    client_key_data: str | None = ""
    expiration_timestamp: datetime | None = None

    def __repr__(self) -> str:
        return "<ExecStatus>"


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str | None = ""
    status: ExecStatus | None = None


def run_plugin(
    plugin: Mapping[str, Any], cluster: Mapping[str, Any], *, seconds: float = 0.0, terminal: bool | None = None
) -> ExecStatus:
    """Run the plugin of a kubeconfig's `exec` and return its credential.

    `cluster` is passed to a plugin with `provideClusterInfo`. `seconds` 0 means the default limit. `terminal` tells
    whether a user can be prompted; by default, whether standard input is a terminal.

    Raises:
        PluginFailed: it is not found, fails, times out, or prints something else.
    """
    if terminal is None:
        terminal = sys.stdin is not None and sys.stdin.isatty()
    interactive = _interactive(plugin, terminal)
    version = str(plugin.get("apiVersion") or "")
    spec = {"interactive": interactive} | ({"cluster": dict(cluster)} if plugin.get("provideClusterInfo") else {})
    info = msgspec.json.encode({"apiVersion": version, "kind": "ExecCredential", "spec": spec}).decode()
    variables = {str(pair.get("name") or ""): str(pair.get("value") or "") for pair in plugin.get("env") or ()}
    output = _output(
        [_executable(str(plugin.get("command") or "")), *(str(argument) for argument in plugin.get("args") or ())],
        os.environ | variables | {"KUBERNETES_EXEC_INFO": info},
        interactive=interactive,
        seconds=seconds or (INTERACTIVE_SECONDS if interactive else PLUGIN_SECONDS),
    )
    return _status(output, version)


def _interactive(plugin: Mapping[str, Any], terminal: bool) -> bool:
    mode = plugin.get("interactiveMode") or "IfAvailable"
    if mode == "Always" and not terminal:
        raise PluginFailed("it must prompt a user (interactiveMode: Always), but standard input is not a terminal")
    if mode not in ("Always", "IfAvailable", "Never"):
        raise PluginFailed(f"invalid interactiveMode {mode!r}: expected Always, IfAvailable or Never")
    return terminal and mode != "Never"


def _executable(command: str) -> str:
    # Looked up in this process' PATH, even if the plugin's environment has another one.
    path = command if os.sep in command else shutil.which(command) if command else None
    if path is None:
        raise PluginFailed(f"executable {command!r} not found", status="plugin_not_found_error")
    return path


def _output(command: list[str], environ: Mapping[str, str], *, interactive: bool, seconds: float) -> bytes:
    try:
        process = subprocess.Popen(
            command,
            env=environ,
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if interactive else subprocess.PIPE,
            # A group of its own, to end it with its children. One that prompts must stay in the terminal's group.
            process_group=None if interactive else 0,
        )
    except FileNotFoundError as error:
        raise PluginFailed(f"executable {command[0]!r} not found", status="plugin_not_found_error") from error
    except (OSError, ValueError) as error:  # not executable; an argument or a variable with a NUL
        raise PluginFailed(str(error)) from error
    kill = partial(_kill, process, interactive=interactive)
    with process, on_stop(kill):
        try:
            output, errors = _communicate(process, seconds)
        finally:
            kill()
    if process.returncode:
        message = " ".join(errors.decode(errors="replace").split())[:MAX_DESCRIPTION]
        text = f"exit status {process.returncode}{f': {message}' if message else ''}"
        raise PluginFailed(text, status="plugin_execution_error", code=process.returncode)
    return output


def _communicate(process: "subprocess.Popen[bytes]", seconds: float) -> tuple[bytes, bytes]:
    """Return the output and the start of the error messages of a plugin, once it has ended.

    `Popen.communicate` has no limit of size.
    """
    deadline = SYSTEM_CLOCK.now() + seconds
    output, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, received in ((process.stdout, output), (process.stderr, errors)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, received)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - SYSTEM_CLOCK.now()))
            if not ready:
                raise PluginFailed(f"timed out after {seconds:g} s", status="plugin_execution_error")
            for key, _ in ready:
                if not (data := os.read(key.fd, _CHUNK)):
                    selector.unregister(key.fileobj)
                key.data.extend(data[: max(0, MAX_PLUGIN_BYTES + 1 - len(key.data))])
            if len(output) > MAX_PLUGIN_BYTES:
                raise PluginFailed(f"invalid output: more than {MAX_PLUGIN_BYTES} bytes")
    try:
        process.wait(max(0.0, deadline - SYSTEM_CLOCK.now()))
    except subprocess.TimeoutExpired as error:
        raise PluginFailed(f"timed out after {seconds:g} s", status="plugin_execution_error") from error
    return bytes(output), bytes(errors)


def _kill(process: "subprocess.Popen[bytes]", *, interactive: bool) -> None:
    """End a plugin that still runs, with its children if it has a process group of its own."""
    if process.poll() is not None:
        return
    with suppress(ProcessLookupError):  # it has ended just now
        if interactive:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _status(output: bytes, version: str) -> ExecStatus:
    try:
        credential = msgspec.convert(yamlio.read_document(output.decode()), _ExecCredential)
    except (yamlio.InvalidYAML, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise PluginFailed(f"invalid output: expected an ExecCredential as JSON or YAML: {error}") from error
    if (credential.api_version or "") != version:
        raise PluginFailed(f"it is configured for the API version {version}, but returned {credential.api_version}")
    status = credential.status or ExecStatus()
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise PluginFailed("it returned only a certificate or a key, not both")
    if not status.token and not status.client_key_data:
        raise PluginFailed("it returned neither a token nor a client certificate with its key")
    return status
