"""Streams of pods over WebSockets: commands, terminals, forwarded ports, copies of files.

The clients of pods have the methods. A module of this package is imported when one of them is called.
"""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

if TYPE_CHECKING:
    from clientgo.streams.forward import PortForward, forward_port
    from clientgo.streams.process import CommandFailed, CommandResult, OutputPiece, RemoteProcess, open_process
else:
    __getattr__ = on_demand(
        __name__,
        {
            "forward": "PortForward forward_port",
            "process": "CommandFailed CommandResult OutputPiece RemoteProcess open_process",
        },
    )

__all__ = [
    "CommandFailed", "CommandResult", "OutputPiece", "PortForward", "RemoteProcess", "forward_port", "open_process",
]  # fmt: skip
