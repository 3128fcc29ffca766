"""What the network did, in one sentence for the user."""

import errno
import re
import socket
import ssl

from clientgo.errors import ConnectionFailed
from clientgo.rest.connections.http1 import IncompleteRead, ProtocolError, TooLarge
from clientgo.rest.transport import IdleTimeout

FAILURES = (OSError, IncompleteRead, ProtocolError, TooLarge)
"""What connecting, sending and receiving may raise (TLS errors and timeouts are OSErrors)."""


_CLOSED = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""What the peer, or something on the way, did to a connection; another try may find a server that is up again."""


def dial_failure(error: Exception, where: str, seconds: float | None, proxy: str = "") -> ConnectionFailed:
    """Why no connection to `where` came about; nothing was sent."""
    # By the outermost cause that is telling.
    causes = _chain(error)
    via = f" through the proxy {proxy}" if proxy else ""
    for cause in causes:
        sentence = _dial_sentence(cause, where + via, seconds)
        if sentence:
            refused = isinstance(cause, ConnectionRefusedError)
            timeout = isinstance(cause, TimeoutError)
            broken = isinstance(cause, _CLOSED)
            return ConnectionFailed(sentence, sent=False, refused=refused, timeout=timeout, broken=broken)
    return ConnectionFailed(f"can't connect to {where}{via}: {_plain(causes[-1])}", sent=False)


def exchange_failure(
    error: Exception, where: str, seconds: float | None, *, sent: bool = True, begun: bool = False
) -> ConnectionFailed:
    """Why a request over an open connection to `where` got no usable answer."""
    if isinstance(error, TimeoutError) and error.errno == errno.ETIMEDOUT:
        # Not our patience but the system's: keep-alive, or data that was never acknowledged.
        return ConnectionFailed(f"{where} is gone: its machine no longer answers", sent=sent, timeout=True)
    if isinstance(error, TimeoutError):
        return IdleTimeout(f"{where} was silent for {_seconds(seconds)}", sent=sent)
    if isinstance(error, TooLarge):
        return ConnectionFailed(f"{where}: {error}", sent=sent, broken=False)
    if isinstance(error, ProtocolError):
        return ConnectionFailed(f"{where} answered with something that is not HTTP/1.1: {error}", sent=sent)
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        return ConnectionFailed(_tls_sentence(error, where), sent=sent)
    when = "in the middle of its answer" if begun else "before it answered"
    return ConnectionFailed(f"{where} closed the connection {when}{_detail(error)}", sent=sent)


def _dial_sentence(cause: BaseException, where: str, seconds: float | None) -> str:
    match cause:
        case _ if isinstance(cause, _CLOSED):
            return f"can't connect to {where}: the peer closed the connection{_detail(cause)}"
        case ssl.SSLError():
            return _tls_sentence(cause, where)
        case socket.gaierror():
            return f"the host name of {where} can't be resolved"
        case TimeoutError():
            return f"{where} did not answer within {_seconds(seconds)} while connecting"
        case ConnectionRefusedError():
            return f"connection refused by {where}: is the API server running there?"
        case OSError() if "Tunnel connection failed" in str(cause):
            return f"the proxy refused to connect to {where}: {_plain(cause)}"
        case ProtocolError():
            return f"can't connect to {where}: what answered does not speak HTTP/1.1"
    return ""


def _tls_sentence(error: ssl.SSLError, where: str) -> str:
    reason = _plain(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {where} is not trusted: {error.verify_message or reason}"
    if "WRONG_VERSION_NUMBER" in reason or "wrong version number" in reason:
        return f"{where} does not speak TLS: is it a plain http:// address?"
    if "CERTIFICATE_REQUIRED" in reason or "BAD_CERTIFICATE" in reason or "UNKNOWN_CA" in reason:
        return f"{where} did not accept the client certificate: {reason}"
    return f"TLS with {where} failed: {reason}"


def _chain(error: BaseException) -> list[BaseException]:
    """The error and what lies behind it, innermost last."""
    chain = [error]
    while (inner := chain[-1].__cause__) is not None and inner not in chain:
        chain.append(inner)
    return chain


def _plain(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return re.sub(r"\s*\(_ssl\.c:\d+\)", "", text).strip() or type(error).__name__


def _detail(error: BaseException) -> str:
    return f" ({_plain(error)})" if isinstance(error, OSError) else ""


def _seconds(value: float | None) -> str:
    return "the time allowed" if value is None else f"{value:g} s"
