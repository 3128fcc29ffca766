"""Server-side apply, creation and deletion of YAML with objects of several kinds (`kubectl apply --server-side`).

    for result in apply_yaml(clientset, Path("deploy"), field_manager="installer"):
        print(result)  # deploy/crds.yaml, document 1: CustomResourceDefinition foos.example.com: created

Each document has an outcome, an error included: a failure does not prevent the others.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, NamedTuple

from clientgo.clock import SYSTEM_CLOCK
from clientgo.dynamic.client import DynamicClient, DynamicClientset, dynamic_client
from clientgo.dynamic.mapper import NoMatch, RestMapper
from clientgo.dynamic.unstructured import Unstructured
from clientgo.dynamic.waiting import WaitTimeout, has_condition, wait_for
from clientgo.errors import ClientGoError, ConfigError, NotFound
from clientgo.meta.codec import from_dict
from clientgo.meta.manifests import name_of, read_files, read_text, text_in_metadata
from clientgo.meta.objects import LAST_APPLIED
from clientgo.meta.yamlio import to_yaml
from clientgo.rest.limits import started_deadline

ESTABLISHED_TIMEOUT = 60.0
"""Maximum seconds until an applied CustomResourceDefinition is served."""

_POLL_SECONDS = 0.1

Manifests = Path | str | IO[str] | IO[bytes]
"""File or folder, text, or open file such as `sys.stdin`."""

_BY_SERVER = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")
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
    """Outcome for one document: a result, or the error; of an apply, also the object `before` and `after`."""

    source: str
    kind: str
    name: str
    result: ApplyResult | None
    error: Exception | None = None
    before: Unstructured | None = None
    after: Unstructured | None = None

    def __str__(self) -> str:
        return f"{self.source}: {self.kind} {self.name}: {self.result or self.error}"

    @property
    def diff(self) -> str:
        """Changed lines of the YAML, without what the server maintains; values of Secrets are hidden.

        After a dry run, the lines that would change.
        """
        before, after = (None if obj is None else _content(obj) for obj in (self.before, self.after))
        if self.kind == "Secret":
            _hide(before or {}, after or {})
        old, new = (
            to_yaml(each, sort_keys=True, literal=True).splitlines() if each else [] for each in (before, after)
        )
        return "\n".join(unified_diff(old, new, f"{self.kind} {self.name}", self.source, lineterm=""))


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

    @property
    def name(self) -> str:
        return name_of(self.content) or text_in_metadata(self.content, "generateName")

    @property
    def group(self) -> str:
        return str(self.content["apiVersion"]).rpartition("/")[0]

    @property
    def namespace(self) -> str:
        return (self.content.get("metadata") or {}).get("namespace") or ""


def apply_yaml(
    clientset: DynamicClientset,
    manifests: Manifests,
    *,
    field_manager: str,
    namespace: str = "default",
    force: bool = False,
    dry_run: bool = False,
) -> list[ObjectResult]:
    """Apply each object of a file, of the files of a folder, of a text or stream; return the outcomes in their order.

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
    manifests: Manifests,
    *,
    field_manager: str = "",
    namespace: str = "default",
    dry_run: bool = False,
) -> list[ObjectResult]:
    """Create each object, in the order of `apply_yaml`; raise as it does. An object that exists is an error.

    An object may have a `generateName` instead of a name.
    """
    writer = _Writer(clientset, namespace, field_manager=field_manager, dry_run=dry_run)
    return _all([writer.attempt(document, writer.created) for document in _ordered(manifests, generated=True)])


def delete_yaml(clientset: DynamicClientset, manifests: Manifests, *, namespace: str = "default") -> list[ObjectResult]:
    """Delete each object, in the reverse order of `apply_yaml`; raise as it does."""
    writer = _Writer(clientset, namespace)
    return _all([writer.attempt(document, writer.deleted) for document in reversed(_ordered(manifests))])


