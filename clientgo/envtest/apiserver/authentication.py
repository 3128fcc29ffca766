"""Who sent a request: by client certificate, by bearer token, on behalf of another (impersonation), or nobody known.

Credentials that are shown and do not count are refused, as on a real server; none at all make one anonymous.
"""

from clientgo.envtest.apiserver.authorization import Attributes, authorize
from clientgo.envtest.apiserver.messages import Request
from clientgo.envtest.apiserver.serviceaccounts import token_user
from clientgo.envtest.apiserver.state import State
from clientgo.envtest.apiserver.status import bad_request, unauthorized
from clientgo.envtest.apiserver.users import (
    ANONYMOUS,
    AUTHENTICATED,
    SERVICE_ACCOUNTS,
    UNAUTHENTICATED,
    User,
    service_account_name,
)


def authenticate(state: State, request: Request) -> User:
    """The user a request comes from, or the one it may act as.

    Raises:
        ApiFailure: 401, its credentials do not count; 403, it may not act as that user.
    """
    user = _shown(state, request)
    acting = _impersonated(request)
    if acting is None:
        return user
    for attributes in _asked_for(user, acting):
        authorize(state, attributes)
    return acting


def user_of_token(state: State, token: str) -> User | None:
    """The user a bearer token stands for, or None when it stands for nobody."""
    return state.options.tokens.get(token) or token_user(state, token)


def _shown(state: State, request: Request) -> User:
    if request.user is not ANONYMOUS:
        return request.user  # by its certificate, which was checked with the connection
    given = request.headers.get("authorization", "")
    if given:
        scheme, _, token = given.partition(" ")
        user = user_of_token(state, token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise unauthorized()
        return user
    if not state.options.anonymous:
        raise unauthorized()
    return ANONYMOUS


def _impersonated(request: Request) -> User | None:
    name = request.headers.get("impersonate-user", "")
    given = request.headers.get("impersonate-group", "")
    if not name:
        if given:
            raise bad_request(f"requested [{{Group  {given}  }}] without impersonating a user")
        return None
    groups = tuple(group.strip() for group in given.split(",") if group.strip())
    account = service_account_name(name)
    if account is not None and not groups:
        groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{account[0]}")
    added = UNAUTHENTICATED if name == ANONYMOUS.name else AUTHENTICATED
    return User(name, groups if added in groups else (*groups, added), request.headers.get("impersonate-uid", ""))


def _asked_for(user: User, acting: User) -> list[Attributes]:
    """What one must be allowed to impersonate in order to act so; groups every such user has are not asked for."""
    account = service_account_name(acting.name)
    implied = {AUTHENTICATED, UNAUTHENTICATED}
    if account is not None:
        implied |= {SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{account[0]}"}
        asked = [Attributes(user, "impersonate", "", "v1", "serviceaccounts", "", account[0], account[1])]
    else:
        asked = [Attributes(user, "impersonate", "", "v1", "users", "", "", acting.name)]
    named = [group for group in acting.groups if group not in implied]
    return [*asked, *(Attributes(user, "impersonate", "", "v1", "groups", "", "", group) for group in named)]
