"""Token authorization: by the bundled server with RBAC, and with failing reviews."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from clientgo.envtest import BundledServer, Environment
from clientgo.errors import ApiError, ConnectionFailed, Forbidden
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.authentication_v1 import TokenReview, TokenReviewStatus, UserInfo
from clientgo.kubernetes.types.authorization_v1 import SubjectAccessReview, SubjectAccessReviewStatus
from clientgo.kubernetes.types.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject
from clientgo.meta import ObjectMeta
from clientgo.meta.codec import Undecodable
from clientgo.serving import Response, ServingRequest
from clientgo.serving.authorization import BoundedCache, TokenAuthorizer, bearer_token
from clientgo.serving.routing import Router
from clientgo.testing.clock import FakeClock
from tests.serving.serving_client import Answer, ask, serving

CANARY = "canary-token-7d1f"


class FakeCluster:
    """Cluster with tokens by name and permitted paths; counts reviews."""

    def __init__(self) -> None:
        self.users: dict[str, str] = {CANARY: "jane"}
        self.rights: set[tuple[str, str, str]] = {("jane", "get", "/metrics")}
        self.asked: list[str] = []
        self.fault: ApiError | ConnectionFailed | None = None
        self.reason = ""

    def review_token(self, review: TokenReview) -> TokenReview:
        self.asked.append("token")
        if self.fault is not None:
            raise self.fault
        name = self.users.get(review.spec.token)
        user = UserInfo(username=name, uid="7", groups=("g",), extra={"k": ("v",)}) if name else None
        return TokenReview(status=TokenReviewStatus(authenticated=name is not None, user=user))

    def review_access(self, review: SubjectAccessReview) -> SubjectAccessReview:
        spec = review.spec
        assert spec.non_resource_attributes is not None
        assert (spec.uid, spec.groups, dict(spec.extra)) == ("7", ("g",), {"k": ("v",)})
        verb, path = spec.non_resource_attributes.verb, spec.non_resource_attributes.path
        self.asked.append(f"{verb} {path}")
        allowed = (spec.user, verb, path) in self.rights
        return SubjectAccessReview(status=SubjectAccessReviewStatus(allowed=allowed, reason=self.reason))


class Case:
    def __init__(self, **options: int) -> None:
        self.cluster, self.clock = FakeCluster(), FakeClock()
        self.authorizer = TokenAuthorizer(
            self.cluster.review_token, self.cluster.review_access, clock=self.clock, **options
        )

    def status(self, token: str = CANARY, path: str = "/metrics", method: str = "GET") -> int:
        """Return the status of the response; 200 if the request may pass."""
        refusal = self.refusal(token, path, method)
        return 200 if refusal is None else refusal.status

    def refusal(self, token: str = CANARY, path: str = "/metrics", method: str = "GET") -> Response | None:
        return self.authorizer(ServingRequest(method, path, headers={"authorization": f"Bearer {token}"}))


@pytest.fixture
def case() -> Case:
    return Case()


def test_allowed_access_is_cached_for_a_minute(case: Case) -> None:
    assert [case.status() for _ in range(3)] == [200] * 3
    assert case.cluster.asked == ["token", "get /metrics"]
    case.clock.step(60)
    assert case.status() == 200
    assert len(case.cluster.asked) == 4


def test_denial_is_cached_for_a_shorter_time(case: Case) -> None:
    assert [case.status("made-up") for _ in range(3)] == [401] * 3
    assert case.cluster.asked == ["token"]
    case.cluster.users["made-up"] = "jane"
    case.clock.step(10)
    assert case.status("made-up") == 200


def test_each_path_and_verb_is_reviewed(case: Case) -> None:
    assert case.status() == 200
    assert case.status(path="/debug/queue") == 403
    assert case.status(method="HEAD") == 403
    assert case.status(method="PUT") == 403
    assert case.cluster.asked[1::2] == ["get /metrics", "get /debug/queue", "head /metrics", "put /metrics"]


def test_denial_has_kubernetes_message(case: Case) -> None:
    refusal = case.refusal(path="/debug/queue")
    assert refusal is not None
    assert refusal.body == 'Forbidden: user "jane" cannot get path "/debug/queue"\n'
    case.cluster.reason = "no rule"
    refusal = case.refusal(path="/debug/caches")
    assert refusal is not None
    assert refusal.body == 'Forbidden: user "jane" cannot get path "/debug/caches": no rule\n'


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer a.b", "a.b"), ("bearer  a", "a"), ("Basic a", ""), ("Bearer", ""), ("Bearer ", ""), ("", "")],
)
def test_bearer_token_is_parsed(header: str, token: str) -> None:
    assert bearer_token({"authorization": header}) == token
    assert bearer_token({}) == ""


def test_request_without_a_token_needs_no_review(case: Case) -> None:
    refusal = case.authorizer(ServingRequest("GET", "/metrics"))
    assert refusal is not None
    assert (refusal.status, refusal.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert case.cluster.asked == []


@pytest.mark.parametrize("fault", [ConnectionFailed("refused"), Forbidden("may not create tokenreviews")])
def test_access_is_denied_while_the_api_server_is_unreachable(
    case: Case, fault: ApiError | ConnectionFailed, caplog: pytest.LogCaptureFixture
) -> None:
    case.cluster.fault = fault
    assert [case.status() for _ in range(3)] == [500] * 3
    assert [record.msg for record in caplog.records] == ["cannot review tokens; denying access"]
    case.cluster.fault = None
    assert case.status() == 200, "a failure must not be cached"
    case.cluster.fault = fault
    assert case.status("another") == 500
    assert len(caplog.records) == 2, "it had been reached in between"


def test_cached_access_survives_a_short_outage(case: Case) -> None:
    assert case.status() == 200
    case.cluster.fault = ConnectionFailed("refused")
    case.clock.step(59)
    assert case.status() == 200
    case.clock.step(1)
    assert case.status() == 500


def test_review_without_a_user_is_a_denial(case: Case) -> None:
    token_authorizer = TokenAuthorizer(
        lambda review: TokenReview(status=TokenReviewStatus(authenticated=True)), case.cluster.review_access
    )
    refusal = token_authorizer(ServingRequest("GET", "/metrics", headers={"authorization": "Bearer x"}))
    assert refusal is not None
    assert refusal.status == 401


def test_denied_overrides_allowed(case: Case) -> None:
    both = SubjectAccessReview(status=SubjectAccessReviewStatus(allowed=True, denied=True))
    token_authorizer = TokenAuthorizer(case.cluster.review_token, lambda _: both)
    refusal = token_authorizer(ServingRequest("GET", "/metrics", headers={"authorization": f"Bearer {CANARY}"}))
    assert refusal is not None
    assert refusal.status == 403


def test_invented_tokens_do_not_evict_grants() -> None:
    case = Case(size=10)
    assert case.status() == 200
    assert {case.status(f"made-up-{number}") for number in range(100)} == {401}
    case.cluster.asked.clear()
    assert case.status() == 200
    assert case.cluster.asked == []
    assert repr(case.authorizer) == "<TokenAuthorizer 1 allowed, 10 denied>"


def test_concurrent_reviews_are_limited() -> None:
    inner: list[int] = []

    def review(_: TokenReview) -> TokenReview:
        inner.append(status("another"))
        return TokenReview(status=TokenReviewStatus(authenticated=False))

    token_authorizer = TokenAuthorizer(review, lambda review: review, at_once=1)

    def status(token: str) -> int:
        refusal = token_authorizer(ServingRequest("GET", "/metrics", headers={"authorization": f"Bearer {token}"}))
        return 200 if refusal is None else refusal.status

    assert (status("one"), inner) == (401, [503])


@pytest.mark.parametrize("error", [ValueError, SystemExit, partial(Undecodable, "TokenReview", ObjectMeta())])
def test_review_that_raises_anything_denies_access_and_does_not_log_the_token(
    error: Callable[[str], BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def review(_: TokenReview) -> TokenReview:
        raise error(f"cannot review {CANARY}")

    request = ServingRequest("GET", "/metrics", headers={"authorization": f"Bearer {CANARY}"})
    refusal = Router({"/metrics": lambda _: Response(200, "")}, TokenAuthorizer(review, lambda access: access))
    assert refusal.answer(request).status == 500
    assert "cannot review tokens" in caplog.text
    assert CANARY not in caplog.text


@pytest.mark.integration
def test_no_token_is_logged_or_shown(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    case.cluster.fault = Forbidden(f'tokenreviews "{CANARY}" is forbidden')
    routes = {"/metrics": lambda _: Response(200, "numbers"), "/fails": lambda request: Response(200, request.nothing)}
    with serving(routes, authorizer=case.authorizer) as server:
        headers = {"Authorization": f"Bearer {CANARY}"}
        answers = [ask(server, "/metrics", headers=headers)]
        case.cluster.fault = None
        case.cluster.rights.add(("jane", "get", "/fails"))
        answers += [ask(server, path, headers=headers) for path in ("/metrics", "/fails", "/none", "/metrics")]
        answers += [ask(server, "/metrics", headers={"Authorization": f"Bearer {CANARY}x"})]
        rendered = repr((server, case.authorizer, vars(case.authorizer)))
    assert [response.status for response in answers] == [500, 200, 500, 404, 200, 401]
    assert len(caplog.records) >= 8
    assert CANARY not in rendered
    assert CANARY not in caplog.text
    assert not any(CANARY in str(vars(record)) for record in caplog.records)
    assert not any(CANARY in str(reply) for reply in answers)


def test_cache_evicts_oldest_and_expired_values() -> None:
    clock = FakeClock()
    cache: BoundedCache[str, int] = BoundedCache(10.0, 2, clock)
    cache.put("a", 1)
    clock.step(1)
    cache.put("b", 2)
    cache.put("a", 3)
    cache.put("c", 4)
    assert [cache.get(key) for key in "abc"] == [3, None, 4]
    clock.step(10)
    assert [cache.get(key) for key in "abc"] == [None, None, None]
    cache.put("d", 5)
    assert repr(cache) == "<BoundedCache 1 of 2>"


def test_cache_without_a_time_to_live_keeps_nothing() -> None:
    cache: BoundedCache[str, int] = BoundedCache(0.0, 2, FakeClock())
    cache.put("a", 1)
    assert (cache.get("a"), len(cache)) == (None, 0)


class Cluster:
    """Bundled server with TLS, tokens and RBAC. The controller may review, Prometheus may read."""

    def __init__(self, environment: Environment) -> None:
        admin = Clientset(environment.start())
        self.config = environment.add_user("system:serviceaccount:default:controller")
        self.reader = environment.add_user("prometheus")
        self.stranger = environment.add_user("stranger")
        review = PolicyRule(api_groups=("authentication.k8s.io",), resources=("tokenreviews",), verbs=("create",))
        access = PolicyRule(
            api_groups=("authorization.k8s.io",), resources=("subjectaccessreviews",), verbs=("create",)
        )
        self._grant(admin, "metrics-auth", (review, access), "system:serviceaccount:default:controller")
        metrics = PolicyRule(non_resource_urls=("/metrics",), verbs=("get",))
        self._grant(admin, "metrics-reader", (metrics,), "prometheus")
        admin.close()

    def _grant(self, admin: Clientset, name: str, rules: tuple[PolicyRule, ...], user: str) -> None:
        metadata, group = ObjectMeta(name=name), "rbac.authorization.k8s.io"
        admin.rbac_v1.cluster_roles().create(ClusterRole(metadata=metadata, rules=rules))
        subject = Subject(kind="User", name=user, api_group=group)
        role = RoleRef(api_group=group, kind="ClusterRole", name=name)
        admin.rbac_v1.cluster_role_bindings().create(
            ClusterRoleBinding(metadata=metadata, subjects=(subject,), role_ref=role)
        )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    environment = Environment(server=BundledServer(secure=True))
    try:
        yield Cluster(environment)
    finally:
        environment.stop()


def asking(clientset: Clientset) -> TokenAuthorizer:
    return TokenAuthorizer(
        clientset.authentication_v1.token_reviews().create, clientset.authorization_v1.subject_access_reviews().create
    )


@pytest.mark.integration
@pytest.mark.feature("A-24")
def test_cluster_decides_by_its_roles(cluster: Cluster) -> None:
    clientset = Clientset(replace(cluster.config, timeout=5.0))
    with serving({"/metrics": lambda _: Response(200, "numbers")}, authorizer=asking(clientset)) as server:

        def scrape(token: str) -> Answer:
            return ask(server, "/metrics", headers={"Authorization": f"Bearer {token}"})

        assert ask(server, "/metrics").status == 401
        assert scrape("made-up").status == 401
        refused = scrape(cluster.stranger.token)
        assert refused.status == 403
        assert refused.body.startswith('Forbidden: user "stranger" cannot get path "/metrics"')
        assert scrape(cluster.reader.token).body == "numbers"
    clientset.close()


@pytest.mark.integration
def test_controller_without_review_permission_denies_access(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    clientset = Clientset(replace(cluster.stranger, timeout=5.0))
    with serving({"/metrics": lambda _: Response(200, "numbers")}, authorizer=asking(clientset)) as server:
        response = ask(server, "/metrics", headers={"Authorization": f"Bearer {cluster.reader.token}"})
    clientset.close()
    assert (response.status, "numbers" in response.body) == (500, False)
    assert "tokenreviews" in caplog.text or any("tokenreviews" in str(vars(record)) for record in caplog.records)
