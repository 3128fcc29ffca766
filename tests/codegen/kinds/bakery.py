"""Kind that embeds built-in types: a pod template, claims, a selector and a recursive type."""

from collections.abc import Mapping
from dataclasses import dataclass

from clientgo.kubernetes.types.apiextensions_v1 import JSONSchemaProps
from clientgo.kubernetes.types.core_v1 import PersistentVolumeClaimSpec, PodTemplateSpec, ServicePort
from clientgo.kubernetes.types.shared import LabelSelector
from clientgo.meta import EMPTY_MAP, ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class OvenSpec:
    """Desired state of an Oven."""

    template: PodTemplateSpec
    selector: LabelSelector | None = None
    claims: Mapping[str, PersistentVolumeClaimSpec] = EMPTY_MAP
    ports: tuple[ServicePort, ...] = ()
    schema: JSONSchemaProps | None = None


@api_type(group="bakery.example.com", version="v1", status=False)
@dataclass(frozen=True, slots=True)
class Oven:
    """Oven with an embedded pod template."""

    metadata: ObjectMeta
    spec: OvenSpec
