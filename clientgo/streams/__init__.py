"""Streams of pods over WebSockets: commands, terminals, forwarded ports, copies of files.

The clients of pods have the methods. A module of this package is imported when one of them is called.
"""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

if TYPE_CHECKING:
    from clientgo.streams.archives import CopyFailed
    from clientgo.streams.copying import copy_from_container, copy_to_container
    from clientgo.streams.forward import PortForward, forward_port
    from clientgo.streams.process import CommandFailed, CommandResult, OutputPiece, RemoteProcess, open_process
    from clientgo.streams.websockets import accept_key
else:
    __getattr__ = on_demand(
        __name__,
        {
            "archives": "CopyFailed",
            "copying": "copy_from_container copy_to_container",
            "forward": "PortForward forward_port",
            "process": "CommandFailed CommandResult OutputPiece RemoteProcess open_process",
            "websockets": "accept_key",
        },
    )

__all__ = [
    "CommandFailed", "CommandResult", "CopyFailed", "OutputPiece", "PortForward", "RemoteProcess",
    "accept_key", "copy_from_container", "copy_to_container", "forward_port", "open_process",
]  # fmt: skip
