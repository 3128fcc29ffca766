"""Foo of the Kubernetes sample-controller, without required fields and without a status subresource."""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import Meta, ObjectMeta, api_type

APPROVAL = ("api-approved.kubernetes.io", "unapproved, experimental-only; please get an approval from Kubernetes API"
            " reviewers if you're trying to develop a CRD in the *.k8s.io or *.kubernetes.io groups")  # fmt: skip


@dataclass(frozen=True, slots=True)
class FooSpec:
    """Desired state of a Foo."""

    deployment_name: str | None = None
    replicas: Annotated[int | None, Meta(ge=1, le=10)] = None


@dataclass(frozen=True, slots=True)
class FooStatus:
    """Observed state of a Foo."""

    available_replicas: int | None = None


@api_type(group="samplecontroller.k8s.io", version="v1alpha1", status=False, annotations=(APPROVAL,))
@dataclass(frozen=True, slots=True)
class Foo:
    """Foo without a status subresource."""

    metadata: ObjectMeta
    spec: FooSpec = FooSpec()
    status: FooStatus = FooStatus()
