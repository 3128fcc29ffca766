"""Reviews: questions about who one is and what one may do. Nothing is stored.

As long as the server asks nobody for rights, everything is allowed, and the answers say so.
"""

from typing import Any

from clientgo.envtest.apiserver.state import State

Object = dict[str, Any]

_ALL_RULES = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def review(state: State, kind: str, obj: Object, user: str) -> Object:
    """The review with its status filled in."""
    meta = obj.get("metadata") or {}
    return {**obj, "metadata": meta, "status": _status(state, kind, obj.get("spec") or {}, user)}


def _status(state: State, kind: str, spec: Object, user: str) -> Object:
    if kind == "TokenReview":
        known = state.options.tokens.get(spec.get("token") or "")
        if known is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": _user(known)}
    if kind == "SelfSubjectReview":
        return {"userInfo": _user(user)}
    if kind == "SelfSubjectRulesReview":
        return _ALL_RULES
    return {"allowed": True}


def _user(name: str) -> Object:
    group = "system:unauthenticated" if name == "system:anonymous" else "system:authenticated"
    return {"username": name, "groups": [group]}
