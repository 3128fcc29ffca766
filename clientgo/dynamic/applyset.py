"""Apply sets: what was applied under one name, so that what is no longer applied can be deleted (`kubectl --prune`).

A Secret or ConfigMap is the parent of a set. As kubectl's are, it is labelled with the set's id and annotated with the
kinds and namespaces of the members; each member is labelled with the id. The parent names more than the members while
they are written, so that an interrupted run leaves nothing behind that the next one does not find.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterator, Set
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from clientgo.dynamic.client import DynamicClientset, MetadataClient, dynamic_client, metadata_client
from clientgo.dynamic.mapper import NoMatch, RestMapper
from clientgo.dynamic.unstructured import PartialObjectMetadata, Unstructured
from clientgo.errors import ClientGoError, ConfigError, NotFound
from clientgo.meta.objects import GroupVersionResource
from clientgo.typed.options import DeleteOptions, Preconditions
from clientgo.version import VERSION

_PREFIX = "applyset.kubernetes.io/"
ID, PART_OF = _PREFIX + "id", _PREFIX + "part-of"
"""Labels of the parent and of the members."""

TOOLING, KINDS, NAMESPACES = (_PREFIX + name for name in ("tooling", "contains-group-kinds", "additional-namespaces"))
"""Annotations of the parent."""

_TOOL = "clientgo"
_LAST = ("Namespace", "CustomResourceDefinition.apiextensions.k8s.io")  # deletes others
_PARENTS = {kind.lower() + plural: kind for kind in ("Secret", "ConfigMap") for plural in ("", "s")} | {"": "Secret"}


class Content(NamedTuple):
    """Kinds, each with its group (`Deployment.apps`), and namespaces of members."""

    kinds: Set[str] = frozenset()
    namespaces: Set[str] = frozenset()

    def union(self, other: "Content") -> "Content":
        """Return the kinds and namespaces of both."""
        return Content(self.kinds | other.kinds, self.namespaces | other.namespaces)


class ApplySet:
    """The set of a name, `configmaps/NAME`, `secrets/NAME` or `NAME` for a Secret, in a namespace.

    Raises:
        ConfigError: the parent would be of another kind.
    """

    def __init__(
        self, clientset: DynamicClientset, mapper: RestMapper, name: str, namespace: str, *, manager: str, dry_run: bool
    ) -> None:
        resource, _, self.name = name.rpartition("/")
        if resource not in _PARENTS:
            raise ConfigError(f"invalid apply set {name!r}: expected NAME, secrets/NAME or configmaps/NAME")
        self.kind = _PARENTS[resource]
        digest = sha256(f"{self.name}.{namespace}.{self.kind}.".encode()).digest()
        self.id = f"applyset-{urlsafe_b64encode(digest).decode().rstrip('=')}-v1"
        self._clientset = clientset
        self._mapper = mapper
        self._namespace = namespace
        self._manager = f"{manager}-applyset"
        self._dry_run = dry_run
        parents = GroupVersionResource("", "v1", f"{self.kind.lower()}s")
        self._client = dynamic_client(parents, kind=self.kind)(clientset.requester, namespace)
        self.before = Content()
        """What the set contained when it was read."""

    def __repr__(self) -> str:
        return f"<ApplySet {self.kind} {self._namespace}/{self.name}>"

    def read(self) -> None:
        """Read what the set contained before.

        Raises:
            ConfigError: the object of that name is not the parent of a set, or belongs to another tool.
            ApiError, ConnectionFailed: the request failed.
        """
        with suppress(NotFound):
            self.before = self._content_of(self._client.get(self.name))

    def record(self, content: Content) -> None:
        """Write what the set contains, or may contain while members are written and deleted, to the parent."""
        if self._dry_run:
            return
        annotations = {
            TOOLING: f"{_TOOL}/v{VERSION}",
            KINDS: ",".join(sorted(content.kinds)),
            NAMESPACES: ",".join(sorted(content.namespaces - {self._namespace})),
        }
        metadata = {"name": self.name, "labels": {ID: self.id}, "annotations": annotations}
        self._client.apply({"metadata": metadata}, field_manager=self._manager, force=True)

    def prune(self, applied: Set[str]) -> Iterator[tuple[str, str, Exception | None]]:
        """Delete the members of before whose uid is not among those `applied`; yield kind, name and error of each."""
        for kind, client, member in [*self._members(applied)]:
            options = DeleteOptions(
                propagation_policy="Background",
                preconditions=Preconditions(uid=member.metadata.uid),
                dry_run=("All",) if self._dry_run else (),
            )
            error: Exception | None = None
            try:
                client(self._clientset.requester, member.metadata.namespace).delete(member.metadata.name, options)
            except NotFound:
                continue
            except ClientGoError as failure:
                error = failure
            yield kind, member.metadata.name, error

    def _members(self, applied: Set[str]) -> Iterator[tuple[str, type[MetadataClient], PartialObjectMetadata]]:
        for kind in sorted(self.before.kinds, key=lambda kind: (kind in _LAST, kind)):
            name, _, group = kind.partition(".")
            try:
                mapping = self._mapper.mapping(name, group)
            except NoMatch:
                continue  # its definition was deleted, and with it its objects
            client = metadata_client(mapping.resource, kind=name, namespaced=mapping.namespaced)
            for namespace in sorted(self.before.namespaces | {self._namespace}) if mapping.namespaced else ("",):
                listed = client(self._clientset.requester, namespace).list(label_selector=f"{PART_OF}={self.id}")
                for member in listed.items:
                    if member.metadata.uid not in applied and member.metadata.deletion_timestamp is None:
                        yield name, client, member

    def _content_of(self, parent: Unstructured) -> Content:
        labels, annotations = parent.metadata.labels, parent.metadata.annotations
        what = f"{self.kind} {self._namespace}/{self.name}"
        if labels.get(ID) != self.id:
            raise ConfigError(f"{what} is not the parent of an apply set: choose another name, or delete it")
        tool = annotations.get(TOOLING, "")
        if tool.partition("/")[0] != _TOOL:
            raise ConfigError(f"the apply set of {what} belongs to {tool or 'another tool'}: choose another name")
        return Content(*(frozenset(filter(None, annotations.get(key, "").split(","))) for key in (KINDS, NAMESPACES)))