_Effect = tuple[ApplyResult, Unstructured | None, Unstructured | None]


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

    def attempt(self, document: _Document, write: Callable[[DynamicClient, dict[str, Any]], _Effect]) -> ObjectResult:
        """Write the object; return its result or error."""
        try:
            result, before, after = write(self._client_of(document), document.content)
        except (ClientGoError, NoMatch) as error:
            return ObjectResult(document.source, document.kind, document.name, None, error)
        name = document.name if after is None else after.metadata.name
        return ObjectResult(document.source, document.kind, name, result, before=before, after=after)

    def applied(self, client: DynamicClient, content: dict[str, Any]) -> _Effect:
        """Apply the object."""
        try:
            before = client.get(name_of(content))
        except NotFound:
            before = None
        if before is not None and not before.metadata.managed_fields and _sets_nothing(content):
            # The server would record all fields as owned by no known manager ("before-first-apply").
            return ApplyResult.UNCHANGED, before, before
        after = client.apply(content, field_manager=self._field_manager, force=self._force, dry_run=self._dry_run)
        self._establish(after, before)
        if before is None:
            return ApplyResult.CREATED, None, after
        is_unwritten = before.metadata.resource_version == after.metadata.resource_version and not self._dry_run
        is_same = is_unwritten or _content(before) == _content(after)
        return ApplyResult.UNCHANGED if is_same else ApplyResult.CONFIGURED, before, after

    def created(self, client: DynamicClient, content: dict[str, Any]) -> _Effect:
        """Create the object."""
        obj: Unstructured = from_dict(client.kind, content)
        created = client.create(obj, field_manager=self._field_manager, dry_run=self._dry_run)
        self._establish(created, None)
        return ApplyResult.CREATED, None, created

    def deleted(self, client: DynamicClient, content: dict[str, Any]) -> _Effect:
        """Delete the object if it exists."""
        try:
            client.delete(name_of(content))
        except NotFound:
            return ApplyResult.ABSENT, None, None
        return ApplyResult.DELETED, None, None

    def _establish(self, stored: Unstructured, before: Unstructured | None) -> None:
        """Wait until a CustomResourceDefinition is served, with its new versions."""
        if stored.kind != _CRD or self._dry_run:
            return
        if not has_condition(stored, "Established"):
            wait_for(self._clientset, stored, condition="Established", timeout=ESTABLISHED_TIMEOUT)
        if before is None or before.metadata.generation != stored.metadata.generation:
            self._await_served(stored)

    def _await_served(self, stored: Unstructured) -> None:
        # The condition stays True when a definition changes, and a server learns of it a little later.
        deadline, discovery = started_deadline(ESTABLISHED_TIMEOUT), self._clientset.discovery
        group, kind = stored.get("spec", "group"), stored.get("spec", "names", "kind")
        for version in stored.get("spec", "versions", default=()):
            name = f"{group}/{version['name']}"
            while version["served"] and not discovery.serves(name, kind):
                if deadline.passed:
                    raise WaitTimeout(f"{kind} of {name} is not served within {deadline}", stored)
                SYSTEM_CLOCK.sleep(threading.Event(), _POLL_SECONDS)

    def _client_of(self, document: _Document) -> DynamicClient:
        version = str(document.content["apiVersion"]).rpartition("/")[2]
        mapping = self._mapper.mapping(document.kind, document.group, version)
        namespace = (document.namespace or self._namespace) if mapping.namespaced else ""
        cls = dynamic_client(mapping.resource, kind=document.kind, namespaced=mapping.namespaced)
        return cls(self._clientset.requester, namespace)


def _content(obj: Any) -> dict[str, Any]:
    content: dict[str, Any] = obj.to_dict()
    for key in _BY_SERVER:
        content["metadata"].pop(key, None)
    content.pop("status", None)
    return content


def _sets_nothing(content: Mapping[str, Any]) -> bool:
    metadata = content.get("metadata") or {}
    return content.keys() <= {"apiVersion", "kind", "metadata"} and metadata.keys() <= {"name", "namespace"}


def _hide(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Replace the values of a Secret by stars, so that only the names of changed ones are shown."""
    for key in ("data", "stringData"):
        old, new = before.get(key) or {}, after.get(key) or {}
        for content, values, text in ((before, old, "*** (before)"), (after, new, "*** (after)")):
            if values:
                content[key] = {name: "***" if old.get(name) == new.get(name) else text for name in values}
    for content in (before, after):
        (content.get("metadata", {}).get("annotations") or {}).pop(LAST_APPLIED, None)


def _all(results: list[ObjectResult]) -> list[ObjectResult]:
    failed = [str(item) for item in results if item.error is not None]
    if failed:
        raise ManifestError(f"{len(failed)} of {len(results)} objects failed:\n" + "\n".join(failed), results)
    return results


def _ordered(manifests: Manifests, *, generated: bool = False) -> list[_Document]:
    """Return the objects in the order of writes; with `generated`, a `generateName` may stand for the name."""
    documents = _read(manifests)
    for document in documents:
        if not generated and not name_of(document.content):
            raise _not_an_object(document.source)
    return sorted(documents, key=lambda document: _rank(document.kind))


def _not_an_object(source: str) -> ConfigError:
    return ConfigError(f"{source} is not an object: it needs apiVersion, kind and metadata.name")


def _rank(kind: str) -> int:
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _read(manifests: Manifests) -> list[_Document]:
    return [
        document
        for source, contents in _texts(manifests)
        for number, content in enumerate(contents, 1)
        if content is not None
        for document in _flat(f"{source}, document {number}", content)
    ]


def _texts(manifests: Manifests) -> Iterable[tuple[str, list[Any]]]:
    if isinstance(manifests, Path):
        return read_files(manifests)
    if isinstance(manifests, str):
        return [("text", read_text("text", manifests))]
    source, content = str(getattr(manifests, "name", "stream")), manifests.read()
    try:
        return [(source, read_text(source, content if isinstance(content, str) else content.decode()))]
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source} cannot be read as YAML: {error}") from error


def _flat(source: str, content: object) -> Iterator[_Document]:
    if isinstance(content, dict) and content.get("apiVersion") and content.get("kind"):
        kind = str(content["kind"])
        if kind.endswith("List") and isinstance(content.get("items"), list):
            # The items of a list of one kind need not say what they are.
            of = {} if kind == "List" else {"apiVersion": content["apiVersion"], "kind": kind.removesuffix("List")}
            for item in content["items"]:
                yield from _flat(source, {**of, **item} if isinstance(item, dict) else item)
            return
        document = _Document(source, content)
        if document.name:
            yield document
            return
    raise _not_an_object(source)
