"""Configuration: sources, merged kubeconfig files, in-cluster configuration, errors."""

import base64
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from clientgo.errors import ConfigError
from clientgo.rest.auth import credentials_for
from clientgo.rest.auth_plugins import Credential
from clientgo.rest.bounds import MAX_FILE_BYTES
from clientgo.rest.client import RESTClient
from clientgo.rest.config import ClientCertificate, Config, Delegated, Impersonation
from clientgo.rest.execplugin import ExecStatus
from clientgo.rest.kubeconfig import AuthInfo, parse
from clientgo.rest.loading import in_cluster_config, load_config
from clientgo_apiserver.http.messages import HTTPRequest

PLAIN = """
apiVersion: v1
kind: Config
current-context: {name}
clusters: [{{name: {name}, cluster: {{server: "https://{name}:6443"}}}}]
users: [{{name: {name}, user: {{token: "{name}-token"}}}}]
contexts: [{{name: {name}, context: {{cluster: {name}, user: {name}, namespace: "{name}-ns"}}}}]
"""


class Home:
    """A home directory, a service account's folder and an environment of a test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ: dict[str, str] = {"HOME": str(folder)}
        self.service_account = folder / "sa"

    def write(self, path: str, text: str) -> str:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return str(file)

    def be_a_pod(self) -> None:
        self.environ |= {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
        self.write("sa/token", "pod-token")
        self.write("sa/ca.crt", "CA")
        self.write("sa/namespace", "pod-ns\n")

    def load(self, **options: str) -> Config:
        return load_config(
            kubeconfig=options.get("kubeconfig"), master=options.get("master"), context=options.get("context"),
            hint=options.get("hint", ""), environ=self.environ, service_account=str(self.service_account),
        )  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.feature("B-CFG-08", "A-28")
def test_configuration_sources_are_tried_in_order(home: Home) -> None:
    explicit, listed = home.write("explicit", PLAIN.format(name="a")), home.write("listed", PLAIN.format(name="b"))
    home.write(".kube/config", PLAIN.format(name="d"))
    assert home.load().host == "https://d:6443"
    home.be_a_pod()
    assert home.load().host == "https://10.0.0.1:443"
    home.environ["KUBECONFIG"] = listed
    assert home.load().host == "https://b:6443"
    config = home.load(kubeconfig=explicit)
    assert (config.host, config.token, config.namespace) == ("https://a:6443", "a-token", "a-ns")


@pytest.mark.feature("B-CFG-03")
def test_missing_configuration_error_lists_the_options_and_those_of_the_program(home: Home) -> None:
    result = "no Kubernetes configuration found: set KUBECONFIG or create ~/.kube/config"
    with pytest.raises(ConfigError, match=f"^{result}$"):
        home.load()
    with pytest.raises(ConfigError, match=f"^{result}, or run: make cluster$"):
        home.load(hint="run: make cluster")


@pytest.mark.feature("B-CFG-05")
def test_empty_file_in_the_home_directory_is_ignored(home: Home) -> None:
    home.write(".kube/config", "apiVersion: v1\nclusters: null\ncontexts: []\n")
    with pytest.raises(ConfigError, match="no Kubernetes configuration found"):
        home.load()


CREDENTIALS = ["token: t", "tokenFile: /dev/null", "username: u, password: p", "exec: {command: never, apiVersion: v1}"]


@pytest.mark.parametrize("user", CREDENTIALS)
@pytest.mark.parametrize("master", ["", "http://10.0.0.1:8080", "10.0.0.1:8080"])
def test_credentials_of_a_kubeconfig_are_not_sent_to_a_plain_http_server(
    home: Home, caplog: pytest.LogCaptureFixture, user: str, master: str
) -> None:
    text = PLAIN.format(name="a").replace('token: "a-token"', f"{user}, as: jane")
    path = home.write("k", text if master else text.replace("https:", "http:"))
    config = home.load(kubeconfig=path, master=master)
    assert credentials_for(config).authorization() == ""
    assert config.impersonate.user == "jane"  # as in kubectl: it is no secret
    assert [record.msg for record in caplog.records] == ["no credentials are sent, because the server has no TLS"]
    encrypted = home.load(kubeconfig=path, master="https://a:6443")
    assert (encrypted.token or encrypted.token_file or encrypted.password or encrypted.delegated) not in ("", None)


def test_token_of_a_pod_is_not_sent_to_a_plain_http_server(home: Home) -> None:
    home.be_a_pod()
    assert home.load(master="http://10.0.0.1").token_file == ""
    assert home.load().token_file


@pytest.mark.parametrize("name", ["", "user: gone,", "user: null,"], ids=["no user", "not defined", "null"])
def test_context_without_a_user_has_no_credentials_as_in_kubectl(home: Home, name: str) -> None:
    config = home.load(kubeconfig=home.write("k", PLAIN.format(name="a").replace("user: a,", name)))
    assert (config.host, config.token, config.namespace) == ("https://a:6443", "", "a-ns")


NULLS = """
apiVersion: null
kind: null
preferences: null
extensions: null
current-context: a
clusters: [null, {name: null, cluster: null}, {name: a, cluster: {server: "https://a", extensions: [null, {name: null},
  {name: client.authentication.k8s.io/exec, extension: {kept: null}}], proxy-url: null,
  insecure-skip-tls-verify: null}}]
