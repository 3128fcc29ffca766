"""Server-side apply, creation and deletion of YAML with objects of several kinds (`kubectl apply --server-side`).

for result in apply_yaml(clientset, Path("deploy"), field_manager="installer"):
print(result)  # deploy/crds.yaml, document 1: CustomResourceDefinition foos.example.com: created
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from clientgo.dynamic.client import DynamicClient, DynamicClientset, dynamic_client
from clientgo.dynamic.mapper import NoMatch, RestMapper
from clientgo.dynamic.unstructured import Unstructured
from clientgo.dynamic.waiting import WaitTimeout, wait_for
from clientgo.errors import ClientGoError, ConfigError, NotFound
from clientgo.meta.codec import from_dict
from clientgo.meta.manifests import name_of, read_files, read_text
from clientgo.meta.objects import GroupVersionKind

ESTABLISHED_TIMEOUT = 60.0
"""Maximum seconds until an applied CustomResourceDefinition is served."""

_CRD = "CustomResourceDefinition"
_FIRST = ("Namespace", _CRD)


class ApplyResult(StrEnum):
    """Effect of an apply or a deletion on one object."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"
    DELETED = "deleted"
    ABSENT = "absent"


class ObjectResult(NamedTuple):
    """Outcome for one document: a result, or the error."""

    source: str
    kind: str
    name: str
    result: ApplyResult | None
    error: Exception | None = None

    def __str__(self) -> str:
        return f"{self.source}: {self.kind} {self.name}: {self.result or self.error}"


class ManifestError(ClientGoError):
    """Some objects could not be written; `results` has the outcome of each document."""

    def __init__(self, message: str, results: Sequence[ObjectResult] = ()) -> None:
        super().__init__(message)
        self.results = list(results)


class _Document(NamedTuple):
    source: str
    content: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.content.get("kind", ""))


def apply_yaml(
    clientset: DynamicClientset,
    manifests: Path | str,
    *,
    field_manager: str,
    namespace: str = "default",
    force: bool = False,
    dry_run: bool = False,
) -> list[ObjectResult]:
    """Apply each object of a file, of the files of a folder, or of a text; return the outcomes in the order of writing.

    Namespaces and CustomResourceDefinitions come first; the latter are served before the next object is written.
    Objects without a namespace belong to `namespace`. An object that fails does not prevent the others.

    Raises:
        ConfigError: the YAML cannot be read, or a document is not an object; nothing is written.
        ManifestError: objects failed.
    """
    writer = _Writer(clientset, namespace, field_manager=field_manager, force=force, dry_run=dry_run)
    return _all([writer.attempt(document, writer.applied) for document in _ordered(manifests)])


def create_yaml(
    clientset: DynamicClientset,
    manifests: Path | str,
    *,
    field_manager: str = "",
    namespace: str = "default",
    dry_run: bool = False,
) -> list[ObjectResult]:
    """Create each object, in the order of `apply_yaml`; raise as it does. An object that exists is an error."""
    writer = _Writer(clientset, namespace, field_manager=field_manager, dry_run=dry_run)
    return _all([writer.attempt(document, writer.created) for document in _ordered(manifests)])


def delete_yaml(
    clientset: DynamicClientset, manifests: Path | str, *, namespace: str = "default"
) -> list[ObjectResult]:
    """Delete each object, in the reverse order of `apply_yaml`; raise as it does."""
    writer = _Writer(clientset, namespace)
    return _all([writer.attempt(document, writer.deleted) for document in reversed(_ordered(manifests))])


class _Writer:
    """Writer of documents to one server."""

    def __init__(
        self,
        clientset: DynamicClientset,
        namespace: str,
        *,
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> None:
        self._clientset = clientset
        self._namespace = namespace
        self._field_manager = field_manager
        self._force = force
        self._dry_run = dry_run
        self._mapper = RestMapper(clientset.discovery)

    def attempt(
        self, document: _Document, write: Callable[[DynamicClient, dict[str, Any]], ApplyResult]
    ) -> ObjectResult:
        """Write the object; return its result or error."""
        name = name_of(document.content)
        try:
            result = write(self._client_of(document.content), document.content)
        except (ClientGoError, NoMatch, WaitTimeout) as error:
            return ObjectResult(document.source, document.kind, name, None, error)
        return ObjectResult(document.source, document.kind, name, result)

    def applied(self, client: DynamicClient, content: dict[str, Any]) -> ApplyResult:
        """Apply the object."""
        try:
            before = client.get(name_of(content))
        except NotFound:
            before = None
        after = client.apply(content, field_manager=self._field_manager, force=self._force, dry_run=self._dry_run)
        self._establish(after)
        if before is None:
            return ApplyResult.CREATED
        return ApplyResult.UNCHANGED if _content(before) == _content(after) else ApplyResult.CONFIGURED

    def created(self, client: DynamicClient, content: dict[str, Any]) -> ApplyResult:
        """Create the object."""
        self._establish(
            client.create(from_dict(client.kind, content), field_manager=self._field_manager, dry_run=self._dry_run)
        )
        return ApplyResult.CREATED

    def deleted(self, client: DynamicClient, content: dict[str, Any]) -> ApplyResult:
        """Delete the object if it exists."""
        try:
            client.delete(name_of(content))
        except NotFound:
            return ApplyResult.ABSENT
        return ApplyResult.DELETED

    def _establish(self, stored: Unstructured) -> None:
        if stored.kind == _CRD and not self._dry_run:
            wait_for(self._clientset, stored, condition="Established", timeout=ESTABLISHED_TIMEOUT)

    def _client_of(self, content: dict[str, Any]) -> DynamicClient:
        group, _, version = str(content["apiVersion"]).rpartition("/")
        gvk = GroupVersionKind(group, version, str(content["kind"]))
        mapping = self._mapper.mapping(gvk.kind, gvk.group, gvk.version)
        metadata = content.get("metadata") or {}
        namespace = (metadata.get("namespace") or self._namespace) if mapping.namespaced else ""
        cls = dynamic_client(mapping.resource, kind=gvk.kind, namespaced=mapping.namespaced)
        return cls(self._clientset.requester, namespace)


def _content(obj: Any) -> dict[str, Any]:
    content: dict[str, Any] = obj.to_dict()
    for key in ("managedFields", "resourceVersion", "generation"):
        content["metadata"].pop(key, None)
    content.pop("status", None)
    return content


def _all(results: list[ObjectResult]) -> list[ObjectResult]:
    failed = [str(item) for item in results if item.error is not None]
    if failed:
        raise ManifestError(f"{len(failed)} of {len(results)} objects failed:\n" + "\n".join(failed), results)
    return results


def _ordered(manifests: Path | str) -> list[_Document]:
    return sorted(_read(manifests), key=lambda document: _rank(document.kind))


def _rank(kind: str) -> int:
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _read(manifests: Path | str) -> list[_Document]:
    texts = [("text", read_text("text", manifests))] if isinstance(manifests, str) else read_files(manifests)
    return [
        document
        for source, contents in texts
        for number, content in enumerate(contents, 1)
        if content is not None
        for document in _flat(f"{source}, document {number}", content)
    ]


def _flat(source: str, content: object) -> Iterator[_Document]:
    if isinstance(content, dict) and content.get("apiVersion") and content.get("kind"):
        if str(content["kind"]).endswith("List") and isinstance(content.get("items"), list):
            for item in content["items"]:
                yield from _flat(source, item)
            return
        if name_of(content):
            yield _Document(source, content)
            return
    raise ConfigError(f"{source} is not an object: it needs apiVersion, kind and metadata.name")
