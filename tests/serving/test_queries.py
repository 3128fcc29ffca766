"""Metrics of a running controller, scraped over HTTPS with a token: valid, bounded, and consistent with all queries.

The alert rules and the dashboard of artifacts/prometheus are checked against this scrape: a query for a missing metric,
label or value would silently return nothing.
"""

import json
import re
import signal
import ssl
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from clientgo.envtest import BundledServer, Environment
from clientgo.meta import ObjectMeta
from clientgo.pki import CertificateAuthority
from clientgo.testing.eventually import eventually
from controller.api.v1alpha1 import Foo, FooSpec
from generated.clientset import Clientset
from tests.e2e.program import ROOT, Program
from tests.serving.promlint import problems
from tests.serving.promql import grouped, parsed, selectors

PROMETHEUS = ROOT / "artifacts" / "prometheus"
RULE = yaml.safe_load((PROMETHEUS / "prometheus_rule.yaml").read_text())
ALERTS: list[dict[str, Any]] = [rule for group in RULE["spec"]["groups"] for rule in group["rules"]]
DASHBOARD: dict[str, Any] = json.loads((PROMETHEUS / "grafana-dashboard.json").read_text())
PANELS: list[dict[str, Any]] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = {f"alert {alert['alert']}": alert["expr"] for alert in ALERTS} | {
    f"panel {panel['title']} {target['refId']}": target["expr"] for panel in PANELS for target in panel["targets"]
}
VARIABLES = {variable["name"]: variable["query"] for variable in DASHBOARD["templating"]["list"]}

TARGET = {"job", "namespace", "pod"}
"""Labels Prometheus adds for the ServiceMonitor: they are on every series, and on none of a scrape."""


@dataclass(frozen=True)
class Scrapes:
    """Scrapes with a few Foos and with many."""

    few: str
    many: str


@pytest.fixture(scope="module")
def scrapes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrapes]:
    folder, authority = tmp_path_factory.mktemp("metrics"), CertificateAuthority.create("test-ca")
    (folder / "tls.crt").write_bytes((pair := authority.server(["127.0.0.1"]))[0])
    (folder / "tls.key").write_bytes(pair[1])
    kubeconfig = folder / "kubeconfig"
    crds = [ROOT / "artifacts" / "crd"]
    environment = Environment(crd_paths=crds, server=BundledServer(kubeconfig=kubeconfig, secure=True))
    with environment as config:
        clientset = Clientset(config)
        flags = ["--metrics-bind-address=127.0.0.1:0", "--metrics-secure", f"--metrics-cert-dir={folder}"]
        flags += ["--leader-elect", "--leader-elect-resource-namespace=default", f"--kubeconfig={kubeconfig}"]
        program = Program(flags, folder / "program")
        try:
            line = program.wait_for(r'"serving" .*server="metrics"')
            [url] = re.findall(r'url="([^"]+)"', line)
            trust = ssl.create_default_context(cadata=authority.certificate.decode())
            create_foos(clientset, 0, 3)
            assert environment.server is not None
            environment.server.faults.disconnect()  # failures are counted from the first one on
            create_foos(clientset, 3, 6)
            few = scrape(url, config.token, trust)
            create_foos(clientset, 6, 56)
            yield Scrapes(few, scrape(url, config.token, trust))
        finally:
            code, output = program.end(signal.SIGTERM)
            clientset.close()
        assert code == 0, output
        assert config.token not in output


def create_foos(clientset: Clientset, first: int, last: int) -> None:
    """Create Foos and wait until each is synced."""
    foos = clientset.samplecontroller_v1alpha1.foos("default")
    for number in range(first, last):
        foos.create(Foo(ObjectMeta(name=f"canary-{number}"), FooSpec(f"canary-{number}", 1)))
    eventually(lambda: sum(foo.status.available_replicas == 1 for foo in foos.list().items) == last, seconds=30.0)


