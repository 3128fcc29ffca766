"""Who may read the metrics: the API server is asked, with a TokenReview and then a SubjectAccessReview.

So one ClusterRole decides (`nonResourceURLs: ["/metrics"]`, verb `get`), and no password is kept anywhere. Answers are
kept for a short time, refusals shorter. When the API server can't be asked nobody gets in: an outage must not open a
door. Tokens are kept as hashes only, and are never logged.
"""

import hashlib
import logging
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from clientgo.boundeddict import BoundedDict
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.kubernetes.types.authentication_v1 import TokenReview, TokenReviewSpec, UserInfo
from clientgo.kubernetes.types.authorization_v1 import (
    NonResourceAttributes,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
)
from clientgo.serving.message import Response, ServingRequest

log = logging.getLogger(__name__)

ReviewToken = Callable[[TokenReview], TokenReview]
ReviewAccess = Callable[[SubjectAccessReview], SubjectAccessReview]

_UNAUTHORIZED = Response(401, "Unauthorized\n", headers={"WWW-Authenticate": "Bearer"})
_BUSY = Response(503, "Service Unavailable: too many tokens are being reviewed\n", headers={"Retry-After": "1"})
_UNASKED = Response(500, "Internal Server Error: the API server could not be asked whether you may read this\n")


class TokenAuthorizer:
    """An `Authorizer` that asks through two calls: `token_reviews().create` and `subject_access_reviews().create`.

    The calls raise `ClientGoError` where there is no answer; they should give up after a few seconds. At most
    `at_once` of them are made at a time: whoever sends tokens he made up can't turn us against the API server.
    """

    def __init__(
        self,
        review_token: ReviewToken,
        review_access: ReviewAccess,
        *,
        allow_seconds: float = 60.0,
        deny_seconds: float = 10.0,
        size: int = 1000,
        at_once: int = 8,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._review_token = review_token
        self._review_access = review_access
        self._asking = threading.Semaphore(at_once)
        # Apart, so that refusals, which anybody can cause, never push out what is allowed.
        self._allowed: BoundedCache[_Question, bool] = BoundedCache(allow_seconds, size, clock)
        self._refused: BoundedCache[_Question, Response] = BoundedCache(deny_seconds, size, clock)
        self._reachable = True

    def __repr__(self) -> str:
        return f"<TokenAuthorizer {len(self._allowed)} allowed, {len(self._refused)} refused>"

    def __call__(self, request: ServingRequest) -> Response | None:
        """None if the bearer may do this, else the refusal: 401, 403, or 5xx where nobody could be asked."""
        token = bearer_token(request.headers)
        if not token:
            return _UNAUTHORIZED
        # The verb of a path is its method in lower case, as Kubernetes' own servers have it.
        asked = _Question(hashlib.sha256(token.encode()).digest(), request.method.lower(), request.path)
        if self._allowed.get(asked):
            return None
        known = self._refused.get(asked)
        return known if known is not None else self._decide(token, asked)

    def _decide(self, token: str, asked: "_Question") -> Response | None:
        if not self._asking.acquire(blocking=False):
            return _BUSY
        try:
            refusal = self._ask(token, asked)
        except ClientGoError as error:
            if self._reachable:  # told once: every scrape would say the same
                # What came back is somebody else's text, and might hold what was sent.
                why = str(error).replace(token, "<the token>")
                log.warning("tokens can't be reviewed; nobody gets in", extra={"err": why, "path": asked.path})
            self._reachable = False
            return _UNASKED
        finally:
            self._asking.release()
        self._reachable = True
        if refusal is None:
            self._allowed.put(asked, True)
        else:
            self._refused.put(asked, refusal)
        return refusal

    def _ask(self, token: str, asked: "_Question") -> Response | None:
        reviewed = self._review_token(TokenReview(spec=TokenReviewSpec(token=token))).status
        if not reviewed.authenticated or reviewed.user is None:
            return _UNAUTHORIZED
        answer = self._review_access(SubjectAccessReview(spec=_question_of(reviewed.user, asked))).status
        if answer.allowed and not answer.denied:
            return None
        sentence = f'Forbidden: user "{reviewed.user.username}" cannot {asked.verb} path "{asked.path}"'
        return Response(403, f"{sentence}: {answer.reason}\n" if answer.reason else f"{sentence}\n")


@dataclass(frozen=True, slots=True)
class _Question:
    token: bytes
    verb: str
    path: str


def bearer_token(headers: Mapping[str, str]) -> str:
    """The token of an Authorization header; empty if there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _question_of(user: UserInfo, asked: _Question) -> SubjectAccessReviewSpec:
    return SubjectAccessReviewSpec(
        user=user.username,
        groups=user.groups,
        uid=user.uid,
        extra=user.extra,
        non_resource_attributes=NonResourceAttributes(path=asked.path, verb=asked.verb),
    )


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Thread-safe; an answer is forgotten after `ttl` seconds, or when it is the oldest of more than `size`."""

    def __init__(self, ttl: float, size: int, clock: Clock) -> None:
        self._ttl = ttl
        self._clock = clock
        self._lock = threading.Lock()
        # One time to live for all: the order of insertion is that of expiry.
        self._answers: BoundedDict[K, tuple[float, V]] = BoundedDict(size)

    def __repr__(self) -> str:
        return f"<BoundedCache {len(self)} of {self._answers.size}>"

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: K) -> V | None:
        """The answer, if it is known and young enough."""
        with self._lock:
            until, answer = self._answers.get(key, (0.0, None))
            return answer if answer is not None and self._clock.now() < until else None

    def put(self, key: K, answer: V) -> None:
        """Keep an answer from now on."""
        now = self._clock.now()
        with self._lock:
            self._answers[key] = now + self._ttl, answer
            while next(iter(self._answers.values()))[0] <= now:
                self._answers.popitem(last=False)
