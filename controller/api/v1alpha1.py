"""API group samplecontroller.k8s.io, version v1alpha1: the kind Foo.

After a change here run hack/update-codegen.sh: it generates the CustomResourceDefinition, clients, listers and
informers from these classes.
"""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import DNS_LABEL, Column, Int32, Meta, ObjectMeta, ScaleSubresource, api_type


@dataclass(frozen=True, slots=True)
class FooSpec:
    """Desired state of a Foo."""

    deployment_name: Annotated[str, DNS_LABEL, Meta(description="Name of the Deployment that the Foo keeps.")]
    replicas: Annotated[Int32 | None, Meta(ge=1, le=10, description="Desired number of pods.")] = None


@dataclass(frozen=True, slots=True)
class FooStatus:
    """Observed state of a Foo."""

    available_replicas: Annotated[Int32 | None, Meta(description="Number of available pods of the Deployment.")] = None


@api_type(
    group="samplecontroller.k8s.io",
    version="v1alpha1",
    scale=ScaleSubresource(".spec.replicas", ".status.availableReplicas"),
    columns=(
        Column("Deployment", "string", ".spec.deploymentName"),
        Column("Replicas", "integer", ".spec.replicas"),
        Column("Available", "integer", ".status.availableReplicas"),
    ),
    # The API server demands this of every group below k8s.io that the project has not approved.
    annotations=(("api-approved.kubernetes.io", "unapproved, experimental-only"),),
)
@dataclass(frozen=True, slots=True)
class Foo:
    """Foo keeps a Deployment with the given name and number of replicas."""

    metadata: ObjectMeta
    spec: FooSpec
    status: FooStatus = FooStatus()
