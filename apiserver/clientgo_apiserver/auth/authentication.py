"""Authentication of requests: by client certificate or bearer token, with impersonation, or anonymous.

Invalid credentials are rejected, as on a real server; a request without credentials is anonymous.
"""

import re
from collections.abc import Callable, Collection, Iterable
from urllib.parse import unquote

from msgspec.structs import replace

from clientgo.internal.hosts import parse_ip
from clientgo_apiserver.api.status import ApiFailure, bad_request, quoted, unauthorized
from clientgo_apiserver.api.users import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    SERVICE_ACCOUNTS,
    UNAUTHENTICATED,
    User,
    service_account_name,
)
from clientgo_apiserver.auth.authorization import Attributes, authorize, decide
from clientgo_apiserver.auth.serviceaccounts import ISSUER, token_user
from clientgo_apiserver.http.messages import REPEATED, HTTPRequest, cached
from clientgo_apiserver.releases.release import current
from clientgo_apiserver.state import State

_EXTRA_SPACE = "the provided Authorization header contains extra space before the bearer token, and is ignored"
_PREFIX = "impersonate-"
_EXTRA = "impersonate-extra-"
_GROUP = "authentication.k8s.io"


def authenticate(state: State, request: HTTPRequest, attributes: Callable[[], Attributes]) -> User:
    """Return the user of a request, or the user it impersonates (401, 403); `attributes` returns what it requests."""
    user = _credentials_user(state, request)
    acting = _impersonated(request)
    if acting is None:
        return user
    mode, request_itself = _impersonation_mode(acting), attributes()
    constrained = replace(request_itself, user=user, verb=f"impersonate-on:{mode}:{request_itself.verb}")
    general = _impersonation_checks(user, acting)
    first = _refused(state, [constrained, *_impersonation_checks(user, acting, mode)] if mode else general)
    last = _refused(state, general) if first is not None else None
    if first is not None and last is not None:
        # A real server reports the mode that last succeeded for the user, or else the constrained one.
        authorize(state, first if last == general[0] else last)
    return acting


def _refused(state: State, checks: Iterable[Attributes]) -> Attributes | None:
    """Return the first permission that is lacking."""
    return next((check for check in checks if not decide(state, check).allowed), None)


def _impersonation_mode(acting: User) -> str:
    """Return the mode of constrained impersonation, by the kind of user; "" if there is none."""
    if not current().enabled("ConstrainedImpersonation"):
        return ""
    account, node = service_account_name(acting.name), acting.name.startswith("system:node:")
    if account is None and not node:
        return "user-info" if MASTERS not in acting.groups else ""
    if acting.uid or acting.extra or _named_groups(acting):
        return ""
    return "arbitrary-node" if node else "serviceaccount"


