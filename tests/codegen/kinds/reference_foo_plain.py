"""Foo as Kubernetes' own sample-controller defines it: nothing required, and the status no subresource."""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import Meta, ObjectMeta, api_type

APPROVAL = ("api-approved.kubernetes.io", "unapproved, experimental-only; please get an approval from Kubernetes API"
            " reviewers if you're trying to develop a CRD in the *.k8s.io or *.kubernetes.io groups")  # fmt: skip


@dataclass(frozen=True, slots=True)
class FooSpec:
    """What is wanted of a Foo."""

    deployment_name: str | None = None
    replicas: Annotated[int | None, Meta(ge=1, le=10)] = None


@dataclass(frozen=True, slots=True)
class FooStatus:
    """What has been seen of a Foo."""

    available_replicas: int | None = None


@api_type(group="samplecontroller.k8s.io", version="v1alpha1", status=False, annotations=(APPROVAL,))
@dataclass(frozen=True, slots=True)
class Foo:
    """With a status that anyone who may write the Foo may write."""

    metadata: ObjectMeta
    spec: FooSpec = FooSpec()
    status: FooStatus = FooStatus()
