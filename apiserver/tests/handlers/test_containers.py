"""Exec and attach in simulated containers, over WebSockets and by kubectl."""

import base64
import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3
import websocket

from apiserver.tests.inprocess import PODS
from clientgo.errors import BadRequest
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import Pod
from clientgo.meta.codec import from_dict
from clientgo.rest import RESTClient
from clientgo.rest.config import Config
from clientgo_apiserver.handlers.connect import LOGS
from clientgo_apiserver.handlers.containers import EXEC
from clientgo_apiserver.handlers.forwarding import PORTS
from clientgo_apiserver.server import ApiServer
from tests.e2e.kubectl import simulated_cluster

V5, V4, BASE64 = "v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"
RULES = """
- {command: fail, stdout: "out", stderr: "err", exitCode: 3}
- {command: lose, stdout: half, disconnect: true}
- {command: slow, delay: 3600}
"""
SUCCESS = {"metadata": {}, "status": "Success"}
END_OF_INPUT = b"\xff\x00"


def pod(name: str, rules: str = RULES, **annotations: str) -> Pod:
    metadata = {"name": name, "annotations": {EXEC: rules, LOGS: "log\n", **annotations}}
    return from_dict(
        Pod,
        {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]}},
    )


@contextmanager
def running() -> Iterator[ApiServer]:
    """Return a server with running pods, of which two have invalid annotations."""
    with ApiServer(ready_seconds=0.0) as server:
        clientset = Clientset(Config(server.url))
        pods = clientset.core_v1.pods("default")
        pods.create(pod("p"))
        pods.create(pod("invalid", rules="- {code: 3}"))
        pods.create(pod("other", **{PORTS: "{80: '10.0.0.1:80'}"}))
        with pods.watch() as events:
            changes, pending = iter(events), {"p", "invalid", "other"}
            while pending:
                event = next(changes)
                if event.object.status.phase == "Running":
                    pending.discard(event.object.metadata.name)
        clientset.close()
        yield server


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with running() as started:
        yield started


class Client:
    """Opens WebSockets, and closes them in the end."""

    def __init__(self, server: ApiServer) -> None:
        self._address = server.url.replace("http:", "ws:") + PODS
        self._opened: list[Any] = []

    def connect(self, path: str, *protocols: str) -> Any:
        connection: Any = websocket.WebSocket()
        self._opened.append(connection)
        subprotocols = [*(protocols or (V5,))]
        connection.connect(f"{self._address}/{path}", subprotocols=subprotocols, timeout=20, suppress_origin=True)
        return connection

    def close(self) -> None:
        for connection in self._opened:
            connection.shutdown()


@pytest.fixture
def client(server: ApiServer) -> Iterator[Client]:
    opened = Client(server)
    yield opened
    opened.close()


def received(connection: Any) -> dict[int, bytes]:
    """Return what each channel has sent when the server closes."""
    channels: dict[int, bytes] = {}
    while True:
        opcode, message = connection.recv_data()
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            return channels
        channels[message[0]] = channels.get(message[0], b"") + message[1:]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("path", "outputs", "code"),
    [
        ("exec?command=ls&command=-l&stdout=1&stderr=1", {1: b"ls -l\n"}, 0),
        ("exec?command=fail&command=me&stdout=1&stderr=1", {1: b"out", 2: b"err"}, 3),
        ("exec?command=fail&stderr=1", {2: b"err"}, 3),
        ("exec?command=fail&stdout=1&stderr=1&tty=1", {1: b"outerr"}, 3),
        ("attach?stdout=1", {1: b"log\n"}, 0),
    ],
    ids=["echo", "rule", "one stream", "terminal", "attach"],
)
def test_command_answers_with_its_rule(client: Client, path: str, outputs: dict[int, bytes], code: int) -> None:
    channels = received(client.connect(f"p/{path}"))
    status = json.loads(channels.pop(3))
    assert channels == outputs | ({1: b""} if 1 not in outputs and "stdout" in path else {})
    expected = "" if not code else str(code)
    assert status.get("details", {"causes": [{"message": ""}]})["causes"][0]["message"] == expected


@pytest.mark.integration
def test_input_is_copied_until_its_end(client: Client) -> None:
    connection = client.connect("p/exec?command=cat&stdin=1&stdout=1")
    data = bytes(range(256)) * 400
    connection.send_binary(b"\x00" + data)
    connection.send_binary(b"\x04" + json.dumps({"Width": 80, "Height": 25}).encode())
    connection.send_binary(END_OF_INPUT)
    assert received(connection) == {1: data, 3: json.dumps(SUCCESS, separators=(",", ":")).encode()}


@pytest.mark.integration
def test_base64_is_spoken_in_text(client: Client) -> None:
    connection = client.connect("p/exec?command=cat&stdin=1&stdout=1", "unknown", BASE64, V4)
    assert connection.subprotocol == BASE64
    assert connection.recv() == "1"
    connection.send("0" + base64.b64encode(b"\xff\x00").decode())
    assert connection.recv() == "1" + base64.b64encode(b"\xff\x00").decode()
    connection.close()


