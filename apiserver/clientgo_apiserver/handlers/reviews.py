"""Reviews: authentication and authorization checks on request. Nothing is stored."""

from collections.abc import Callable, Iterator, Sequence

from clientgo_apiserver.api.names import label_value_errors, qualified_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, bad_request, forbidden_field, invalid, invalid_value, required
from clientgo_apiserver.api.users import User
from clientgo_apiserver.auth.authentication import user_of_token
from clientgo_apiserver.auth.authorization import Attributes, Rules, decide
from clientgo_apiserver.auth.serviceaccounts import ISSUER, matching_audiences, token_audiences
from clientgo_apiserver.gotypes.metadata import timestamp
from clientgo_apiserver.gotypes.structs import in_order, metadata_in_order
from clientgo_apiserver.registry.validation.scopes import within
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.stored import Key

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


_SUBJECTS = ("LocalSubjectAccessReview", "SelfSubjectAccessReview", "SubjectAccessReview")


def review(state: State, kind: str, obj: Object, user: User, namespace: str = "") -> Object:
    """Return the review, whose metadata has been read, with its status (400, 422)."""
    spec = obj.get("spec") or {}
    if not isinstance(spec, dict):
        raise bad_request(f"{kind} cannot be handled as a {kind}: spec must be an object")
    if kind in _SUBJECTS:
        _check_access(kind, obj, spec, namespace)
    status = _ANSWERS[kind](state, spec, user)
    if kind == "SelfSubjectReview":
        return in_order({**obj, "metadata": {"creationTimestamp": timestamp(state.clock)}, "status": status})
    if kind == "SelfSubjectRulesReview":
        return in_order({**obj, "metadata": {}, "spec": {}, "status": status})
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


def _check_access(kind: str, obj: Object, spec: Object, namespace: str) -> None:
    """Check the spec and the metadata of an access review (422); a real server's message does not name the kind."""
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    path_in_go = {"Path": (path or {}).get("path") or "", "Verb": (path or {}).get("verb") or ""}
    local, named = kind == "LocalSubjectAccessReview", {"managedFields", *(("namespace",) if namespace else ())}
    causes = []
    if resource is not None and path is not None:
        reason = "cannot be specified in combination with resourceAttributes"
        causes.append(invalid_value("spec.nonResourceAttributes", path_in_go, reason))
    if resource is None and path is None:
        reason = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        causes.append(invalid_value("spec.resourceAttributes", None, reason))
    causes += _attribute_errors(resource or {})
    if kind != "SelfSubjectAccessReview" and not spec.get("user") and not spec.get("groups"):
        causes.append(invalid_value("spec.user", "", "at least one of user or group must be specified"))
    if obj["metadata"].keys() - named:
        reason = "must be empty except for namespace" if local else "must be empty"
        causes.append(invalid_value("metadata", metadata_in_order(obj), reason))
    if local and resource is not None and (resource.get("namespace") or "") != namespace:
        field, reason = "spec.resourceAttributes.namespace", "must match metadata.namespace"
        causes.append(invalid_value(field, resource.get("namespace") or "", reason))
    if local and path is not None:
        causes.append(invalid_value("spec.nonResourceAttributes", path_in_go, "disallowed on this kind of request"))
    if causes:
        raise invalid("", "authorization.k8s.io", "", causes)


def _attribute_errors(resource: Object) -> Iterator[Cause]:
    """Return the errors of the selectors of an access review."""
    for name in ("fieldSelector", "labelSelector"):
        selector, path = resource.get(name), f"spec.resourceAttributes.{name}"
        if selector is None:
            continue
        raw, requirements = selector.get("rawSelector"), selector.get("requirements") or ()
        if raw and requirements:
            yield invalid_value(f"{path}.rawSelector", raw, "may not specified at the same time as requirements")
        if not raw and not requirements:
            reason = f"when {path} is specified, requirements or rawSelector is required"
            yield required(f"{path}.requirements", reason)
        for index, requirement in enumerate(requirements):
            errors = _requirement_errors(requirement or {}, is_label=name == "labelSelector")  # null is empty
            yield from within(f"{path}.requirements[{index}]", errors)


def _requirement_errors(requirement: Object, *, is_label: bool) -> Iterator[Cause]:
    """Return the errors of a requirement; one with an unknown operator is of a newer client."""
    key, operator, values = (requirement.get(field) or "" for field in ("key", "operator", "values"))
    if not key and not is_label:
        yield required("key", "must be specified")
    if operator in ("In", "NotIn") and not values:
        yield required("values", "must be specified when `operator` is 'In' or 'NotIn'")
    if operator in ("Exists", "DoesNotExist") and values:
        yield forbidden_field("values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    if is_label:
        yield from (invalid_value("key", key, reason) for reason in qualified_errors(key))
        for index, value in enumerate(values):
            yield from (invalid_value(f"values[{index}]", value, reason) for reason in label_value_errors(value))


def _others_access(state: State, spec: Object, _: User) -> Object:
    return _access(state, spec, User(spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or ""))


def _access(state: State, spec: Object, user: User) -> Object:
    resource, path = spec.get("resourceAttributes") or {}, spec.get("nonResourceAttributes") or {}
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
