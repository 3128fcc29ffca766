"""A kind that embeds Kubernetes' own types: pods to be, claims, a selector, and a type that contains itself."""

from collections.abc import Mapping
from dataclasses import dataclass

from clientgo.kubernetes.types.apiextensions_v1 import JSONSchemaProps
from clientgo.kubernetes.types.core_v1 import PersistentVolumeClaimSpec, PodTemplateSpec, ServicePort
from clientgo.kubernetes.types.shared import LabelSelector
from clientgo.meta import EMPTY_MAP, ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class OvenSpec:
    """What an oven is to be."""

    template: PodTemplateSpec
    selector: LabelSelector | None = None
    claims: Mapping[str, PersistentVolumeClaimSpec] = EMPTY_MAP
    ports: tuple[ServicePort, ...] = ()
    schema: JSONSchemaProps | None = None


@api_type(group="bakery.example.com", version="v1", status=False)
@dataclass(frozen=True, slots=True)
class Oven:
    """Bakes."""

    metadata: ObjectMeta
    spec: OvenSpec
