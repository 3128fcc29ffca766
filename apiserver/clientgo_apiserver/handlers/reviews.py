"""Reviews: authentication and authorization checks on request. Nothing is stored."""

from collections.abc import Callable, Sequence

from clientgo_apiserver.auth.authentication import user_of_token
from clientgo_apiserver.auth.authorization import Attributes, Rules, decide
from clientgo_apiserver.auth.serviceaccounts import ISSUER, matching_audiences, token_audiences
from clientgo_apiserver.http.status import ApiFailure, Cause, bad_request, invalid, invalid_value
from clientgo_apiserver.registry.gotypes import in_order, metadata_in_order
from clientgo_apiserver.registry.metadata import timestamp
from clientgo_apiserver.resources import Object
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.stored import Key
from clientgo_apiserver.users import User

KEYS: tuple[Key, ...] = (
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
)
"""Resources of reviews."""

_EVERYTHING = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


_EMPTY_METADATA = ("SelfSubjectAccessReview", "SubjectAccessReview")


def review(state: State, kind: str, obj: Object, user: User, namespace: str = "") -> Object:
    """Return the review, whose metadata has been read, with its status (400, 422)."""
    meta = obj["metadata"]
    spec = obj.get("spec") or {}
    if not isinstance(spec, dict):
        raise bad_request(f"{kind} cannot be handled as a {kind}: spec must be an object")
    attributes = spec.get("resourceAttributes")
    if namespace and (not isinstance(attributes, dict) or attributes.get("namespace") != namespace):
        raise bad_request(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
    status = _ANSWERS[kind](state, spec, user)
    if kind == "SelfSubjectReview":
        return in_order({**obj, "metadata": {"creationTimestamp": timestamp(state.clock)}, "status": status})
    if kind == "SelfSubjectRulesReview":
        return in_order({**obj, "metadata": {}, "spec": {}, "status": status})
    if kind in _EMPTY_METADATA and meta.keys() - {"managedFields"}:
        raise _invalid(invalid_value("metadata", metadata_in_order(obj), "must be empty"))
    return in_order({**obj, "status": status})


def _token(state: State, spec: Object, _: User) -> Object:
    token = spec.get("token")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    requested = tuple(spec.get("audiences") or (ISSUER,))
    user = user_of_token(state, token, requested)
    if user is None:
        return {"user": {}, "error": _why_not(token_audiences(state, token), requested)}
    meant = (ISSUER,) if token in state.options.tokens else token_audiences(state, token)
    return {"authenticated": True, "user": user.info, "audiences": matching_audiences(meant, requested)}


def _why_not(meant: Sequence[str], requested: Sequence[str]) -> str:
    if not meant or matching_audiences(meant, requested):
        return "invalid bearer token"
    accepted, requested_names = (
        " ".join(f'"{audience}"' for audience in audiences) for audiences in (meant, requested)
    )
    return (
        f"[invalid bearer token, token audiences [{accepted}] is invalid for the target audiences [{requested_names}]]"
    )


def _others_access(state: State, spec: Object, _: User) -> Object:
    name, groups = spec.get("user") or "", tuple(spec.get("groups") or ())
    if not name and not groups:
        cause = invalid_value("spec.user", "", "at least one of user or group must be specified")
        raise _invalid(cause)
    return _access(state, spec, User(name, groups, spec.get("uid") or ""))


def _invalid(cause: Cause) -> ApiFailure:
    # A real server's message does not name the kind.
    return invalid("", "authorization.k8s.io", "", [cause])


def _access(state: State, spec: Object, user: User) -> Object:
    resource, path = spec.get("resourceAttributes") or {}, spec.get("nonResourceAttributes") or {}
    if not isinstance(resource, dict) or not isinstance(path, dict) or bool(resource) == bool(path):
        reason = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        cause = invalid_value("spec.resourceAttributes", resource, reason)
        raise _invalid(cause)
    if path:
        attributes = Attributes(user, path.get("verb") or "", path=path.get("path") or "")
    else:
        members = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
        attributes = Attributes(user, **{member: resource.get(member) or "" for member in members})
    decision = decide(state, attributes)
    return {"allowed": decision.allowed, **({"reason": decision.reason} if decision.reason else {})}


def _rules(state: State, spec: Object, user: User) -> Object:
    namespace = spec.get("namespace")
    if not namespace:
        raise bad_request("no namespace on request")
    if state.options.authorization == "AlwaysAllow":
        return _EVERYTHING
    resources: list[Object] = []
    paths: list[Object] = []
    granted = Rules(state.store)
    for grant in granted.grants(user, namespace):
        rule = grant.rule
        if rule.get("resources"):
            members = ("verbs", "apiGroups", "resources", "resourceNames")
            resources.append({member: rule[member] for member in members if rule.get(member)})
        if rule.get("nonResourceURLs"):
            paths.append({"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]})
    return {"resourceRules": resources, "nonResourceRules": paths, "incomplete": bool(granted.missing)}


_ANSWERS: dict[str, Callable[[State, Object, User], Object]] = {
    "TokenReview": _token,
    "SelfSubjectReview": lambda _, __, user: {"userInfo": user.info},
    "SelfSubjectAccessReview": _access,
    "SubjectAccessReview": _others_access,
    "LocalSubjectAccessReview": _others_access,
    "SelfSubjectRulesReview": _rules,
}
