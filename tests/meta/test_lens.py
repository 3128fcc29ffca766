"""`change` of nested fields."""

from dataclasses import dataclass, field

import pytest

from clientgo.dynamic.unstructured import unstructured_type
from clientgo.kubernetes.types.apps_v1 import Deployment, DeploymentSpec, DeploymentStrategy
from clientgo.kubernetes.types.pods import Container, PodSpec, PodTemplateSpec
from clientgo.meta import GroupVersionResource, ObjectMeta, change, decode, encode, replace

POD = PodSpec(containers=(Container(name="web", image="nginx:1"), Container(name="log", image="fluentd:1")))
WEB = Deployment(
    metadata=ObjectMeta(name="web", namespace="shop", labels={"app": "web"}),
    spec=DeploymentSpec(replicas=1, template=PodTemplateSpec(spec=POD)),
)


def images(deployment: Deployment) -> list[str | None]:
    return [container.image for container in deployment.spec.template.spec.containers]


def test_field_at_any_depth_is_changed_in_a_copy() -> None:
    changed = change(WEB, lambda d: d.spec.replicas).to(3)
    assert changed == replace(WEB, spec=replace(WEB.spec, replicas=3))
    assert WEB.spec.replicas == 1
    assert change(WEB, lambda d: d.spec.template.spec.host_network).to(True).spec.template.spec.host_network
    assert change(WEB, lambda d: d).to(changed) == changed


def test_value_is_computed_from_the_old_one() -> None:
    assert change(WEB, lambda d: d.spec.replicas).by(lambda n: (n or 0) + 1).spec.replicas == 2
    strategy = change(WEB, lambda d: d.spec.strategy).by(lambda s: replace(s or DeploymentStrategy(), type="Recreate"))
    assert strategy.spec.strategy == DeploymentStrategy(type="Recreate")


@pytest.mark.parametrize("deployment", [WEB, decode(Deployment, encode(WEB))], ids=["made", "decoded"])
def test_map_entries_are_set(deployment: Deployment) -> None:
    changed = change(deployment, lambda d: d.metadata.labels["tier"]).to("front")
    assert changed.metadata.labels == {"app": "web", "tier": "front"}
    assert change(deployment, lambda d: d.metadata.labels["app"]).by(str.upper).metadata.labels == {"app": "WEB"}
    with pytest.raises(KeyError, match=r"metadata\.labels\['tier'\]"):
        change(deployment, lambda d: d.metadata.labels["tier"]).by(str.upper)


@pytest.mark.parametrize("deployment", [WEB, decode(Deployment, encode(WEB))], ids=["made", "decoded"])
def test_list_items_are_changed_by_index_and_by_search(deployment: Deployment) -> None:
    first = change(deployment, lambda d: d.spec.template.spec.containers[0].image).to("nginx:2")
    assert images(first) == ["nginx:2", "fluentd:1"]
    last = change(deployment, lambda d: d.spec.template.spec.containers[-1].image).to("fluentd:2")
    assert images(last) == ["nginx:1", "fluentd:2"]
    result = change(deployment, lambda d: next(c for c in d.spec.template.spec.containers if c.name == "log").image).to(
        "fluentd:3"
    )
    assert images(result) == ["nginx:1", "fluentd:3"]
    more = change(deployment, lambda d: d.spec.template.spec.containers).by(lambda cs: (*cs, Container(name="more")))
    assert len(more.spec.template.spec.containers) == 3


@dataclass(frozen=True, slots=True)
class Room:
    name: str
    lamps: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Home:
    rooms: dict[str, Room] = field(default_factory=dict)


def test_dataclasses_maps_of_objects_and_lists_keep_their_types() -> None:
    home = Home({"hall": Room("hall", [1, 2]), "attic": Room("attic")})
    changed = change(home, lambda h: h.rooms["hall"].lamps[1]).to(5)
    assert changed == Home({"hall": Room("hall", [1, 5]), "attic": Room("attic")})
    assert home.rooms["hall"].lamps == [1, 2]


def test_content_of_unstructured_objects_is_changed() -> None:
    kind = unstructured_type(GroupVersionResource("example.com", "v1", "apps"))
    app = kind(metadata=ObjectMeta(name="a"), content={"spec": {"sizes": [1, 2]}})
    assert change(app, lambda a: a.content["spec"]["sizes"][0]).to(9)["spec"] == {"sizes": [9, 2]}
    with pytest.raises(KeyError, match="status"):
        change(app, lambda a: a.content["status"]["ready"])


def test_errors_name_the_part() -> None:
    with pytest.raises(TypeError, match=r"a part of spec\.strategy: it is None; change the field itself"):
        change(WEB, lambda d: d.spec.strategy.type)  # type: ignore[union-attr]
    with pytest.raises(AttributeError, match="replica"):
        change(WEB, lambda d: d.spec.replica)  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"cannot change 3: expected a part of the object"):
        change(WEB, lambda _: 3)
    with pytest.raises(TypeError, match=r"spec\['replicas'\]: not a list or map, but DeploymentSpec"):
        change(WEB, lambda d: d.spec["replicas"])  # type: ignore[index]
    with pytest.raises(IndexError):
        change(WEB, lambda d: d.spec.template.spec.containers[2])
    with pytest.raises(LookupError, match="part of this Deployment: no list item matches"):
        change(WEB, lambda d: next(c for c in d.spec.template.spec.containers if c.name == "db").image)
    assert repr(change(WEB, lambda d: d.spec.template.spec.containers[0].image)) == (
        "<FieldChange spec.template.spec.containers[0].image>"
    )
