"""Service account of a manager under test, with the permissions of the role that is generated from `@rbac`.

    with ManagerAccount(environment, "config/rbac/role.yaml") as account, account.client() as client:
        manager = Manager(client)

The test fails if the server rejects a request of the client because a permission is missing, and the failure has the
`@rbac` declaration to add. Denials by admission (webhooks, policies, quotas) have the same code, 403, but no permission
grants these requests: as rejections of other codes, they are left to the manager.
"""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.envtest.crds import POLL_SECONDS, WAIT_SECONDS, Object, install_objects, read_documents, uninstall_objects
from clientgo.envtest.environment import Environment
from clientgo.errors import ConfigError, Forbidden
from clientgo.kubernetes.clients.authorization_v1 import AuthorizationV1
from clientgo.kubernetes.types.authorization_v1 import (
    ResourceAttributes,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
)
from clientgo.meta.codec import identity
from clientgo.meta.objects import GroupVersionResource
from clientgo.meta.scheme import plural_of
from clientgo.rest import Config, RESTClient
from clientgo.rest.request import ByteStream, EventStream, Request
from clientgo.rest.transport import Duplex, Headers

_GROUP = "rbac.authorization.k8s.io"
_ROLES = GroupVersionResource(_GROUP, "v1", "clusterroles")
_BINDINGS = GroupVersionResource(_GROUP, "v1", "clusterrolebindings")
_REFUSED = re.compile(r'cannot (\S+) resource "([^"]+)" in API group "([^"]*)"')
_OWNED, _BLOCKING = "cannot set an ownerRef on a resource you can't delete", "cannot set blockOwnerDeletion if"
_ESCALATION = "is attempting to grant RBAC permissions not currently held"
_SIGNER = "user not permitted to "
"""Beginning of the reasons why a user may not approve or sign a CertificateSigningRequest."""

Permission = tuple[str, str, str]
"""API group, resource and verb."""