users: [null, {name: a, user: {token: null, tokenFile: null, as: null, as-groups: [null], as-user-extra: {x: null},
  auth-provider: null, exec: {apiVersion: v1, command: plugin, args: null, env: [null, {name: A, value: null}],
  installHint: null, provideClusterInfo: null, interactiveMode: null}}}]
contexts: [null, {name: b, context: null}, {name: a, context: {cluster: a, user: a, namespace: null}}]
"""


def test_null_reads_as_absent_everywhere_in_a_kubeconfig(home: Home) -> None:
    config = home.load(kubeconfig=home.write("k", NULLS))
    assert (config.host, config.namespace, config.token, config.insecure) == ("https://a", "default", "", False)
    assert config.delegated is not None
    assert config.delegated.exec["env"] == [{"name": "A"}]
    # An extension is the plugin's own: it gets the null.
    assert config.delegated.extensions[-1]["extension"] == {"kept": None}


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(lambda home, huge: home.load(kubeconfig=huge), id="kubeconfig"),
        pytest.param(lambda _, huge: credentials_for(Config("https://a", token_file=huge)), id="token"),
        pytest.param(lambda _, huge: RESTClient(Config("https://a", ca_file=huge), environ={}), id="certificate"),
    ],
)
def test_file_of_an_enormous_size_is_a_configuration_error(home: Home, load: Callable[[Home, str], object]) -> None:
    huge = home.folder / "huge"
    with huge.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(ConfigError, match=f"file is larger than {MAX_FILE_BYTES} bytes"):
        load(home, str(huge))


@pytest.mark.feature("B-CFG-02", "A-28")
def test_master_overrides_the_address_and_the_server_name(home: Home) -> None:
    text = PLAIN.format(name="a").replace('6443"}', '6443", tls-server-name: a}')
    config = home.load(kubeconfig=home.write("k", text), master="https://other:1")
    assert (config.host, config.token, config.server_name) == ("https://other:1", "a-token", "")


@pytest.mark.feature("B-CFG-03")
def test_master_without_configuration_has_no_credentials(home: Home) -> None:
    assert home.load(master="http://127.0.0.1:8080") == Config("http://127.0.0.1:8080")


def test_context_is_selected_by_name(home: Home) -> None:
    home.environ["KUBECONFIG"] = os.pathsep.join(
        [home.write("one", PLAIN.format(name="a")), home.write("two", PLAIN.format(name="b"))]
    )
    assert home.load().host == "https://a:6443"
    assert home.load(context="b").token == "b-token"
    home.be_a_pod()
    with pytest.raises(ConfigError, match=r"context 'c' not found in the kubeconfig .*one and .*two \(it has a, b\)"):
        home.load(context="c")


@pytest.mark.feature("B-CFG-01")
def test_first_file_that_defines_an_entry_takes_precedence(home: Home) -> None:
    first = "users: [{name: u, user: {token: first}}]\ncurrent-context: c\n"
    second = """
