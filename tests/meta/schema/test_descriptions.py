"""Descriptions of types and fields, read from the installed `kubernetes` package."""

import importlib
import inspect

import pytest

from clientgo.meta.schema.descriptions import descriptions_of

META = "io.k8s.apimachinery.pkg.apis.meta.v1"


@pytest.mark.parametrize(
    ("definition", "model"),
    [
        ("io.k8s.api.apps.v1.DeploymentSpec", "V1DeploymentSpec"),
        ("io.k8s.api.autoscaling.v2.MetricSpec", "V2MetricSpec"),
        ("io.k8s.api.core.v1.ExecAction", "V1ExecAction"),  # its text has quotes
        ("io.k8s.api.events.v1.Event", "EventsV1Event"),
        ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "V1JSONSchemaProps"),
        (f"{META}.ObjectMeta", "V1ObjectMeta"),
    ],
)
def test_descriptions_are_those_of_the_model(definition: str, model: str) -> None:
    described = descriptions_of(definition)
    cls = getattr(importlib.import_module("kubernetes.client.models"), model)
    assert described.type == (inspect.getdoc(cls) or "").partition("\n\nAttributes:")[0]
    fields = {
        field.serialization_alias or name: field.description
        for name, field in cls.model_fields.items()
        if field.description
    }
    assert described.fields == fields
    assert fields


@pytest.mark.parametrize("definition", ["io.k8s.apimachinery.pkg.api.resource.Quantity", f"{META}.NoSuchType", "Foo"])
def test_type_without_a_model_has_no_descriptions(definition: str) -> None:
    assert descriptions_of(definition) == ("", {})