class ManagerAccount:
    """Service account that has the permissions of the roles in a file, for the time of a `with` block.

    A Role grants its permissions in all namespaces here, because tests use others than the deployed manager.
    """

    def __init__(
        self,
        environment: Environment,
        role: Path | str,
        *,
        name: str = "controller-manager",
        namespace: str = "system",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._environment = environment
        self._file = Path(role)
        self._clock = clock
        self._role_name = f"clientgo-envtest:{namespace}:{name}"
        self._user = f"system:serviceaccount:{namespace}:{name}"
        self._groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")

    def __repr__(self) -> str:
        return f"<ManagerAccount {self._user} with {self._file}>"

    def __enter__(self) -> Self:
        """Install the role, and wait until the server grants its permissions.

        Raises:
            ConfigError: the file does not exist, or the server does not grant the permissions.
            ApiError: the server rejects the role.
        """
        if not self._file.exists():
            raise ConfigError(f"{self._file} does not exist: run make manifests")
        rules = [rule for doc in read_documents([self._file]) for rule in doc.get("rules") or ()]
        role: Object = {"metadata": {"name": self._role_name}, "rules": rules}
        binding: Object = {
            "metadata": {"name": self._role_name},
            "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": self._role_name},
            "subjects": [{"apiGroup": _GROUP, "kind": "User", "name": self._user}],
        }
        with closing(RESTClient(self._environment.config)) as admin:
            install_objects(admin, _ROLES, [role])
            install_objects(admin, _BINDINGS, [binding])
            for rule in rules:
                if rule.get("resources"):
                    self._wait_until_granted(admin, rule)
        self.config: Config = self._environment.add_user(self._user, *self._groups)
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the role."""
        with closing(RESTClient(self._environment.config)) as admin:
            for resource in (_BINDINGS, _ROLES):
                uninstall_objects(admin, resource, [{"metadata": {"name": self._role_name}}])

    @contextmanager
    def client(self) -> Iterator[RESTClient]:
        """Return a client of the account for a `with` block.

        Raises:
            AssertionError: at the end of the block, if the server rejected a request for a missing permission.
        """
        with closing(_RecordingClient(self.config, self._user)) as client:
            try:
                yield client
            finally:
                if client.refused:
                    raise AssertionError(
                        f"{self._file} lacks permissions that were used; declare them and run make manifests:\n"
                        + "\n".join(_declarations(client.refused))
                    )

    def _wait_until_granted(self, admin: RESTClient, rule: Mapping[str, Any]) -> None:
        # The authorizer of a cluster reads roles from a cache.
        resource, _, subresource = rule["resources"][0].partition("/")
        name = (rule.get("resourceNames") or [""])[0]
        spec = SubjectAccessReviewSpec(
            user=self._user,
            groups=self._groups,
            resource_attributes=ResourceAttributes(
                verb=rule["verbs"][0], group=rule["apiGroups"][0], resource=resource, subresource=subresource, name=name
            ),
        )
        reviews = AuthorizationV1(admin).subject_access_reviews()
        deadline = self._clock.now() + WAIT_SECONDS
        while True:
            if reviews.create(SubjectAccessReview(spec=spec)).status.allowed:
                return
            if self._clock.now() >= deadline:
                raise ConfigError(f"{self._user} is not granted {rule} of {self._file} after {WAIT_SECONDS:g} s")
            self._clock.poll(threading.Event(), POLL_SECONDS)


class _RecordingClient(RESTClient):
    """Client that keeps the messages of requests without permission, because a manager logs and retries them."""

    def __init__(self, config: Config, user: str) -> None:
        super().__init__(config)
        self._signs = (f'User "{user}" cannot ', _OWNED, _BLOCKING, _ESCALATION, _SIGNER)
        self.refused: dict[str, list[Permission]] = {}

    def do(self, request: Request) -> bytes:
        with self._recorded(request):
            return super().do(request)

    def watch(self, request: Request) -> EventStream:
        with self._recorded(request):
            return super().watch(request)

    def stream(self, request: Request) -> ByteStream:
        with self._recorded(request):
            try:
                return super().stream(request)
            except Forbidden as error:
                if request.verb == "list":  # an informer's, which watches next
                    self._add(str(error).replace("cannot list", "cannot watch", 1), request)
                raise

    def upgrade(self, request: Request, headers: Headers) -> Duplex:
        with self._recorded(request):
            return super().upgrade(request, headers)

    @contextmanager
    def _recorded(self, request: Request) -> Iterator[None]:
        try:
            yield
        except Forbidden as error:
            self._add(str(error), request)
            raise

    def _add(self, message: str, request: Request) -> None:
        if any(sign in message for sign in self._signs):
            self.refused[message] = list(_missing(message, request))


def _missing(message: str, request: Request) -> Iterator[Permission]:
    """Yield the permissions that a rejected request lacks, as far as its message says."""
    if match := _REFUSED.search(message):
        yield match[3], match[2], match[1]
    elif _OWNED in message:
        yield request.resource.group, request.resource.resource, "delete"
    elif _BLOCKING in message:
        for owner in identity(request.body or b"{}").owner_references:
            if owner.block_owner_deletion:
                yield owner.api_version.rpartition("/")[0], f"{plural_of(owner.kind.lower())}/finalizers", "update"


def _declarations(refused: Mapping[str, Sequence[Permission]]) -> Iterator[str]:
    """Yield the declarations that permit the refused requests, and the messages of refusals without a rule."""
    rules = sorted({rule for missing in refused.values() for rule in missing})
    for (group, resource), same in groupby(rules, key=lambda rule: rule[:2]):
        verbs = tuple(verb for *_, verb in same)
        verbs_text = f'"{verbs[0]}"' if len(verbs) == 1 else "({})".format(", ".join(f'"{verb}"' for verb in verbs))
        yield f'@rbac(groups="{group or "core"}", resources="{resource}", verbs={verbs_text})'
    yield from (message for message, missing in refused.items() if not missing)
