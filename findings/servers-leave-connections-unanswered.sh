#!/usr/bin/env bash
# gunicorn 27.0.1, hypercorn 0.18.0 and uvicorn 0.54.0 (PyPI)
# Behaviour: after SIGTERM, while a request is still being answered, gunicorn, hypercorn and uvicorn with --workers keep
#   the listening socket open without accepting: a new connection is established, waits until the process ends, and gets
#   no response. uvicorn without --workers refuses it at once.
# Expected: refused, or answered.
# Matters: Services send new connections for some seconds after SIGTERM. A refused one fails at once, and the
#   caller can try again; one that waits uses up its timeout, such as the API server's for a webhook.
. "$(dirname "$0")/lib.sh"
pypi gunicorn==27.0.1 hypercorn==0.18.0 uvicorn==0.54.0

cat >applications.py <<'CODE'
import asyncio
import time


def synchronous(environ, start_response):
    start_response("200 OK", [("Content-Length", "4")])
    if environ["PATH_INFO"] == "/slow":
        time.sleep(4)
    return [b"done"]


async def asynchronous(scope, receive, send):
    while scope["type"] == "lifespan":
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
    if scope["path"] == "/slow":
        await asyncio.sleep(4)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
    await send({"type": "http.response.body", "body": b"done"})
CODE

observe python - <<'CODE'
import os
import signal
import socket
import subprocess
import time


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=15)


def ask(connection, path):
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())


def ready(port):
    for _ in range(200):
        try:
            with connect(port) as connection:
                ask(connection, "/")
                if connection.recv(9):
                    return
        except OSError:
            pass
        time.sleep(0.1)


for command in (
    "gunicorn -b 127.0.0.1:{} applications:synchronous",
    "hypercorn -b 127.0.0.1:{} applications:asynchronous",
    "uvicorn --workers 2 --port {} applications:asynchronous",
    "uvicorn --port {} applications:asynchronous",
):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "PYTHONPATH": "."}
    with subprocess.Popen(command.format(port).split(), env=environment, **quiet) as process:
        ready(port)
        with connect(port) as slow:
            ask(slow, "/slow")
            time.sleep(1)
            process.send_signal(signal.SIGTERM)
            time.sleep(1)
            try:
                with connect(port) as late:
                    answer = "connected,"
                    start = time.monotonic()
                    ask(late, "/")
                    answer += " response" if late.recv(9) else " closed"
            except ConnectionResetError:
                answer += " reset"
            except ConnectionRefusedError:
                answer, start = "refused", time.monotonic()
            answer += " after a wait" if time.monotonic() - start > 0.5 else " at once"
            print(" ".join(command.split()[:2]).removesuffix("-b").removesuffix("--port").strip(), answer)
CODE
expect "gunicorn connected, reset after a wait
hypercorn connected, reset after a wait
uvicorn --workers connected, reset after a wait
uvicorn refused at once"
