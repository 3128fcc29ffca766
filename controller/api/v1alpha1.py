"""samplecontroller.k8s.io/v1alpha1: the Foo.

After a change here run hack/update-codegen.sh: the custom resource definition, the clients, listers and informers are
made from these classes.
"""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import DNS_LABEL, Column, Int32, Meta, ObjectMeta, Scale, api_type


@dataclass(frozen=True, slots=True)
class FooSpec:
    """What is wanted of a Foo."""

    deployment_name: Annotated[str, DNS_LABEL, Meta(description="Name of the Deployment that the Foo keeps.")]
    replicas: Annotated[Int32 | None, Meta(ge=1, le=10, description="How many pods the Deployment should have.")] = None


@dataclass(frozen=True, slots=True)
class FooStatus:
    """What has been seen of a Foo."""

    available_replicas: Annotated[Int32 | None, Meta(description="How many pods of the Deployment are available.")] = (
        None
    )


@api_type(
    group="samplecontroller.k8s.io",
    version="v1alpha1",
    scale=Scale(".spec.replicas", ".status.availableReplicas"),
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
    """Keeps a Deployment of the name and size it says."""

    metadata: ObjectMeta
    spec: FooSpec
    status: FooStatus = FooStatus()
