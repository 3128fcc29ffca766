"""Token authentication and authorization by the API server: TokenReview, then SubjectAccessReview.

One ClusterRole decides (`nonResourceURLs: ["/metrics"]`, verb `get`), and no password is stored anywhere. Results are
cached for a short time, denials for a shorter one. If the API server cannot be reached, requests are denied: an outage
must not grant access. Tokens are stored only as hashes, and are never logged.
"""

import hashlib
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed
from clientgo.internal.boundeddict import BoundedDict
from clientgo.internal.callbacks import run_callback
from clientgo.kubernetes.types.authentication_v1 import TokenReview, TokenReviewSpec, UserInfo
from clientgo.kubernetes.types.authorization_v1 import (
    NonResourceAttributes,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
)
from clientgo.log import get_logger
from clientgo.serving.message import Response, ServingRequest

log = get_logger(__name__)

ReviewToken = Callable[[TokenReview], TokenReview]
ReviewAccess = Callable[[SubjectAccessReview], SubjectAccessReview]

ALLOW_SECONDS, DENY_SECONDS = 60.0, 10.0
"""Seconds for which a grant and a denial are kept."""

_UNAUTHORIZED = Response(401, "Unauthorized\n", headers={"WWW-Authenticate": "Bearer"})
_BUSY = Response(503, "Service Unavailable: too many tokens are being reviewed\n", headers={"Retry-After": "1"})
_NOT_REVIEWED = Response(500, "Internal Server Error: the API server could not review your access\n")


class TokenAuthorizer:
    """`Authorizer` that uses two calls: `token_reviews().create` and `subject_access_reviews().create`.

    The calls raise on failure and should time out after a few seconds. At most `at_once` of them run at a time, so that
    clients with invented tokens cannot overload the API server.
    """

    def __init__(
        self,
        review_token: ReviewToken,
        review_access: ReviewAccess,
        *,
        size: int = 1000,
        at_once: int = 8,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._review_token = review_token
        self._review_access = review_access
        self._reviews = threading.Semaphore(at_once)
        # Separate, so that denials, which any client can cause, never evict grants.
        self._allowed: BoundedCache[_AccessKey, bool] = BoundedCache(ALLOW_SECONDS, size, clock)
        self._denied: BoundedCache[_AccessKey, Response] = BoundedCache(DENY_SECONDS, size, clock)
        self._reachable = True

    def __repr__(self) -> str:
        return f"<TokenAuthorizer {len(self._allowed)} allowed, {len(self._denied)} denied>"

    def __call__(self, request: ServingRequest) -> Response | None:
        """Return None if the user may do this, else the response: 401, 403, or 5xx if no review was possible."""
        token = bearer_token(request.headers)
        if not token:
            return _UNAUTHORIZED
        # The verb of a path is its method in lower case, as in Kubernetes' own servers.
        key = _AccessKey(hashlib.sha256(token.encode()).digest(), request.method.lower(), request.path)
        if self._allowed.get(key):
            return None
        denied = self._denied.get(key)
        return denied if denied is not None else self._decide(token, key)

    def _decide(self, token: str, key: "_AccessKey") -> Response | None:
        if not self._reviews.acquire(blocking=False):
            return _BUSY
        try:
            denial = run_callback(self._ask, token, key)
        except CallbackFailed as error:
            if self._reachable:  # logged once, not for every scrape
                # The error text comes from outside, and might contain the token.
                reason = str(error).replace(token, "<the token>")
                log.warning("cannot review tokens; denying access", extra={"err": reason, "path": key.path})
            self._reachable = False
            return _NOT_REVIEWED
        finally:
            self._reviews.release()
        self._reachable = True
        if denial is None:
            self._allowed.put(key, True)
        else:
            self._denied.put(key, denial)
        return denial

    def _ask(self, token: str, key: "_AccessKey") -> Response | None:
        reviewed = self._review_token(TokenReview(spec=TokenReviewSpec(token=token))).status
        if not reviewed.authenticated or reviewed.user is None:
            return _UNAUTHORIZED
        status = self._review_access(SubjectAccessReview(spec=_spec_for(reviewed.user, key))).status
        if status.allowed and not status.denied:
            return None
        sentence = f'Forbidden: user "{reviewed.user.username}" cannot {key.verb} path "{key.path}"'
        return Response(403, f"{sentence}: {status.reason}\n" if status.reason else f"{sentence}\n")


@dataclass(frozen=True, slots=True)
class _AccessKey:
    token: bytes
    verb: str
    path: str


def bearer_token(headers: Mapping[str, str]) -> str:
    """Return the token of the Authorization header; empty if there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _spec_for(user: UserInfo, key: _AccessKey) -> SubjectAccessReviewSpec:
    return SubjectAccessReviewSpec(
        user=user.username,
        groups=user.groups,
        uid=user.uid,
        extra=user.extra,
        non_resource_attributes=NonResourceAttributes(path=key.path, verb=key.verb),
    )


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Thread-safe cache of at most `size` values, each for `ttl` seconds; the oldest are evicted first."""

    def __init__(self, ttl: float, size: int, clock: Clock) -> None:
        self._ttl = ttl
        self._clock = clock
        self._lock = threading.Lock()
        # All have the same time to live: they expire in the order of insertion.
        self._answers: BoundedDict[K, tuple[float, V]] = BoundedDict(size)

    def __repr__(self) -> str:
        return f"<BoundedCache {len(self)} of {self._answers.size}>"

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: K) -> V | None:
        """Return the value, or None if it is missing or has expired."""
        with self._lock:
            until, value = self._answers.get(key, (0.0, None))
            return value if value is not None and self._clock.now() < until else None

    def put(self, key: K, value: V) -> None:
        """Store a value."""
        now = self._clock.now()
        with self._lock:
            self._answers[key] = now + self._ttl, value
            while self._answers and next(iter(self._answers.values()))[0] <= now:
                self._answers.popitem(last=False)
