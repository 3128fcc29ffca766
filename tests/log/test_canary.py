"""Canary credentials in every place that may hold one: none appears in the log at its highest verbosity.

Each test makes the library meet the canary for real (a client, an informer, a plugin, a broadcaster) and shows by
another word of the same line that the line was written.
"""

import base64
import io
import json
import logging
import sys
import threading
from pathlib import Path

import pytest

from clientgo import log
from clientgo.cache import SharedInformer
from clientgo.errors import ClientGoError
from clientgo.kubernetes.clients.core_v1 import CoreV1
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.meta import ObjectMeta
from clientgo.meta.yamlio import to_yaml
from clientgo.record import EventBroadcaster
from clientgo.rest import Config, RESTClient, load_config
from clientgo.rest.config import Delegated
from clientgo.stop.lifecycle import Group
from clientgo.testing.transport import FakeStream, FakeTransport, refusal, refused, reply

CANARY = "tweety+canary/yellow=bird"
"""Of no shape that a pattern knows, and with marks that are written in other ways in URLs and in base64."""

SECONDS = 10.0
WARNING = {"Warning": f'299 - "the token {CANARY} is about to expire"'}
LIST = {"kind": "SecretList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": []}
log_of_the_test = logging.getLogger("other.library")


class Output(io.StringIO):
    """The logged text."""

    def must_show(self, word: str) -> None:
        """The word, and no canary in any disguise."""
        text = self.getvalue()
        assert word in text
        for disguise in (CANARY, "tweety", "yellow=bird", base64.b64encode(CANARY.encode()).decode()[:24], BASIC[:24]):
            assert disguise not in text


BASIC = base64.b64encode(f"admin:{CANARY}".encode()).decode()


@pytest.fixture(params=log.FORMATS)
def output(registering: None, request: pytest.FixtureRequest) -> Output:
    log.setup(level="debug", style=request.param, stream=(stream := Output()))
    return stream


def kubeconfig(folder: Path, **user: str) -> Config:
    document = {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {"server": "https://fake:1"}}],
        "users": [{"name": "it", "user": user}],
    }
    (path := folder / "kubeconfig").write_text(to_yaml(document))
    return load_config(kubeconfig=path)


def configs(folder: Path) -> dict[str, Config]:
    (token_file := folder / "token").write_text(f"{CANARY}\n")
    return {
        "token": kubeconfig(folder, token=CANARY),
        "token file": kubeconfig(folder, tokenFile=str(token_file)),
        "password": kubeconfig(folder, username="admin", password=CANARY),
        "plugin": Config("https://fake:1", delegated=plugin(folder, {"token": CANARY})),
    }


def plugin(folder: Path, status: object, *, instead: str = "") -> Delegated:
    version = "client.authentication.k8s.io/v1"
    messages = instead or json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})
    script = folder / "plugin.py"
    script.write_text(f"#!{sys.executable}\nprint({messages!r})\n")
    script.chmod(0o700)
    return Delegated(exec={"apiVersion": version, "command": str(script)}, context="dev")


ECHOES = {
    "in the message": refusal(403, "Forbidden", f"the token {CANARY} may not do this; said {BASIC}"),
    "in a body that is not a Status": reply(f"<h1>{CANARY} unknown</h1>".encode(), status=502, headers=WARNING),
    "as JSON in JSON": refusal(400, "BadRequest", json.dumps({"header": CANARY, "basic": BASIC})),
    "in a warning": reply({"kind": "SecretList", "items": []}, headers=WARNING),
    "in an answer that is not JSON": reply(f"{{'{CANARY}'".encode()),
}


@pytest.mark.e2e
@pytest.mark.parametrize("kind", ["token", "token file", "password", "plugin"])
@pytest.mark.parametrize("echo", ECHOES)
def test_credential_that_a_server_echoes(output: Output, tmp_path: Path, kind: str, echo: str) -> None:
    config = configs(tmp_path)[kind]
    client = RESTClient(config, transport=FakeTransport(*[ECHOES[echo]] * 5), max_retries=1)
    log_of_the_test.info("made", extra={"config": config, "client": client})
    try:
        CoreV1(client).secrets("default").list()
    except (ClientGoError, ValueError) as error:
        log_of_the_test.exception("failed: %s", error, extra={"err": error, "repr": repr(error)})
    output.must_show("made")
    assert any(word in output.getvalue() for word in ("failed: ", "API server warning"))