@pytest.mark.integration
def test_rule_can_lose_the_connection(client: Client) -> None:
    connection = client.connect("p/exec?command=lose&stdout=1")
    assert [connection.recv() for _ in range(2)] == [b"\x01", b"\x01half"]
    with pytest.raises((websocket.WebSocketConnectionClosedException, ConnectionResetError)):
        connection.recv()


@pytest.mark.integration
@pytest.mark.parametrize("message", [b"", b"x\xff"], ids=["empty", "no base64"])
def test_invalid_message_closes_the_connection(client: Client, message: bytes) -> None:
    connection = client.connect("p/exec?command=slow&stdout=1", BASE64)
    assert connection.recv() == "1"
    connection.send_binary(message)
    opcode, reason = connection.recv_data()
    assert (opcode, reason[:2]) == (websocket.ABNF.OPCODE_CLOSE, b"\x03\xea")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("path", "protocol", "code", "message"),
    [
        ("none/exec?command=a&stdout=1", V5, 404, 'pods "none" not found'),
        ("p/exec?stdout=1", V5, 400, "you must specify at least 1 command"),
        ("p/exec?command=a", V5, 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ("p/exec?command=a&stdout=1", "v9", 400, "unsupported protocols ['v9']: use one of v5.channel.k8s.io"),
        ("p/portforward", V4, 400, 'query parameter "ports" is required'),
        ("p/portforward?ports=80,70000", V4, 400,
         'cannot convert to []int32: strconv.ParseUint: parsing "70000": value out of range'),
        ("p/portforward?ports=80,", V4, 400,
         'cannot convert to []int32: strconv.ParseUint: parsing "": invalid syntax'),
        ("p/portforward?ports=0", V4, 400, 'unable to parse "0" as a port'),
        ("p/portforward?ports=80", V5, 400, "unsupported protocols"),
        ("p/portforward", "SPDY/3.1+portforward.k8s.io", 400, "protocol SPDY/3.1+portforward.k8s.io is not supported"),
        ("other/portforward?ports=80", V4, 400, "'10.0.0.1:80' is not a loopback address with a port"),
        ("invalid/exec?command=a&stdout=1", V5, 400, f"annotation {EXEC}: expected a YAML list of rules"),
    ],
)  # fmt: skip
def test_refused_connection_has_a_status(client: Client, path: str, protocol: str, code: int, message: str) -> None:
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        client.connect(path, protocol)
    assert refused.value.status_code == code
    assert message in json.loads(refused.value.resp_body or b"")["message"]


@pytest.mark.integration
@pytest.mark.parametrize("part", ["exec?command=a&stdout=1", "attach?stdout=1", "portforward"])
def test_client_that_needs_spdy_is_told_so(server: ApiServer, part: str) -> None:
    headers = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io"}
    with urllib3.PoolManager(retries=False, timeout=10) as http:
        response = http.request("POST", f"{server.url}{PODS}/p/{part}", headers=headers)
    assert response.status == 400
    assert response.json()["message"].startswith("protocol SPDY/3.1 is not supported: use a client with WebSockets")


@pytest.mark.integration
def test_request_without_upgrade_is_rejected(server: ApiServer) -> None:
    requests = RESTClient(Config(server.url))
    with pytest.raises(BadRequest, match="Upgrade request required"):
        requests.raw("GET", f"{PODS}/p/exec", query={"command": "a", "stdout": "1"})
    requests.close()


@pytest.mark.integration
def test_stop_of_the_server_ends_a_waiting_command() -> None:
    with running() as server:
        client = Client(server)
        connection = client.connect("p/exec?command=slow&stdout=1")
        assert connection.recv() == b"\x01"
        server.stop()
        assert connection.recv_data()[0] == websocket.ABNF.OPCODE_CLOSE
        client.close()


@pytest.mark.integration
def test_declared_port_returns_what_it_receives_and_others_refuse(client: Client) -> None:
    connection = client.connect("p/portforward?ports=80,81", V4)
    opened = [b"\x00P\x00", b"\x01P\x00", b"\x02Q\x00", b"\x03Q\x00"]
    refusal = b"\x03failed to connect to localhost:81: connect: connection refused"
    assert [connection.recv() for _ in range(5)] == [*opened, refusal]
    connection.send_binary(b"\x00" + bytes(10_000))
    assert connection.recv() == b"\x00" + bytes(10_000)