def _named_groups(acting: User) -> list[str]:
    """Return the groups that are not implied by the name."""
    account = service_account_name(acting.name)
    implied = {AUTHENTICATED, UNAUTHENTICATED}
    implied |= {SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{account[0]}"} if account is not None else set()
    return [group for group in acting.groups if group not in implied]


def user_of_token(state: State, token: str, audiences: Collection[str] = (ISSUER,)) -> User | None:
    """Return the user of a bearer token, or None if it is invalid or meant for other audiences."""
    user = state.options.tokens.get(token) if token else None
    if user is not None:
        return user if ISSUER in audiences else None
    return token_user(state, token, audiences)


def _credentials_user(state: State, request: HTTPRequest) -> User:
    if request.user is not ANONYMOUS:
        return request.user  # by its certificate, which was checked with the connection
    if credentials := request.headers.get("authorization"):
        scheme, token, *fields = [*credentials.strip().split(" "), "", ""]
        if scheme.lower() == "bearer" and token:  # a real server ignores other credentials
            user = user_of_token(state, token)
            if user is None:
                raise unauthorized()
            return user
        if scheme.lower() == "bearer" and any(fields):
            request.warnings.append(_EXTRA_SPACE)
    if not state.options.anonymous:
        raise unauthorized()
    if state.options.authorization == "AlwaysAllow":
        _reject_web_pages(request)
    return ANONYMOUS


def _reject_web_pages(request: HTTPRequest) -> None:
    """Reject what a browser sends for a page of another site, which could otherwise do everything (403).

    A name that a page's site resolves to this machine (DNS rebinding) is in the Host header.
    """
    headers = request.headers
    host, origin = headers.get("host", ""), headers.get("origin")
    if (
        not _is_local(host)
        or (origin and origin not in (f"http://{host}", f"https://{host}"))
        or headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    ):
        reason = "forbidden: a server without authentication does not answer pages of other sites"
        raise ApiFailure(403, "Forbidden", reason)


@cached(size=64, longest=300)
def _is_local(host: str) -> bool:
    """Report whether a Host header is an address, or a name that no site has: of one label, or below localhost."""
    name = re.sub(r":[0-9]*$", "", host).strip("[]").lower()
    if "." not in name.removesuffix(".localhost"):
        return True
    return parse_ip(name) is not None


def _impersonated(request: HTTPRequest) -> User | None:
    if _PREFIX not in " ".join(request.headers):
        return None
    name = request.headers.get("impersonate-user", "")
    groups = _repeated(request, "impersonate-group")
    uid = request.headers.get("impersonate-uid", "")
    spelled = [header.removeprefix(_EXTRA) for header in request.headers if header.startswith(_EXTRA)]
    extra = {unquote(key).lower(): _repeated(request, _EXTRA + key) for key in spelled if key}
    if not name:
        if groups or extra or uid:
            fields = f"Groups:{_go_strings(groups)}, Extra:{_go_extra(extra)}"
            user = f'&user.DefaultInfo{{Name:"", UID:{quoted(uid)}, {fields}}}'
            raise bad_request(f"requested {user} without impersonating a user name")
        return None
    account = service_account_name(name)
    if account is not None and not groups:
        groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{account[0]}")
    added = UNAUTHENTICATED if name == ANONYMOUS.name else AUTHENTICATED
    is_chosen = added in groups or (name != ANONYMOUS.name and UNAUTHENTICATED in groups)
    return User(name, groups if is_chosen else (*groups, added), uid, extra)


def _go_strings(values: Collection[str]) -> str:
    """Format strings like Go's %#v."""
    return f"[]string{{{', '.join(map(quoted, values))}}}" if values else "[]string(nil)"


def _go_extra(extra: dict[str, tuple[str, ...]]) -> str:
    members = ", ".join(f"{quoted(key)}:{_go_strings(extra[key])}" for key in sorted(extra))
    return f"map[string][]string{{{members}}}" if extra else "map[string][]string(nil)"


def _repeated(request: HTTPRequest, name: str) -> tuple[str, ...]:
    """Return the values of a repeatable header; commas do not separate values, as names may contain them."""
    return tuple(value for value in request.headers.get(name, "").split(REPEATED) if value)


def _impersonation_checks(user: User, acting: User, mode: str = "") -> list[Attributes]:
    """Return the permissions that impersonating `acting` needs; implied groups need none."""
    verb, home = (f"impersonate:{mode}", _GROUP) if mode else ("impersonate", "")
    account = service_account_name(acting.name)
    if account is not None:
        required = [Attributes(user, verb, home, "v1", "serviceaccounts", "", account[0], account[1])]
    elif mode == "arbitrary-node":
        required = [Attributes(user, verb, home, "v1", "nodes", "", "", acting.name.rpartition(":")[2])]
    else:
        required = [Attributes(user, verb, home, "v1", "users", "", "", acting.name)]
    required += [Attributes(user, verb, home, "v1", "groups", "", "", group) for group in _named_groups(acting)]
    for key, values in acting.extra.items():
        required += [Attributes(user, verb, _GROUP, "v1", "userextras", key, "", value) for value in values]
    if acting.uid:
        required.append(Attributes(user, verb, _GROUP, "v1", "uids", "", "", acting.uid))
    return required