def scrape(url: str, token: str, trust: ssl.SSLContext) -> str:
    request = urllib.request.Request(f"{url}/metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=10, context=trust) as response:
        body: bytes = response.read()
    return body.decode()


def values_of(text: str) -> dict[str, dict[str, set[str]]]:
    """Return the labels of each time series with their values."""
    result: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = result.setdefault(sample.name, {})
            for name, value in sample.labels.items():
                labels.setdefault(name, set()).add(value)
    return result


def series(text: str) -> set[str]:
    return {line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")}


@pytest.mark.e2e
@pytest.mark.feature("A-23")
def test_the_metrics_of_a_running_controller_are_well_formed(scrapes: Scrapes) -> None:
    assert problems(scrapes.few) == []
    assert problems(scrapes.many) == []


@pytest.mark.e2e
def test_every_component_exports_metrics(scrapes: Scrapes) -> None:
    begun = {name.split("_")[0] for name in values_of(scrapes.many)}
    expected = {"workqueue", "rest", "leader", "controller", "informer", "reflector", "event", "process", "python"}
    assert expected <= begun


@pytest.mark.e2e
def test_more_foos_make_no_more_series(scrapes: Scrapes) -> None:
    """Except for codes and verbs of new requests, whose number is limited."""
    new = series(scrapes.many) - series(scrapes.few)
    assert [name for name in new if not name.startswith("rest_client_")] == []
    assert len(new) <= 60
    assert "canary" not in scrapes.many


@pytest.mark.e2e
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_queries_refer_to_existing_metrics(scrapes: Scrapes, query: str) -> None:
    rendered = values_of(scrapes.many)
    requested = selectors(query)
    assert requested
    registered = set(TARGET)
    for selector in requested:
        assert selector.metric in rendered
        labels = rendered[selector.metric]
        registered |= labels.keys()
        for label, value in selector.labels:
            assert label in labels or label in TARGET, f"{selector.metric} has no label {label}"
            assert value is None or label in TARGET or value in labels[label], f"{label} is never {value}"
    assert grouped(query) <= registered


@pytest.mark.e2e
@pytest.mark.parametrize("query", [query for name, query in VARIABLES.items() if name != "datasource"])
def test_dashboard_variables_refer_to_existing_metrics(scrapes: Scrapes, query: str) -> None:
    match = re.fullmatch(r"label_values\((.*), (\w+)\)", query)
    assert match is not None
    [selector] = selectors(match[1])
    assert selector.metric in values_of(scrapes.many)
    assert {match[2], *(label for label, _ in selector.labels)} <= TARGET


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_query_keeps_to_this_controllers_service(query: str) -> None:
    service = yaml.safe_load((ROOT / "artifacts" / "default" / "metrics_service.yaml").read_text())
    for selector in selectors(query):
        assert ("job", service["metadata"]["name"]) in selector.labels, "the job is the Service's name"


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_alerts_have_summary_and_action(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in ("critical", "warning", "info")
    assert set(alert["annotations"]) == {"summary", "description"}
    stored = grouped(alert["expr"]) | TARGET | {"name", "controller", "kind", "code"}
    words = " ".join(alert["annotations"].values())
    assert set(re.findall(r"\$labels\.(\w+)", words)) <= stored
    if grouped(alert["expr"]):
        assert set(re.findall(r"\$labels\.(\w+)", words)) <= grouped(alert["expr"])


def test_names_of_alerts_and_ids_of_panels_are_unique() -> None:
    names = [alert["alert"] for alert in ALERTS]
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(names)) == len(names) >= 10
    assert len(set(ids)) == len(ids) >= 20


def test_panels_do_not_overlap() -> None:
    used = set[tuple[int, int]]()
    for panel in DASHBOARD["panels"]:
        grid_pos = panel["gridPos"]
        squares = {(grid_pos["x"] + x, grid_pos["y"] + y) for x in range(grid_pos["w"]) for y in range(grid_pos["h"])}
        assert max(x for x, _ in squares) < 24
        assert not squares & used
        used |= squares


def test_queries_use_only_existing_variables() -> None:
    used = {name for query in QUERIES.values() for name in re.findall(r"\$(\w+)", query)}
    assert used <= VARIABLES.keys() | {"__rate_interval"}


@pytest.mark.parametrize(
    "query", ["rate(workqueue_depth", "sum by (x workqueue_depth", "rate(workqueue_depth)", "workqueue_depth{name=a}"]
)
def test_invalid_query_is_detected(query: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(query)
