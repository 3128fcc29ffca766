"""Building controllers."""

import gc
from collections.abc import Callable, Iterable
from dataclasses import make_dataclass
from typing import Any

import pytest

from clientgo.dynamic.unstructured import metadata_type
from clientgo.errors import ConfigError
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import (
    Channel,
    ControllerBuilder,
    ControllerOptions,
    FuncSource,
    InformerSource,
    Manager,
    MapFuncs,
    set_controller_reference,
)
from clientgo.manager.predicates import GenerationChanged, LabelSelectorPredicate
from clientgo.meta import ApiObject, ObjectMeta, ObjectName, api_of, api_type, replace
from clientgo.testing.eventually import eventually
from clientgo.testing.fake import FakeRequester
from clientgo.workqueue import ItemFastSlowRateLimiter
from controller.api.v1alpha1 import Foo
from tests.manager.managed import fake, manager_of, new_foo, running
from tests.workloads import deployment

A, B = ObjectName("ns", "a"), ObjectName("ns", "b")


def config(name: str, **labels: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}", labels=labels))


class Asked:
    """Manager with some objects, and the names its controller was asked to reconcile."""

    def __init__(self, *objects: object) -> None:
        self.requester: FakeRequester = fake(*objects)
        self.manager: Manager = manager_of(self.requester)
        self.requests: list[ObjectName] = []

    def reconcile(self, request: ObjectName) -> None:
        self.requests.append(request)

    def eventually(self, *requests: ObjectName) -> None:
        eventually(lambda: set(self.requests) == set(requests))
        self.requests.clear()


def named_in(obj: ApiObject) -> Iterable[ObjectName]:
    return [ObjectName("ns", name) for name in obj.metadata.labels.values()]


def named_itself(obj: ApiObject) -> Iterable[ObjectName]:
    return [ObjectName("ns", obj.metadata.name)]


@pytest.mark.feature("A-13")
@pytest.mark.feature("B-CR-05")
def test_controller_handles_events_of_its_owned_and_watched_kinds() -> None:
    foo, other = new_foo("a"), new_foo("b")
    requested = Asked(foo, other)
    watches = ControllerBuilder(requested.manager).for_(Foo).owns(ConfigMap).watches(Deployment, lambda _: [B])
    assert watches.complete(requested).name == "foo"
    with running(requested.manager):
        requested.eventually(A, B)
        requested.manager.client.create(set_controller_reference(foo, config("c")))
        requested.eventually(A)
        requested.manager.client.create(deployment("d"))
        requested.eventually(B)


def test_mappings_of_one_kind_have_one_handler_and_enqueue_in_their_order() -> None:
    requested = Asked(new_foo("a"))
    builder = ControllerBuilder(requested.manager).for_(Foo).watches(Deployment, lambda _: [])
    builder.watches(Foo, lambda _: [B]).watches(Foo, lambda _: [A, B]).complete(requested.reconcile)
    with running(requested.manager):
        eventually(lambda: len(requested.requests) == 2)
        informer = requested.manager.cache.informer(Foo)
        assert len(informer.distributor.listeners) == 1
    assert requested.requests == [A, B]


@pytest.mark.feature("A-13")
def test_map_function_and_predicates_select_events() -> None:
    requested = Asked()
    watches = (
        ControllerBuilder(requested.manager)
        .named("configs")
        .watches(ConfigMap, named_in, LabelSelectorPredicate("foo"))
    )
    watches.with_predicates(GenerationChanged()).complete(requested.reconcile)
    with running(requested.manager):
        created = requested.manager.client.create(config("c", foo="a"))
        requested.eventually(A)
        requested.manager.client.create(config("d", bar="b"))
        requested.manager.client.update(replace(created, data={"changed": "yes"}))
        requested.manager.client.delete(config("c"))
        requested.eventually(A)