@pytest.mark.integration
def test_port_is_forwarded_to_a_server_of_this_machine(client: Client, server: ApiServer) -> None:
    address = server.url.removeprefix("http://")
    clientset = Clientset(Config(server.url))
    patch = {"metadata": {"annotations": {PORTS: f"{{81: '{address}'}}"}}}
    clientset.core_v1.pods("default").patch("p", patch)
    clientset.close()
    connection = client.connect("p/portforward?ports=81", V4)
    connection.send_binary(b"\x00GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    channels = received(connection)
    assert channels[0].startswith(b"Q\x00HTTP/1.1 200 OK")
    assert channels[1] == b"Q\x00"


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_runs_commands_and_attaches(tmp_path: Path) -> None:
    with simulated_cluster(tmp_path) as kubectl:
        kubectl.run("run", "p", "--image=i", f"--annotations={EXEC}=[{{command: fail, stderr: err, exitCode: 3}}]")
        kubectl.run("wait", "--for=condition=Ready", "pod/p", "--timeout=20s")
        assert kubectl.run("exec", "p", "--", "ls", "-l") == "ls -l\n"
        assert kubectl.run("exec", "-i", "p", "--", "cat", stdin={"a": "b"}) == '{"a": "b"}'
        assert kubectl.run("exec", "p", "--", "fail", code=3).startswith("err")
        assert kubectl.run("attach", "-i", "p", stdin={"a": "b"}).endswith('{"a": "b"}')


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_copies_files_and_folders_both_ways(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "empty").mkdir(parents=True)
    (folder / "data").write_bytes(bytes(range(256)) * 4096)
    (folder / "link").symlink_to("data")
    with simulated_cluster(tmp_path) as kubectl:
        kubectl.run("run", "p", "--image=i")
        kubectl.run("wait", "--for=condition=Ready", "pod/p", "--timeout=20s")
        kubectl.run("cp", str(folder), "p:/tmp")
        kubectl.run("cp", "p:/tmp/folder", str(tmp_path / "back"))
        kubectl.run("cp", str(folder / "data"), "p:/etc/data")
        kubectl.run("cp", "p:/etc/data", str(tmp_path / "data"))
        assert "No such file or directory" in kubectl.run("cp", "p:/none", str(tmp_path / "none"), code=2)
    data = (folder / "data").read_bytes()
    assert [(tmp_path / name).read_bytes() for name in ("back/data", "data")] == [data, data]
    assert (tmp_path / "back" / "empty").is_dir()


@pytest.mark.integration
def test_archive_ends_by_itself_without_an_end_of_the_input(client: Client) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("\u00e9" * 200)
        member.size = 1500
        archive.addfile(member, io.BytesIO(bytes(1500)))
    connection = client.connect("p/exec?command=tar&command=-xmf&command=-&command=-C&command=/x&stdin=1&stderr=1", V4)
    for start in range(0, len(packed.getvalue()), 700):
        connection.send_binary(b"\x00" + packed.getvalue()[start : start + 700])
    assert json.loads(received(connection)[3]) == SUCCESS
    copied = received(client.connect("p/exec?command=tar&command=cf&command=-&command=/x&stdout=1", V4))[1]
    with tarfile.open(fileobj=io.BytesIO(copied)) as archive:
        assert [(stored.name, stored.size) for stored in archive] == [("x/" + "\u00e9" * 200, 1500)]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "names", "errors"),
    [
        ("cf - -C /srv/data a", ["a"], ""),
        ("cf - -C /srv data/a", ["data/a"], ""),
        ("-cf - -C/srv/data .", ["./a", "./b/c"], ""),
        ("-c -f - --directory=/srv/data b", ["b/c"], ""),
        ("--create --file - --directory /srv -- data", ["data/a", "data/b/c"], ""),
        ("cf - -C /srv/data a -C b c", ["a", "c"], ""),
        ("cC /srv/data a", ["a"], ""),
        ("cf - /srv/data/a", ["srv/data/a"], ""),
        ("cf - -C /srv a", [], "tar: a: Cannot stat: No such file or directory\n"),
        ("cf - -C /srv/data a none", ["a"], "tar: none: Cannot stat: No such file or directory\n"),
        ("czf - -C /srv data", [], "tar: option -z is not simulated\n"),
    ],
)
def test_tar_archives_files_of_the_folder_in_its_options(
    client: Client, words: str, names: list[str], errors: str
) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("data/a", "data/b/c"):
            archive.addfile(tarfile.TarInfo(name))
    connection = client.connect("p/exec?command=tar&command=xf&command=-&command=-C&command=/srv&stdin=1&stderr=1", V4)
    connection.send_binary(b"\x00" + packed.getvalue())
    assert json.loads(received(connection)[3]) == SUCCESS
    query = "&".join(f"command={word}" for word in ("tar", *words.split()))
    channels = received(client.connect(f"p/exec?{query}&stdout=1&stderr=1", V4))
    with tarfile.open(fileobj=io.BytesIO(channels.get(1) or bytes(1024))) as archive:
        assert archive.getnames() == names
    assert channels.get(2, b"").decode() == errors
    assert (json.loads(channels[3]) == SUCCESS) is (not errors)


@pytest.mark.integration
def test_invalid_archive_is_an_error_of_tar(client: Client) -> None:
    connection = client.connect("p/exec?command=tar&command=xf&command=-&stdin=1&stderr=1", V4)
    connection.send_binary(b"\x00" + b"x" * 512)
    channels = received(connection)
    assert channels[2].startswith(b"tar: ")
    assert json.loads(channels[3])["details"]["causes"][0]["message"] == "2"