current-context: other
users: [{name: u, user: {token: second, as: root}}]
clusters: [{name: k, cluster: {server: "https://k"}}]
contexts: [{name: c, context: {cluster: k, user: u}}]
"""
    home.environ["KUBECONFIG"] = os.pathsep.join(
        [home.write("one", first), str(home.folder / "missing"), "", home.write("two", second)]
    )
    config = home.load()
    assert (config.host, config.token, config.impersonate) == ("https://k", "first", Impersonation())


@pytest.mark.feature("B-CFG-01")
def test_home_directory_is_not_used_if_all_listed_files_are_missing(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    home.write(".kube/config", PLAIN.format(name="d"))
    home.environ["KUBECONFIG"] = str(home.folder / "missing")
    with pytest.raises(ConfigError, match="no Kubernetes configuration found"):
        home.load()
    assert [record.msg for record in caplog.records] == ["none of the files in KUBECONFIG exists"]
    home.be_a_pod()
    assert home.load().host == "https://10.0.0.1:443"


FULL = """
current-context: c
clusters:
- name: k
  cluster:
    server: https://k:6443
    certificate-authority: pki/ca.pem
    tls-server-name: api
    proxy-url: http://p:1
    disable-compression: true
users:
- name: u
  user:
    client-certificate: pki/u.pem
    client-key-data: {key}
    tokenFile: pki/token
    as: jane
    as-uid: "7"
    as-groups: [dev, ops]
    as-user-extra: {{reason: [test]}}
contexts:
- name: c
  context: {{cluster: k, user: u}}