@pytest.mark.feature("B-CR-05")
def test_watches_metadata_only() -> None:
    requested = Asked(config("c", foo="a"))
    ControllerBuilder(requested.manager).named("configs").watches_metadata(ConfigMap, named_in).complete(requested)
    with running(requested.manager):
        requested.eventually(A)
        name, metadata = ObjectName("ns", "c"), metadata_type(api_of(ConfigMap).gvr, kind="ConfigMap")
        stored = requested.manager.client.get(metadata, name)
        assert stored == metadata(metadata=requested.manager.client.get(ConfigMap, name).metadata)
        assert len(requested.manager.cache.informers()) == 2


@pytest.mark.parametrize("any_owner", [False, True], ids=["controller", "any owner"])
def test_metadata_only_kind_can_own_others(any_owner: bool) -> None:
    foo = new_foo("a")
    requested = Asked(foo)
    foos = metadata_type(api_of(Foo).gvr, kind="Foo")
    ControllerBuilder(requested.manager).for_(foos).owns(ConfigMap, any_owner=any_owner).complete(requested)
    with running(requested.manager):
        requested.eventually(A)
        owner = requested.manager.client.get(foos, A)
        requested.manager.client.create(set_controller_reference(owner, config("c")))
        requested.eventually(A)


def test_owner_of_unknown_kind_is_rejected() -> None:
    owns = ControllerBuilder(manager_of(fake())).for_(metadata_type(api_of(Foo).gvr)).owns(ConfigMap)
    with pytest.raises(TypeError, match=r"the kind of foos.samplecontroller.k8s.io is unknown"):
        owns.complete(lambda _: None)


@pytest.mark.feature("B-CR-08")
def test_channels_functions_and_informers_are_sources() -> None:
    requested, local = Asked(config("c", foo="b")), manager_of(fake(config("d", foo="b")), name="another")
    channel: Channel[Foo] = Channel()
    channel.send(new_foo("a"))
    starting = FuncSource(lambda enqueue, _: enqueue(ObjectName("", "function"), 0))
    informer = local.cache.informer(ConfigMap)
    built = ControllerBuilder(requested.manager).named("several").watches_source(channel).watches_source(starting)
    built.watches_source(InformerSource(informer, named_in)).complete(requested)
    with running(local), running(requested.manager):
        requested.eventually(A, B, ObjectName("", "function"))
        channel.send(new_foo("b"))
        requested.eventually(B)


def test_event_of_a_channel_reaches_every_controller_that_starts_later() -> None:
    requested, other = Asked(), Asked()
    channel: Channel[Foo] = Channel()
    channel.send(new_foo("a"))
    ControllerBuilder(requested.manager).named("first").watches_source(channel).complete(requested)
    ControllerBuilder(other.manager).named("second").watches_source(channel).complete(other)
    channel.send(new_foo("b"))
    with running(requested.manager):
        requested.eventually(A, B)
        channel.send(new_foo("c"))
        with running(other.manager):
            other.eventually(A, B, ObjectName("ns", "c"))
    channel.send(new_foo("d"))
    assert channel._early == []


def test_controller_starts_without_the_objects_of_the_first_list_that_fail_and_reconciles_them_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failing = {"bad"}

    def names(obj: ConfigMap) -> list[ObjectName]:
        if obj.metadata.name in failing:
            raise KeyError("team")
        return [ObjectName("ns", obj.metadata.name)]

    requested = Asked(config("bad"), config("good"))
    builder = ControllerBuilder(requested.manager).named("configs")
    builder.watches(ConfigMap, names).complete(requested)
    with running(requested.manager):
        requested.eventually(ObjectName("ns", "good"))
        assert "object=ns/bad" in caplog.text
        assert "KeyError: 'team'" in caplog.text
        failing.clear()
        requested.eventually(ObjectName("ns", "bad"))


class NoPredicate:
    """Object without the method of generic events."""

    create = update = delete = lambda *_: True


def without_arguments() -> list[ObjectName]:
    return []


UNARY: Any = named_in