@pytest.mark.e2e
@pytest.mark.parametrize(
    "status",
    [
        pytest.param(f"no JSON but token: {CANARY}", id="garbage"),
        pytest.param(json.dumps({"apiVersion": "other", "status": {"token": CANARY}}), id="another version"),
        pytest.param(json.dumps({"kind": "ExecCredential", "token": CANARY}), id="no status"),
    ],
)
def test_plugin_s_output_that_makes_no_sense(output: Output, tmp_path: Path, status: str) -> None:
    client = RESTClient(
        Config("https://fake:1", delegated=plugin(tmp_path, {}, instead=status)), transport=FakeTransport()
    )
    with pytest.raises(ClientGoError) as failed:
        client.raw("GET", "/version")
    log_of_the_test.error("failed", exc_info=failed.value)
    output.must_show(f"the credential plugin '{tmp_path}/plugin.py'")


@pytest.mark.parametrize("password", [CANARY.replace("/", "%2F"), "tweety"])
def test_the_password_of_a_proxy(output: Output, password: str) -> None:
    for proxy in (f"http://user:{password}@127.0.0.1:1", f"socks9://user:{password}@127.0.0.1:1"):
        try:
            client = RESTClient(Config("https://192.0.2.1", proxy_url=proxy, timeout=1), max_retries=0, environ={})
            client.raw("GET", "/version")
        except ClientGoError as error:
            log_of_the_test.exception("failed", extra={"err": error, "proxy": proxy})
    output.must_show("the proxy")


def run_informer(client: RESTClient, until: threading.Event) -> SharedInformer[Secret]:
    """One list and one watch of Secrets, till the watch is read from."""

    def break_down(secret: Secret) -> None:
        raise RuntimeError(f"can't keep {secret} of {CANARY}: {secret.data}")

    informer: SharedInformer[Secret] = SharedInformer(CoreV1(client).secrets(), watch_list=False)
    informer.add_event_handler(on_add=break_down)
    stop = threading.Event()
    with Group(stop=stop) as group:
        group.start(informer.run, stop, name="informer")
        assert until.wait(SECONDS)
    return informer


def test_secrets_that_can_not_be_decoded_and_handlers_that_raise(output: Output, tmp_path: Path) -> None:
    data = {"k": base64.b64encode(CANARY.encode()).decode()}
    good = {"metadata": {"name": "good", "namespace": "d"}, "data": data}
    bad = {"metadata": {"name": "bad", "namespace": "d"}, "data": {**data, "n": 1}, "type": CANARY, "immutable": CANARY}
    frames = [
        json.dumps({"type": "MODIFIED", "object": bad | {"kind": "Secret"}}).encode() + b"\n",
        json.dumps({"type": CANARY, "object": good}).encode() + b"\n",
        f'{{"type": "ADDED", "object": {CANARY}\n'.encode(),
    ]
    ended = FakeStream(*frames, end=True)
    quiet = FakeStream()
    transport = FakeTransport()
    transport.on(
        "GET", "/api/v1/secrets", reply(LIST | {"items": [good, bad]}, headers=WARNING), ended,
        refusal(410, "Expired", f"{CANARY} is too old"), reply(LIST), quiet, always=refused(),
    )  # fmt: skip
    informer = run_informer(RESTClient(configs(tmp_path)["token"], transport=transport), quiet.opened)
    assert informer.undecodable.total >= 1
    output.must_show("it cannot be decoded")
    output.must_show("handler raised")
    output.must_show("API server warning")


def test_the_message_of_an_event(output: Output, tmp_path: Path) -> None:
    client = RESTClient(configs(tmp_path)["token"], transport=FakeTransport())
    broadcaster = EventBroadcaster()
    broadcaster.start_logging()
    recorder = broadcaster.new_recorder(component="test")
    about = ConfigMap(metadata=ObjectMeta(name="x", namespace="d"))
    recorder.event(about, "Warning", "Failed", f"pull by {CANARY} and http://user:tweety@registry/ failed")
    broadcaster.shutdown()
    client.close()
    output.must_show("Event occurred")


def test_fields_of_a_block_and_arguments_that_do_not_fit(output: Output, tmp_path: Path) -> None:
    # Without pytest's own handler, which would fail the test for the arguments.
    logging.getLogger().handlers[1:] = []
    RESTClient(configs(tmp_path)["token"], transport=FakeTransport()).close()
    with log.context(given=CANARY, token="tweety", header=("Authorization", f"Bearer {CANARY}")):
        log_of_the_test.info("within", extra={"nested": {"list": [CANARY], "password": "tweety"}})
        log_of_the_test.info("%d of these", CANARY)
    output.must_show("within")
    output.must_show("of these")