"""


@pytest.mark.feature("B-CFG-07")
def test_every_field_is_read_with_paths_relative_to_the_file(home: Home) -> None:
    for name in ("ca.pem", "u.pem", "token"):
        home.write(f"sub/pki/{name}", "x")
    path = home.write("sub/config", FULL.format(key=base64.b64encode(b"KEY").decode()))
    config = home.load(kubeconfig=path)
    pki = home.folder / "sub" / "pki"
    assert config == Config(
        "https://k:6443",
        ca_file=str(pki / "ca.pem"),
        server_name="api",
        proxy_url="http://p:1",
        disable_compression=True,
        client_certificate_file=str(pki / "u.pem"),
        client_key_data="KEY",
        token_file=str(pki / "token"),
        impersonate=Impersonation("jane", "7", ("dev", "ops"), {"reason": ("test",)}),
        namespace="default",
    )


def test_plugin_is_kept_and_not_run(home: Home) -> None:
    text = PLAIN.format(name="a").replace('{token: "a-token"}', "{exec: {command: nowhere, apiVersion: v1}}")
    config = home.load(kubeconfig=home.write("k", text))
    assert isinstance(config.delegated, Delegated)
    assert config.delegated.exec["command"] == "nowhere"


@pytest.mark.parametrize("command", ["./plugin", "bin/plugin", "/bin/plugin"])
def test_path_of_a_plugin_is_relative_to_its_kubeconfig(home: Home, command: str) -> None:
    text = PLAIN.format(name="a").replace('{token: "a-token"}', f"{{exec: {{command: {command}, apiVersion: v1}}}}")
    config = home.load(kubeconfig=home.write("sub/k", text))
    assert config.delegated is not None
    assert config.delegated.exec["command"] == str(home.folder / "sub" / command)


@pytest.mark.parametrize(
    "user", ["token: t", "username: u, password: p", "client-certificate-data: QQ==, client-key-data: QQ=="]
)
def test_static_credentials_take_precedence_over_a_plugin(home: Home, user: str) -> None:
    exec_too = f"{{{user}, exec: {{command: nowhere, apiVersion: v1}}}}"
    text = PLAIN.format(name="a").replace('{token: "a-token"}', exec_too)
    assert home.load(kubeconfig=home.write("k", text)).delegated is None


def edit(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


@pytest.mark.feature("B-CFG-06")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(lambda _: "a: b: c", r"invalid YAML in .* in line 1$", id="no YAML"),
        pytest.param(lambda _: "just text", r"invalid kubeconfig .*: Expected `object`", id="text"),
        pytest.param(edit('token: "a-token"', "token: 5"), r"invalid .*: Expected `str`, got `int`.*token", id="type"),
        pytest.param(edit("current-context: a", ""), r"no current context .*use-context NAME` \(it has a\)", id="none"),
        pytest.param(edit("current-context: a", "current-context: b"), r"context 'b' not found", id="unknown"),
        pytest.param(edit("cluster: a,", "cluster: b,"), r"names the cluster 'b', which does not exist", id="cluster"),
        pytest.param(edit('server: "https://a:6443"', ""), r"the cluster 'a' in .* has no server", id="server"),
        pytest.param(
            edit('6443"', '6443", certificate-authority: nope'), r"the file .*nope, named .* No such", id="CA"
        ),
        pytest.param(edit('6443"', '6443", certificate-authority-data: "AAA"'), r"expected PEM text", id="base64"),
        pytest.param(edit('6443"', '6443", certificate-authority-data: "!!"'), r"expected PEM text", id="no base64"),
        pytest.param(edit('6443"', '6443", certificate-authority-data: QQ==, insecure-skip-tls-verify: true'),
                     r"both a certificate authority and", id="insecure"),
        pytest.param(edit("token:", "client-key: x, client-key-data: QQ==, token:"),
                     r"has both client-key and client-key-data", id="2"),
        pytest.param(edit("token:", "client-certificate: x, token:"), r"client certificate without its key", id="key"),
        pytest.param(edit("token:", "username: x, token:"), r"a token and a password", id="two ways"),
        pytest.param(edit("token:", "as-groups: [g], token:"), r"impersonates groups without a user", id="groups"),
        pytest.param(edit("token:", "exec: {apiVersion: v1}, token:"), r"plugin without a command", id="command"),
        pytest.param(edit("token:", "exec: {command: x}, token:"), r"plugin without an apiVersion", id="version"),
        pytest.param(edit("token:", "exec: {command: x, apiVersion: v1, env: [{value: b}]}, token:"),
                     r"an env entry without a name", id="variable"),
        pytest.param(edit("token:", "exec: {command: x, apiVersion: v1}, auth-provider: {name: oidc}, token:"),
                     r"an exec plugin and an auth-provider", id="provider"),
        pytest.param(edit("users: [", "users: [{name: a}, "), r"has the user 'a' twice", id="twice"),
    ],
)  # fmt: skip
def test_invalid_kubeconfig_error_names_the_file(home: Home, change: Callable[[str], str], words: str) -> None:
    path = home.write("config", change(PLAIN.format(name="a")))
    with pytest.raises(ConfigError, match=words) as failed:
        home.load(kubeconfig=path)
    assert path in str(failed.value)
    assert "\n" not in str(failed.value)


@pytest.mark.feature("B-CFG-01")
def test_missing_or_unreadable_explicit_file_is_an_error(home: Home) -> None:
    with pytest.raises(ConfigError, match="nowhere does not exist"):
        home.load(kubeconfig="nowhere")
    with pytest.raises(ConfigError, match=r"cannot read the kubeconfig .*: Is a directory"):
        home.load(kubeconfig=str(home.folder))


@pytest.mark.feature("B-REST-10")
def test_pod_uses_its_service_account(home: Home) -> None:
    home.be_a_pod()
    config = in_cluster_config(environ=home.environ, service_account=str(home.service_account))
    assert config.host == "https://10.0.0.1:443"
    assert config.token_file == str(home.service_account / "token")
    assert config.ca_file == str(home.service_account / "ca.crt")
    assert config.namespace == "pod-ns"


@pytest.mark.feature("B-CFG-04")
def test_pod_namespace_from_environment_and_ipv6_address(home: Home) -> None:
    home.be_a_pod()
    home.environ |= {"POD_NAMESPACE": "told", "KUBERNETES_SERVICE_HOST": "fd00::1"}
    config = in_cluster_config(environ=home.environ, service_account=str(home.service_account))
    assert (config.host, config.namespace) == ("https://[fd00::1]:443", "told")


@pytest.mark.feature("B-REST-10")
@pytest.mark.parametrize("environ", [{}, {"KUBERNETES_SERVICE_HOST": "h"}], ids=["nothing", "half"])
def test_error_outside_of_a_pod_is_client_gos(environ: Mapping[str, str]) -> None:
    with pytest.raises(ConfigError, match="unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and"):
        in_cluster_config(environ=environ)


def test_pod_without_a_token_is_an_error(home: Home) -> None:
    home.be_a_pod()
    (home.service_account / "token").unlink()
    with pytest.raises(ConfigError, match="cannot read the service account's token"):
        in_cluster_config(environ=home.environ, service_account=str(home.service_account))


def test_repr_of_a_configuration_shows_no_secret() -> None:
    delegated = Delegated(exec={"command": "x", "env": [{"name": "A", "value": "s3cret"}]})
    config = Config(
        "https://h", token="s3cret", password="s3cret", username="me", client_key_data="s3cret",
        client_certificate_data="c", proxy_url="http://me:s3cret@p", delegated=delegated,
    )  # fmt: skip
    assert "s3cret" not in repr(config)
    assert "a token" in repr(config)
    assert "s3cret" not in repr(delegated)


SECRETS = [
    Credential("Bearer s3cret", ClientCertificate("c", "s3cret")),
    ExecStatus(token="s3cret", client_key_data="s3cret"),
    HTTPRequest("GET", "/", headers={"authorization": "Bearer s3cret"}),
    parse(
        """
