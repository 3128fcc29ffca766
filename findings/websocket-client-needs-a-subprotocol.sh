#!/usr/bin/env bash
# websocket-client 1.9.2 (PyPI)
# Behaviour: if the client offers subprotocols and the server selects none, create_connection raises "Invalid WebSocket
#   Header". websockets 17.4 and wsproto 1.3.2 connect, with the subprotocol None.
# Expected: a connection without subprotocol, which RFC 6455 allows, or an error that names the subprotocol.
# Matters: the error of exec and port-forward through a proxy that drops the header does not tell what is missing.
. "$(dirname "$0")/lib.sh"
pypi websocket-client==1.9.2 websockets==17.4

observe python - <<'CODE'
import base64
import hashlib
import socket
import threading

import websocket
from websockets.sync.client import connect


def serve(listener):
    for _ in range(2):
        connection, _ = listener.accept()
        request = connection.recv(65536).decode()
        key = next(line.split(": ")[1] for line in request.split("\r\n") if line.lower().startswith("sec-websocket-key"))
        digest = hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()
        head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        connection.sendall(f"{head}Sec-WebSocket-Accept: {base64.b64encode(digest).decode()}\r\n\r\n".encode())
        connections.append(connection)


connections = []
listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=serve, args=(listener,), daemon=True).start()
address, offered = f"ws://127.0.0.1:{listener.getsockname()[1]}/", ["v5.channel.k8s.io"]
print(connect(address, subprotocols=offered, close_timeout=0).subprotocol)
try:
    websocket.create_connection(address, subprotocols=offered, timeout=5)
except websocket.WebSocketException as error:
    print(error)
CODE
expect "None
Invalid WebSocket Header"
