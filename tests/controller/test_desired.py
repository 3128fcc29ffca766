"""Desired state of a Foo."""

from dataclasses import replace

import pytest

from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.meta import ObjectMeta, OwnerReference, to_dict
from clientgo.meta import replace as changed
from controller.api.v1alpha1 import Foo, FooSpec
from controller.desired import Create, Foreign, Nothing, Resize, new_deployment, plan

FOO = Foo(
    metadata=ObjectMeta(name="test", namespace="default", uid="foo-uid"),
    spec=FooSpec(deployment_name="test-deployment", replicas=1),
)


@pytest.mark.feature("A-31")
def test_the_deployment_runs_nginx_and_belongs_to_its_foo() -> None:
    assert to_dict(new_deployment(FOO)) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "test-deployment",
            "namespace": "default",
            "ownerReferences": [
                {
                    "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "name": "test", "uid": "foo-uid",
                    "controller": True, "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "nginx", "controller": "test"}},
            "template": {
                "metadata": {"labels": {"app": "nginx", "controller": "test"}},
                "spec": {"containers": [{"name": "nginx", "image": "nginx:latest"}]},
            },
        },
    }  # fmt: skip


def test_absent_deployment_is_created() -> None:
    assert plan(FOO, None) == Create(new_deployment(FOO))


def test_matching_deployment_needs_nothing() -> None:
    assert plan(FOO, new_deployment(FOO)) == Nothing(new_deployment(FOO))


def test_another_number_of_replicas_is_scaled_to() -> None:
    updated = replace(FOO, spec=replace(FOO.spec, replicas=3))
    assert plan(updated, new_deployment(FOO)) == Resize(new_deployment(FOO), 3)


def test_foo_without_replicas_does_not_scale() -> None:
    indifferent = replace(FOO, spec=replace(FOO.spec, replicas=None))
    assert plan(indifferent, new_deployment(FOO)) == Nothing(new_deployment(FOO))


@pytest.mark.parametrize(
    "owners",
    [
        pytest.param((), id="no owner"),
        pytest.param(
            (OwnerReference(kind="Foo", name="test", uid="an earlier foo of that name", controller=True),),
            id="of a Foo of the same name that is gone",
        ),
        pytest.param((OwnerReference(kind="Foo", name="test", uid="foo-uid"),), id="owned, not controlled"),
    ],
)
def test_deployment_that_is_not_the_foos_is_foreign(owners: tuple[OwnerReference, ...]) -> None:
    ours = new_deployment(FOO)
    theirs: Deployment = changed(ours, metadata=changed(ours.metadata, owner_references=owners))
    assert plan(FOO, theirs) == Foreign("test-deployment")
