"""Error messages for failed connections and requests: one message for the user."""

import errno
import re
import socket
import ssl

from clientgo.errors import ConnectionFailed
from clientgo.rest.connections.http1 import IncompleteRead, ProtocolError, TooLarge
from clientgo.rest.transport import IdleTimeout

FAILURES = (OSError, IncompleteRead, ProtocolError, TooLarge)
"""Exceptions of connecting, sending and receiving (TLS errors and timeouts are OSErrors)."""


_CLOSED = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""Exceptions of a connection that was closed by the peer or on the way; a retry may succeed."""


def dial_failure(error: Exception, address: str, seconds: float | None, proxy: str = "") -> ConnectionFailed:
    """Return the error for a failed connection to `address`; nothing was sent."""
    # The outermost known cause decides.
    causes = _chain(error)
    via = f" through the proxy {proxy}" if proxy else ""
    for cause in causes:
        message = _dial_message(cause, address + via, seconds)
        if message:
            refused = isinstance(cause, ConnectionRefusedError)
            timeout = isinstance(cause, TimeoutError)
            broken = isinstance(cause, _CLOSED)
            return ConnectionFailed(message, sent=False, refused=refused, timeout=timeout, broken=broken)
    return ConnectionFailed(f"cannot connect to {address}{via}: {_reason(causes[-1])}", sent=False)


def exchange_failure(
    error: Exception, address: str, seconds: float | None, *, sent: bool = True, begun: bool = False
) -> ConnectionFailed:
    """Return the error for a request over an open connection to `address` without a valid response."""
    if isinstance(error, TimeoutError) and error.errno == errno.ETIMEDOUT:
        # The operating system's timeout, not ours: keep-alive, or data that was never acknowledged.
        return ConnectionFailed(f"{address} is gone: its machine does not respond any more", sent=sent, timeout=True)
    if isinstance(error, TimeoutError):
        return IdleTimeout(f"no data from {address} for {_seconds(seconds)}", sent=sent)
    if isinstance(error, TooLarge):
        return ConnectionFailed(f"{address}: {error}", sent=sent, broken=False)
    if isinstance(error, ProtocolError):
        return ConnectionFailed(f"{address} did not respond with HTTP/1.1: {error}", sent=sent)
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        return ConnectionFailed(_tls_message(error, address), sent=sent)
    when = "in the middle of its response" if begun else "before it responded"
    return ConnectionFailed(f"{address} closed the connection {when}{_detail(error)}", sent=sent)


def _dial_message(cause: BaseException, address: str, seconds: float | None) -> str:
    match cause:
        case _ if isinstance(cause, _CLOSED):
            return f"cannot connect to {address}: the peer closed the connection{_detail(cause)}"
        case ssl.SSLError():
            return _tls_message(cause, address)
        case socket.gaierror():
            return f"cannot resolve the host name of {address}"
        case TimeoutError():
            return f"{address} did not respond within {_seconds(seconds)} while connecting"
        case ConnectionRefusedError():
            return f"connection refused by {address}: is the API server running there?"
        case OSError() if "Tunnel connection failed" in str(cause):
            return f"the proxy refused to connect to {address}: {_reason(cause)}"
        case ProtocolError():
            return f"cannot connect to {address}: the peer does not speak HTTP/1.1"
    return ""


def _tls_message(error: ssl.SSLError, address: str) -> str:
    reason = _reason(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {address} is not trusted: {error.verify_message or reason}"
    if "WRONG_VERSION_NUMBER" in reason or "wrong version number" in reason:
        return f"{address} does not speak TLS: is it a plain http:// address?"
    if "CERTIFICATE_REQUIRED" in reason or "BAD_CERTIFICATE" in reason or "UNKNOWN_CA" in reason:
        return f"{address} did not accept the client certificate: {reason}"
    return f"TLS with {address} failed: {reason}"


def _chain(error: BaseException) -> list[BaseException]:
    """Return the error and its causes, innermost last."""
    chain = [error]
    while (inner := chain[-1].__cause__) is not None and inner not in chain:
        chain.append(inner)
    return chain


def _reason(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return re.sub(r" ?\(_ssl\.c:\d+\)", "", text).strip() or type(error).__name__


def _detail(error: BaseException) -> str:
    return f" ({_reason(error)})" if isinstance(error, OSError) else ""


def _seconds(value: float | None) -> str:
    return "the time allowed" if value is None else f"{value:g} s"