async def asynchronous(_: Foo) -> list[ObjectName]:
    return []


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda builder: builder.for_(Foo, lambda _: True), r"is not a predicate: use Funcs\(create="),
        (lambda builder: builder.owns(ConfigMap, NoPredicate()), "is not a predicate"),
        (lambda builder: builder.with_predicates(GenerationChanged), r"pass a predicate, GenerationChanged\(\)"),
        (lambda builder: builder.watches(ConfigMap, named_in, "x"), "'x' is not a predicate"),
        (lambda builder: builder.watches(ConfigMap, asynchronous), "asynchronous is a coroutine function"),
        (lambda builder: builder.watches(ConfigMap, without_arguments), r"must have the arguments \(object\)"),
        (lambda builder: builder.watches(ConfigMap, "a"), "'a' is not a function with the arguments"),
        (lambda builder: builder.watches(ConfigMap, MapFuncs(update=UNARY)), r"must have the arguments \(old, new\)"),
    ],
)
def test_predicates_and_map_functions_are_checked_when_they_are_given(
    build: Callable[[ControllerBuilder], object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        build(ControllerBuilder(manager_of(fake())))


def test_controller_added_to_a_running_manager_starts_at_once() -> None:
    requested = Asked(new_foo("a"))
    with running(requested.manager):
        ControllerBuilder(requested.manager).for_(Foo).complete(requested)
        requested.eventually(A)


@pytest.mark.feature("B-CR-05")
def test_controller_reconciles_one_kind() -> None:
    with pytest.raises(ConfigError, match="this controller is already for Foo"):
        ControllerBuilder(manager_of(fake())).for_(Foo).for_(ConfigMap)


def tenant(request: ObjectName) -> dict[str, str]:
    return {"tenant": request.namespace}


@pytest.mark.feature("B-CR-05")
def test_builder_sets_controller_options() -> None:
    manager, limiter = manager_of(fake()), ItemFastSlowRateLimiter[ObjectName](1.0, 2.0, 3)
    built = ControllerBuilder(manager).for_(Foo).with_workers(3).with_limiter(limiter)
    built = built.expecting(KeyError).expecting(ValueError).with_options(recover_panic=False).with_log_fields(tenant)
    assert built.complete(lambda _: None).options == ControllerOptions(
        workers=3, limiter=limiter, expected=(KeyError, ValueError), recover_panic=False, log_fields=tenant
    )
    manager.close()


@pytest.mark.feature("B-CR-05")
def test_invalid_controllers_are_rejected() -> None:
    manager = manager_of(fake())
    with pytest.raises(ConfigError, match="cannot find the owner of ConfigMap"):
        ControllerBuilder(manager).named("x").owns(ConfigMap).complete(lambda _: None)
    with pytest.raises(ConfigError, match="nothing to watch"):
        ControllerBuilder(manager).named("x").complete(lambda _: None)
    with pytest.raises(ConfigError, match="needs a name"):
        ControllerBuilder(manager).watches(ConfigMap, named_in).complete(lambda _: None)
    with pytest.raises(ConfigError, match="workers must be at least 1, got 0"):
        ControllerBuilder(manager).with_workers(0)
    with pytest.raises(ConfigError, match="is not an API kind"):
        ControllerBuilder(manager).for_(dict)
    kind: Any = make_dataclass("Thing", [("metadata", ObjectMeta), ("names", set[str])], frozen=True)
    with pytest.raises(ConfigError, match=r"Thing\.names: set\[str\] has no schema: use tuple"):
        ControllerBuilder(manager).watches(api_type(group="example.com", version="v1")(kind), named_in)


@pytest.mark.feature("B-CR-05")
def test_controller_names_are_unique_in_a_process() -> None:
    manager, other = manager_of(fake()), manager_of(fake(), name="other")
    first = ControllerBuilder(manager).for_(Foo).complete(lambda _: None)
    with pytest.raises(ConfigError, match='a controller named "foo" already exists in this process'):
        ControllerBuilder(other).for_(Foo).complete(lambda _: None)
    second = ControllerBuilder(other).for_(Foo).named("foo", unique=False).complete(lambda _: None)
    assert (first.name, second.name) == ("foo", "foo")
    manager.close()
    ControllerBuilder(other).for_(Foo).complete(lambda _: None)
    other.close()
    gc.collect()
