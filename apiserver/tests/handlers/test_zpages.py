"""Pages for debugging: `/statusz` and `/flagz`."""

import pytest
import yaml

from apiserver.tests.inprocess import Kube


def structured(kind: str, version: str = "v1beta1", media: str = "application/json") -> dict[str, str]:
    return {"accept": f"{media};as={kind};v={version};g=config.k8s.io"}


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain", "application/json, */*"])
def test_page_is_text_for_people(kube: Kube, accept: str) -> None:
    kube.clock.step(3723)
    response = kube.send("GET", "/statusz", accept=accept)
    assert (response.status, response.content_type) == (200, "text/plain; charset=utf-8")
    lines = response.body.decode().splitlines()
    assert lines[1] == "apiserver statusz"
    assert "Up: 1 hr 02 min 03 sec" in lines
    assert "Emulation version: 1.37" in lines
    assert "anonymous: true" in kube.send("GET", "/flagz", accept=accept).body.decode().splitlines()


def test_client_that_accepts_the_kind_gets_it(kube: Kube) -> None:
    kube.clock.step(5)
    response = kube.send("GET", "/statusz", **structured("Statusz"))
    assert response.content_type == "application/json;g=config.k8s.io;v=v1beta1;as=Statusz"
    status = response.json()
    assert (status["kind"], status["apiVersion"], status["uptimeSeconds"]) == ("Statusz", "config.k8s.io/v1beta1", 5)
    assert "/flagz" in status["paths"]
    flags = kube.send("GET", "/flagz", **structured("Flagz", media="application/yaml"))
    assert yaml.safe_load(flags.body)["flags"]["anonymous"] == "true"
    assert "token" not in flags.body.decode()
    old = kube.send("GET", "/statusz", **structured("Statusz", "v1alpha1"))
    assert "deprecated" in dict(old.headers)["Warning"]


@pytest.mark.parametrize(
    "headers",
    [{"accept": "application/json"}, {"accept": "text/html"}, structured("Flagz"), structured("Statusz", "v2")],
)
def test_other_forms_are_not_acceptable(kube: Kube, headers: dict[str, str]) -> None:
    response = kube.send("GET", "/statusz", **headers)
    assert response.status == 406
    expected = "only the following media types are accepted: application/json, application/yaml, text/plain"
    assert response.json()["message"] == expected


def test_pages_are_listed_and_have_none_below(kube: Kube) -> None:
    assert {"/flagz", "/statusz"} <= {*kube.ok("GET", "/")["paths"]}
    assert kube.send("GET", "/statusz/x").status == 404