clusters: [{name: k, cluster: {server: "https://h", proxy-url: "http://me:s3cret@p"}}]
users:
- name: u
  user: {token: s3cret, password: s3cret, client-key-data: s3cret, exec: {env: [{name: A, value: s3cret}]},
         auth-provider: {config: {id-token: s3cret}}}
""",
        "config",
    ),
]


@pytest.mark.parametrize("value", SECRETS, ids=[type(value).__name__ for value in SECRETS])
def test_repr_of_a_value_that_holds_a_secret_does_not_show_it(value: object) -> None:
    assert "s3cret" not in repr(value)


def test_repr_of_a_user_names_the_kinds_of_its_credentials() -> None:
    assert repr(AuthInfo(token="s3cret", exec={"command": "x"})) == "<AuthInfo with token, exec>"
    assert repr(AuthInfo()) == "<AuthInfo with no credentials>"
    assert repr(Credential("Bearer s3cret")) == "<Credential with a token>"


@pytest.mark.parametrize(
    "options",
    [{"qps": 1.0, "burst": 0}, {"timeout": 0.0}, {"max_response_bytes": -1}],
    ids=["burst", "timeout", "size"],
)
def test_invalid_configuration_is_rejected(options: Mapping[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Config("h", **options)  # type: ignore[arg-type]


@pytest.mark.e2e
def test_static_credentials_do_not_load_the_official_package(home: Home) -> None:
    path = home.write("k", PLAIN.format(name="a"))
    code = f"""
import sys
from clientgo.rest import RESTClient, load_config
RESTClient(load_config(kubeconfig={path!r}))
sys.exit("loaded" if "kubernetes" in sys.modules else 0)
"""
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False, timeout=60).returncode
        == 0
    )
