"""Credentials: headers, renewal, plugins, and reprs without secrets."""

import queue
import stat
import sys
import threading
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConfigError, ConnectionFailed
from clientgo.rest.auth import Renewing, TokenFile, credentials_for
from clientgo.rest.auth_plugins import Credential
from clientgo.rest.config import Config, Delegated
from clientgo.rest.limits import InFlightRequest
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock


@pytest.mark.parametrize(
    ("config", "header"),
    [
        pytest.param(Config("h"), "", id="none"),
        pytest.param(Config("h", token=" abc\n"), "Bearer abc", id="token"),
        pytest.param(Config("h", username="me", password="pä"), "Basic bWU6cMOk", id="basic"),
    ],
)
def test_static_credentials_become_their_header(config: Config, header: str) -> None:
    credentials = credentials_for(config)
    assert credentials.authorization() == header
    assert not credentials.rejected()


def test_token_with_a_line_break_is_rejected() -> None:
    with pytest.raises(ConfigError, match="expected one line"):
        credentials_for(Config("h", token="a\r\nX-Evil: 1"))


def test_token_file_precedes_the_token(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("file\n")
    config = Config("h", token="static", token_file=str(path))
    assert credentials_for(config).authorization() == "Bearer file"


@pytest.mark.feature("B-REST-08")
def test_token_file_is_read_again_each_minute_and_not_before(tmp_path: Path) -> None:
    clock, path = FakeClock(), tmp_path / "token"
    path.write_text("one\n")
    token = TokenFile(str(path), clock=clock)
    path.write_text("two\n")
    clock.step(49)
    assert token.authorization() == "Bearer one"
    clock.step(11)
    assert token.authorization() == "Bearer two"


@pytest.mark.feature("B-REST-08")
@pytest.mark.parametrize("content", [None, b"", b"\xff", "tökén".encode(), b"a\nb"])
def test_previous_token_is_used_while_the_file_is_invalid(tmp_path: Path, content: bytes | None) -> None:
    clock, path = FakeClock(), tmp_path / "token"
    path.write_text("one")
    token = TokenFile(str(path), clock=clock)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    clock.step(60)
    assert token.authorization() == "Bearer one"
    path.write_text("two")
    clock.step(60)
    assert token.authorization() == "Bearer two"


def test_rejected_token_is_read_again_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    token = TokenFile(str(path), clock=FakeClock())
    assert token.authorization() == "Bearer one"
    assert not token.rejected()
    path.write_text("two")
    assert token.rejected()
    assert token.authorization() == "Bearer two"


def test_request_whose_token_was_replaced_by_another_thread_may_be_sent_again(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    token = TokenFile(str(path), clock=FakeClock())
    token.authorization()
    path.write_text("two")
    with Group() as group:
        group.start(lambda: (token.authorization(), token.rejected()), name="other")
    assert token.rejected()


def test_unreadable_token_file_is_an_error_without_a_token(tmp_path: Path) -> None:
    missing = str(tmp_path / "token")
    with pytest.raises(ConfigError, match="token file"):
        TokenFile(missing)
    assert TokenFile(missing, initial="spare").authorization() == "Bearer spare"


class Scripted:
    """A source that hands out, or raises, one thing after the other."""

    def __init__(self, *steps: Credential | ConfigError) -> None:
        self.steps = list(steps)
        self.asked = 0

    def fetch(self) -> Credential:
        self.asked += 1
        step = self.steps.pop(0)
        if isinstance(step, ConfigError):
            raise step
        return step


def test_credential_is_fetched_once_and_again_shortly_before_expiry() -> None:
    clock = FakeClock(time=1000.0)
    source = Scripted(Credential("a", expires=1100.0), Credential("b"))
    credentials = Renewing(source, clock=clock)
    assert [credentials.authorization() for _ in range(3)] == ["a"] * 3
    clock.step(89)
    assert credentials.authorization() == "a"
    clock.step(1)
    assert [credentials.authorization() for _ in range(3)] == ["b"] * 3


def test_rejected_credential_is_replaced() -> None:
    source = Scripted(Credential("a"), Credential("b"))
    credentials = Renewing(source, clock=FakeClock())
    credentials.authorization()
    assert credentials.rejected()
    assert credentials.authorization() == "b"
    assert credentials.authorization() == "b"


def test_late_401_for_a_previous_credential_does_not_fetch_again() -> None:
    source = Scripted(Credential("a"), Credential("b"), Credential("c"))
    credentials = Renewing(source, clock=FakeClock())
    rejected: list[bool] = []
    sent, event = threading.Event(), threading.Event()

    def slow_request() -> None:
        credentials.authorization()
        sent.set()
        assert event.wait(5)
        rejected.append(credentials.rejected())

    with Group() as group:
        group.start(slow_request, name="slow")
        assert sent.wait(5)
        assert credentials.authorization() == "a"
        assert credentials.rejected()
        assert credentials.authorization() == "b"
        event.set()
    assert rejected == [True]  # there is another credential to send
    assert credentials.authorization() == "b"
    assert source.asked == 2


def test_first_failure_of_a_source_is_a_config_error_and_later_ones_are_transient() -> None:
    source = Scripted(ConfigError("no plugin"), Credential("a", expires=0.0), ConfigError("down"), Credential("b"))
    credentials = Renewing(source, clock=FakeClock(time=100.0))
    with pytest.raises(ConfigError, match="no plugin"):
        credentials.authorization()
    assert credentials.authorization() == "a"
    with pytest.raises(ConnectionFailed, match="down") as failed:
        credentials.authorization()
    assert not failed.value.sent
    assert credentials.authorization() == "b"


def test_many_threads_run_a_plugin_once() -> None:
    entered, leave = threading.Event(), threading.Event()

    class Slow:
        asked = 0

        def fetch(self) -> Credential:
            self.asked += 1
            entered.set()
            leave.wait(5)
            return Credential("a")

    source = Slow()
    credentials = Renewing(source, clock=FakeClock())
    with Group() as group:
        for number in range(4):
            group.start(credentials.authorization, name=f"asker-{number}")
        assert entered.wait(5)
        leave.set()
    assert source.asked == 1


class WatchedClock(FakeClock):
    """Notes each look at the time; a thread looks before it waits for another that fetches."""

    def __init__(self) -> None:
        super().__init__(time=100.0)
        self.looks = queue.SimpleQueue[str]()

    def time(self) -> float:
        self.looks.put("look")
        return super().time()


class Slow:
    """Source that returns its credential once it may."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.asked = 0

    def fetch(self) -> Credential:
        self.asked += 1
        self.release.wait(20)
        return Credential("Bearer slow")


def test_plugin_that_takes_longer_than_a_request_serves_the_next_one() -> None:
    source = Slow()
    credentials = Renewing(source)
    for _ in range(2):
        with InFlightRequest(0.01, SYSTEM_CLOCK) as request:
            request.start()
            with pytest.raises(ConnectionFailed, match="the credential was not fetched in time"):
                credentials.authorization()
    source.release.set()
    assert credentials.authorization() == "Bearer slow"
    assert source.asked == 1


def test_failure_of_a_plugin_is_raised_in_every_thread_that_waited_for_it() -> None:
    clock, entered, leave = WatchedClock(), threading.Event(), threading.Event()
    errors = queue.SimpleQueue[str]()

    class Failing(Scripted):
        def fetch(self) -> Credential:
            if self.asked:
                entered.set()
                assert leave.wait(5)
            return super().fetch()

    source = Failing(Credential("a", expires=0.0), ConfigError("no luck"))
    credentials = Renewing(source, clock=clock)
    credentials.authorization()

    def ask() -> None:
        with pytest.raises(ConnectionFailed, match="no luck") as failed:
            credentials.authorization()
        errors.put(str(failed.value))

    with Group() as group:
        group.start(ask, name="first")
        assert entered.wait(5)
        while not clock.looks.empty():
            clock.looks.get()
        for number in range(3):
            group.start(ask, name=f"waiting-{number}")
            clock.looks.get(timeout=5)
        leave.set()
    assert [errors.get(timeout=5) for _ in range(4)] == ["no luck"] * 4
    assert source.asked == 2


def plugin(folder: Path, code: str) -> Delegated:
    script = folder / "plugin.py"
    script.write_text(f"#!{sys.executable}\nimport json, os, sys\n{code}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    version = "client.authentication.k8s.io/v1"
    command = {"apiVersion": version, "command": str(script), "provideClusterInfo": True, "installHint": "get  it"}
    return Delegated(exec=command, context="dev")


PRINT = """
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
status = {"token": "for-" + info["spec"]["cluster"]["server"], "expirationTimestamp": "2033-05-18T03:33:20Z"}
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": status}))
"""


@pytest.mark.e2e
@pytest.mark.feature("B-REST-08")
def test_exec_plugin_is_run_and_its_expiry_kept(tmp_path: Path) -> None:
    clock = FakeClock(time=1_900_000_000.0)
    credentials = credentials_for(Config("https://h:1", delegated=plugin(tmp_path, PRINT)), clock)
    assert credentials.authorization() == "Bearer for-https://h:1"
    (tmp_path / "plugin.py").unlink()
    assert credentials.authorization() == "Bearer for-https://h:1"
    clock.set_time(2_000_000_000.0)
    with pytest.raises(ConnectionFailed, match=r"credential plugin '\S+plugin.py' of the context 'dev' failed"):
        credentials.authorization()


@pytest.mark.e2e
def test_credential_with_the_zero_time_of_go_does_not_expire(tmp_path: Path) -> None:
    code = PRINT.replace("2033-05-18T03:33:20Z", "0001-01-01T00:00:00Z")
    credentials = credentials_for(Config("https://h:1", delegated=plugin(tmp_path, code)), FakeClock())
    credentials.authorization()
    (tmp_path / "plugin.py").unlink()
    assert credentials.authorization() == "Bearer for-https://h:1"


@pytest.mark.e2e
def test_exec_plugin_may_return_a_certificate(tmp_path: Path) -> None:
    status = {"clientCertificateData": "CERT", "clientKeyData": "KEY"}
    version = "client.authentication.k8s.io/v1"
    code = f"print(json.dumps({{'apiVersion': '{version}', 'kind': 'ExecCredential', 'status': {status}}}))"
    credentials = credentials_for(Config("https://h:1", delegated=plugin(tmp_path, code)))
    certificate = credentials.certificate()
    assert certificate is not None
    assert (certificate.certificate, certificate.key) == ("CERT", "KEY")
    assert credentials.authorization() == ""


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param("sys.exit('no luck')", r"failed: .*no luck.* \(get it\)", id="fails"),
        pytest.param("print('hello')", "failed: invalid output: expected an ExecCredential as JSON", id="talks"),
        pytest.param(
            PRINT.replace('"token"', '"nothing"'), "neither a token nor a client certificate", id="gives nothing"
        ),
    ],
)
def test_plugin_without_credential_is_named_in_the_error(tmp_path: Path, code: str, words: str) -> None:
    credentials = credentials_for(Config("https://h:1", delegated=plugin(tmp_path, code)))
    with pytest.raises(ConfigError, match=words) as failed:
        credentials.authorization()
    assert "\n" not in str(failed.value)


def test_auth_provider_is_called_through_the_official_package() -> None:
    provider = {"name": "oidc", "config": {"id-token": "aGVhZA.e30.c2ln"}}
    credentials = credentials_for(Config("https://h:1", delegated=Delegated(auth_provider=provider, context="dev")))
    assert credentials.authorization() == "Bearer aGVhZA.e30.c2ln"


def test_unknown_auth_provider_is_named() -> None:
    delegated = Delegated(auth_provider={"name": "azure"}, context="dev")
    with pytest.raises(ConfigError, match="the auth provider 'azure' of the context 'dev' returned no token"):
        credentials_for(Config("https://h:1", delegated=delegated)).authorization()
