"""Validation rules of bundles: one message per violation, and no crash on any input."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clientgo_apiserver.crds.schema import schema_errors
from clientgo_olm.reading import Bundle, Finding, read
from clientgo_olm.rules import MOST_BYTES, required
from clientgo_olm.suites import SUITES
from olm.tests.bundles import BUNDLE, EXAMPLE, NAME, add_object, messages, set_value, valid_bundle
from tests.cli.projects import clientgo

pytestmark = [pytest.mark.feature("A-75"), pytest.mark.feature("E-12")]

HOOK = "csv spec webhookdefinitions 0"
OWNED = "csv spec customresourcedefinitions owned"
V1 = {"name": "v1", "served": True, "storage": True}
ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "foo"}}
OLD = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "foo"}}
BAR = {"name": "bars.c9g.io", "kind": "Bar", "version": "v1", "description": "A Bar."}
FOO = {"name": NAME, "kind": "Foo", "version": "v1", "description": "A Foo."}


def test_valid_bundle_has_no_findings() -> None:
    assert messages(valid_bundle(), *SUITES) == []


RULES = [
    # Required fields and their types.
    (set_value("csv spec displayName", None), "spec.displayName is missing"),
    (set_value("csv spec version", None), "spec.version is missing"),
    (set_value("csv spec install", None), "spec.install is missing"),
    (set_value("csv spec install spec deployments", []), "spec.install.spec.deployments is missing"),
    (set_value("csv spec install strategy", "job"), "invalid spec.install.strategy 'job': expected deployment"),
    (set_value("csv spec install spec deployments 0 name", None), "spec.install.spec.deployments[0].name is missing"),
    (set_value("csv spec keywords", "foo"), "spec.keywords must be a list"),
    (set_value("csv spec icon", [{"mediatype": 1}]), "spec.icon[0].base64data is missing"),
    (set_value("csv spec icon", [{"mediatype": 1}]), "spec.icon[0].mediatype must be a string"),
    (set_value("csv spec install spec clusterPermissions 0 serviceAccountName", None),
     "[0].serviceAccountName is missing"),
    (set_value("csv spec", ["foo"]), "spec must be a mapping"),
    # Names and versions.
    (set_value("csv apiVersion", "v1"), "invalid apiVersion v1: expected operators.coreos.com/v1alpha1"),
    (set_value("csv metadata name", "foo.v0.2.0"),
     "'foo.v0.2.0' and spec.version '0.1.0' differ: the name is PACKAGE.v0.1.0"),
    (set_value("csv metadata name", "Foo.v0.1.0"),
     "invalid metadata.name 'Foo.v0.1.0': expected a DNS subdomain of at most 63 characters"),
    (set_value("csv metadata name", "f" * 60 + ".v0.1.0"), "expected a DNS subdomain of at most 63 characters"),
    (set_value("csv spec version", "1.0"), "invalid spec.version '1.0': expected a semantic version"),
    (set_value("csv spec minKubeVersion", "v1.29"), "invalid spec.minKubeVersion 'v1.29': expected a semantic version"),
    (set_value("csv spec minKubeVersion", None), "warning: spec.minKubeVersion is missing"),
    (set_value("csv spec replaces", "foo.v0.1.0"), "spec.replaces 'foo.v0.1.0' is this version"),
    (set_value("csv spec replaces", "foo_1"), "invalid spec.replaces 'foo_1': expected a DNS subdomain"),
    (set_value("csv metadata annotations olm.skiprange", "<1"),
     "invalid annotation olm.skiprange: expected the spelling olm.skipRange"),
    (set_value("csv spec relatedImages", [{"name": "a", "image": "a b"}]),
     "invalid spec.relatedImages[0].image 'a b': expected the name of an image"),
    # Install modes.
    (set_value("csv spec installModes", None), "spec.installModes is missing"),
    (set_value("csv spec installModes 1 supported", False), "spec.installModes supports no mode"),
    (set_value("csv spec installModes 0 type", "AllNamespaces"), "spec.installModes has AllNamespaces twice"),
    (set_value("csv spec installModes 0 type", "Everywhere"),
     "invalid spec.installModes[0].type 'Everywhere': expected"),
    # Owned CRDs.
    (set_value(OWNED, [FOO, BAR]), "the owned CRD bars.c9g.io (Bar, v1) not found in manifests"),
    (set_value(f"{OWNED} 0 version", "v2"), f"the owned CRD {NAME} (Foo, v2) not found in manifests"),
    (set_value(f"{OWNED} 0 kind", "Fu"), f"the owned CRD {NAME} (Fu, v1) not found in manifests"),
    (set_value(OWNED, []), f"the CRD {NAME} (Foo) is missing in customresourcedefinitions.owned"),
    (set_value(OWNED, [FOO, FOO]), f"the owned CRD {NAME} (Foo, v1) is listed twice"),
    (set_value(f"{OWNED} 0 name", "foos"), "invalid name of the owned CRD 'foos': expected PLURAL.GROUP"),
    (set_value("crd spec versions 0 served", False), f"the owned CRD {NAME} (Foo) does not serve its version v1"),
    (set_value("crd spec versions", [V1, V1]), f"the CRD {NAME} stores 2 versions"),
    (set_value("crd metadata name", "foo.c9g.io"),
     "invalid name of the CRD 'foo.c9g.io': expected foos.samplecontroller.c9g.io"),
    (add_object("account", ACCOUNT), "OLM creates the ServiceAccount foo of the Deployment: remove its manifest"),
    # Examples.
    (set_value("csv metadata annotations alm-examples", "["), "invalid annotation alm-examples"),
    (set_value("csv metadata annotations alm-examples", "{}"),
     "invalid annotation alm-examples: expected a JSON list of objects"),
    (set_value("csv metadata annotations alm-examples", None), "warning: the annotation alm-examples is missing"),
    (set_value("csv metadata annotations alm-examples", "[]"),
     "warning: alm-examples has no Foo of samplecontroller.c9g.io/v1"),
    (set_value("csv metadata annotations alm-examples", str([{**EXAMPLE, "kind": "Bar"}]).replace("'", '"')),
     "error: alm-examples has a Bar of samplecontroller.c9g.io/v1, which the operator does not own"),
    # Webhooks.
    (set_value(f"{HOOK} type", "Webhook"), "invalid spec.webhookdefinitions[0].type 'Webhook': expected"),
    (set_value(f"{HOOK} admissionReviewVersions", []), "spec.webhookdefinitions[0].admissionReviewVersions is missing"),
    (set_value(f"{HOOK} sideEffects", None), "spec.webhookdefinitions[0].sideEffects is missing"),
    (set_value(f"{HOOK} deploymentName", "bar"), "the Deployment 'bar' of the webhook vfoo.c9g.io not found"),
    (set_value(f"{HOOK} containerPort", 70000), "vfoo.c9g.io has the invalid containerPort 70000"),
    (set_value(f"{HOOK} webhookPath", "validate"),
     "vfoo.c9g.io has the invalid webhookPath 'validate': expected a leading /"),
    (set_value(f"{HOOK} type", "ConversionWebhook"),
     "the webhook vfoo.c9g.io converts no CRDs: list them in conversionCRDs"),
    (set_value(f"{HOOK} conversionCRDs", ["bars.c9g.io"]), "converts bars.c9g.io, which the operator does not own"),
    # Annotations and labels.
    (set_value(f"annotations {BUNDLE}mediatype.v1", "helm"), "mediatype.v1 'helm': expected 'registry+v1'"),
    (set_value(f"annotations {BUNDLE}manifests.v1", None), "manifests.v1 None: expected 'manifests/'"),
    (set_value(f"annotations {BUNDLE}package.v1", "Foo"), "package.v1 'Foo': expected lower case letters"),
    (set_value(f"annotations {BUNDLE}channels.v1", ""), "invalid channel '' in"),
    (set_value(f"annotations {BUNDLE}channels.v1", "a, stable"), "invalid channel ' stable' in"),
    (set_value(f"annotations {BUNDLE}channel.default.v1", "fast"),
     "'fast': expected one of the channels candidate, stable"),
    (set_value(f"annotations {BUNDLE}package.v1", "bar"),
     "label operators.operatorframework.io.bundle.package.v1 'foo' differs from the annotation 'bar'"),
    # Objects and size.
    (add_object("pod", {**ACCOUNT, "kind": "Pod"}), "OLM does not install a Pod from a bundle: remove 'foo'"),
    (add_object("old", OLD),
     "PodDisruptionBudget of policy/v1beta1 was removed in Kubernetes 1.25: use the stable API"),
    (lambda bundle: replace(bundle, size=MOST_BYTES + 1),
     f"compressed size {MOST_BYTES + 1} bytes, limit {MOST_BYTES}"),
    (lambda bundle: replace(bundle, size=MOST_BYTES - 1), "compressed size"),
    (lambda bundle: replace(bundle, objects={}), "expected one ClusterServiceVersion, got 0"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "expected"), RULES, ids=[expected[-60:] for _, expected in RULES])
def test_violation_is_reported_in_one_line(change: Callable[[Bundle], Bundle], expected: str) -> None:
    findings = messages(change(valid_bundle()))

    assert [finding for finding in findings if expected in finding] != [], findings
    assert all("\n" not in finding for finding in findings)


def test_bundle_with_conversion_webhook_must_support_only_all_namespaces() -> None:
    bundle = set_value(HOOK + " type", "ConversionWebhook")(set_value(HOOK + " conversionCRDs", [NAME])(valid_bundle()))
    assert messages(bundle) == []

    assert messages(set_value("csv spec installModes 0 supported", True)(bundle)) == [
        "error: spec.installModes must support only AllNamespaces, because there is a conversion webhook"
    ]


@pytest.mark.parametrize(
    ("suite", "change", "expected"),
    [
        ("operatorhub", set_value("csv spec provider", {}), "error: spec.provider.name is missing"),
        ("operatorhub", set_value("csv spec maintainers 0 email", "jane"),
         "error: spec.maintainers[0] must have a name and"),
        ("operatorhub", set_value("csv spec links 0 url", "c9g.io"), "error: spec.links[0] must have a name and a URL"),
        ("operatorhub", set_value("csv spec icon 0 mediatype", "image/bmp"), "error: spec.icon must have base64data"),
        ("operatorhub", set_value("csv spec icon", []), "warning: spec.icon is missing"),
        ("operatorhub", set_value("csv metadata annotations capabilities", "All"),
         "error: invalid capabilities 'All': expected"),
        ("operatorhub", set_value("csv metadata annotations categories", "Toys"),
         "error: invalid category 'Toys': expected"),
        ("good-practices", set_value(f"annotations {BUNDLE}channels.v1", "alpha"),
         "warning: unusual channel 'alpha'"),
        ("good-practices", set_value(f"{OWNED} 0 description", None), "warning: Foo has no description"),
    ],
)  # fmt: skip
def test_optional_suites_report_more(suite: str, change: Callable[[Bundle], Bundle], expected: str) -> None:
    changed = change(valid_bundle())

    assert any(finding.startswith(expected) for finding in messages(changed, suite)), messages(changed, suite)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=2),
    max_leaves=4,
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in an object."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in pairs:
        yield (*path, name)
        yield from paths(inner, (*path, name))


WHOLE: dict[str, Any] = {**valid_bundle().objects, "annotations": valid_bundle().annotations}


VALUES: list[Any] = [1, True, "x", "", [], {}, ["a"], [1], {"a": 1}, [{}], [[]]]
OPTIONAL = ("annotations", "labels", "selector", "cleanup", "skips", "nativeAPIs", "replaces", "release", "keywords",
    "maturity", "apiservicedefinitions", "relatedImages")  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_bundle_that_the_published_schema_rejects_is_rejected(value: Any) -> None:
    schema = yaml.safe_load((Path(__file__).parent / "clusterserviceversion_schema.yaml").read_text())
    assert schema_errors(schema, valid_bundle().version) == []

    for path in [*(("spec", name) for name in OPTIONAL), *paths(valid_bundle().version)]:
        bundle = valid_bundle()
        at: Any = bundle.version
        for name in path[:-1]:
            at = at[name]
        at[path[-1]] = value
        if schema_errors(schema, bundle.version):
            assert any(finding.level == "error" for finding in required(bundle)), path


@given(st.sampled_from(list(paths(WHOLE))), JSON)
def test_any_value_at_any_path_is_validated_without_crash(path: tuple[Any, ...], value: Any) -> None:
    full = copy.deepcopy(WHOLE)
    at: Any = full
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    annotations = full.pop("annotations")
    objects = {path: item for path, item in full.items() if isinstance(item, dict)}
    bundle = replace(valid_bundle(), objects=objects, annotations=annotations if isinstance(annotations, dict) else {})

    assert all(isinstance(entry, Finding) for entry in required(bundle))
    for suite in SUITES.values():
        list(suite(bundle))


@pytest.mark.feature("E-11")
def test_invalid_bundle_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    for name, text in (("a", "a: ["), ("b", "1"), ("c", "a: 1\n---\na: 1"), ("d", "kind: Foo")):
        (tmp_path / "manifests" / f"{name}.yaml").write_text(text)

    problems = [str(problem) for problem in read(tmp_path).problems]

    assert problems[0] == "error: metadata: folder not found: generate it with make bundle"
    assert problems[1].startswith("error: manifests/a.yaml: invalid YAML: ")
    assert problems[2:] == [
        "error: manifests/b.yaml: expected exactly one object in the file",
        "error: manifests/c.yaml: expected exactly one object in the file",
        "error: manifests/d.yaml: the object has no apiVersion or no kind",
    ]
    (tmp_path / "metadata").mkdir()
    assert str(read(tmp_path).problems[-1]).startswith("error: metadata: no file has `annotations`")


@pytest.mark.feature("E-13")
def test_validate_exits_with_1_for_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert clientgo(tmp_path, "bundle", "validate") == 1
    assert "folder bundle not found: generate it with clientgo bundle" in capsys.readouterr().err

    (tmp_path / "bundle" / "metadata").mkdir(parents=True)
    assert clientgo(tmp_path, "bundle", "validate", "--suite", "operatorhub") == 1
    assert capsys.readouterr().out.splitlines()[-1] == "bundle: 3 errors: OLM would reject the bundle"
