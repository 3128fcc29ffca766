"""The front end without HTTP: one request in, one answer out.

`Api.handle` finds out what a request means, lets the handler of its verb answer, turns every refusal into a Status,
and counts. It runs on the server's event loop and never waits: watches (streams), slow documents (deferred) and
requests that webhooks have a say in (suspended) leave something to do for whoever carries the bytes.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from clientgo.apiserver.audit import Audit
from clientgo.apiserver.auth import serviceaccounts
from clientgo.apiserver.auth.authentication import authenticate
from clientgo.apiserver.auth.authorization import Attributes, authorize, may_everything
from clientgo.apiserver.handlers import nonresource
from clientgo.apiserver.handlers.verbs import VERBS, Route
from clientgo.apiserver.http.messages import (
    Query,
    Request,
    Response,
    Stream,
    json_response,
    parse_query,
    text_response,
)
from clientgo.apiserver.http.paths import Target, parse_path
from clientgo.apiserver.http.status import (
    ApiFailure,
    PageNotFound,
    internal_error,
    method_not_allowed,
    method_not_supported,
    too_large,
)
from clientgo.apiserver.registry.registry import Resource
from clientgo.apiserver.state import Call, State
from clientgo.apiserver.storage.selection import one_name
from clientgo.apiserver.suspension import Paused, Suspended

log = logging.getLogger(__name__)

Answer = Response | Stream | nonresource.Deferred | Suspended
# Runs before every request; an answer of its own takes the place of the server's.
Hook = Callable[[Request], Answer | None]

# An object that others keep changing is asked about anew each time; at some point its client had better try again.
_MOST_ROUNDS = 100

_NAMED = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_COLLECTION = {"GET": "list", "HEAD": "list", "POST": "create", "DELETE": "deletecollection"}
_MANY = ("list", "watch", "deletecollection")
_COUNTED = {
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETECOLLECTION",
}
_SUBRESOURCE_VERBS = {
    "status": ("get", "patch", "update"),
    "scale": ("get", "patch", "update"),
    "finalize": ("update",),
    "token": ("create",),
}


class Api:
    """Answers requests from one `State`. `hooks` run first, in order: the place where faults are put in."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.hooks: list[Hook] = []
        # What else is served, by the path's first part, to those who may ask for it.
        self.extra: dict[str, Callable[[Request], Response]] = {}
        options = state.options
        sink = options.audit
        self._audit = None if sink is None else Audit(state.store, state.clock, sink, reads=options.audit_reads)

    def __repr__(self) -> str:
        return f"<Api {self.state.registry} {self.state.store}>"

    def handle(
        self,
        method: str,
        path: str,
        query: str | Query = "",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> Answer:
        """Answer one request; header names in lower case, `query` as in the URL or parsed. Never raises."""
        parsed = parse_query(query) if isinstance(query, str) else query
        return self.answer(Request(method, path, parsed, headers or {}, body))

    def answer(self, request: Request) -> Answer:
        """Answer a request; whatever goes wrong is an answer too."""
        for hook in self.hooks:
            given = hook(request)
            if given is not None:
                return given
        return self._answered(request)

    def _answered(self, request: Request, *, resumed: bool = False) -> Answer:
        if self._audit is None:
            return self._carried_out(request, resumed=resumed)
        self._audit.begin(request)
        answer = self._carried_out(request, resumed=resumed)
        code = None if isinstance(answer, Suspended) else 200 if callable(answer) else answer.status
        self._audit.end(request, _wanted(request), code)
        return answer

    def _carried_out(self, request: Request, *, resumed: bool) -> Answer:
        route: Route | None = None
        try:
            if not resumed:
                self._admit(request)
            elif request.rounds > _MOST_ROUNDS:
                raise internal_error("webhooks were asked again and again: what they were asked about never stayed")
            route = self._route(request)
            if route is not None and route.resource.deprecation:
                request.warnings.append(route.resource.deprecation)
            answer = self._non_resource(request) if route is None else VERBS[route.verb](self.state, route, request)
        except Paused as paused:
            return Suspended(paused.questions, lambda: self._resumed(request))
        except ApiFailure as failure:
            answer = json_response(failure.body, failure.code)
            answer.headers.extend(failure.headers)
        except PageNotFound:
            answer = text_response("404 page not found\n", 404)
        except Exception as error:  # a fault of ours must not take the server down with it
            log.exception("request failed", extra={"method": request.method, "path": request.path})
            answer = json_response(internal_error(f"{type(error).__name__}: {error}").body, 500)
        self.state.settle()  # what reacts to writes whose answers do not show the object
        if isinstance(answer, Response) and request.warnings:
            answer.headers.extend(("Warning", _warning(text)) for text in dict.fromkeys(request.warnings))
        if route is not None and not request.internal:
            self._count(route, request, answer)
        return answer

    def _resumed(self, request: Request) -> Answer:
        request.warnings.clear()
        request.rounds += 1
        return self._answered(request, resumed=True)

    def _admit(self, request: Request) -> None:
        """Find out who asks, and refuse what this user may not do, before anything is told of what there is."""
        if not request.internal:
            request.user = authenticate(self.state, request)
        if len(request.body) > self.state.options.max_body:
            raise too_large(self.state.options.max_body)
        if not request.internal and not may_everything(self.state, request.user):
            authorize(self.state, _wanted(request))

    def _route(self, request: Request) -> Route | None:
        target = parse_path(request.path)
        if target is None:
            return None
        resource = self.state.registry.find(target.group, target.version, target.plural)
        if resource is None:
            raise PageNotFound
        verb = _verb(request, target)
        route = Route(resource, target.namespace, target.name, target.subresource, verb)
        _check_route(route, target)
        return route

    def _non_resource(self, request: Request) -> Answer:
        extra = self.extra.get(request.path.partition("/")[2].partition("/")[0])
        if extra is not None:
            return extra(request)  # nosec B610  # a handler of ours, no query of Django's
        if request.method not in ("GET", "HEAD"):
            if parse_path(request.path) is None and not request.path.startswith(("/api", "/version", "/openapi")):
                raise PageNotFound
            raise method_not_allowed()
        return nonresource.answer(self.state, request)

    def _count(self, route: Route, request: Request, answer: Answer) -> None:
        resource = route.resource
        scope = "resource" if route.name or route.verb == "create" else "namespace" if route.namespace else "cluster"
        verb = _COUNTED[route.verb]
        if verb == "PATCH" and request.headers.get("content-type", "").startswith("application/apply-patch"):
            verb = "APPLY"
        code = 200 if callable(answer) or isinstance(answer, Suspended) else answer.status
        call = Call(verb, resource.group, resource.version, resource.plural, route.subresource, scope, code)
        self.state.calls[call] += 1


def _wanted(request: Request) -> Attributes:
    """What a request wants to do, as authorization sees it: by its path alone, whether or not that is served."""
    target = parse_path(request.path)
    if target is None:
        return Attributes(request.user, request.method.lower(), path=request.path)
    verb = (_NAMED if target.name else _COLLECTION).get(request.method, request.method.lower())
    if request.method == "GET" and (target.watch or request.query.flag("watch")):
        verb = "watch"
    namespace = target.name if (target.group, target.plural) == ("", "namespaces") else target.namespace
    # Who may see one object by name may list and watch it by name.
    name = target.name or (one_name(request.query.get("fieldSelector", "")) if verb in _MANY else "")
    return Attributes(
        request.user, verb, target.group, target.version, target.plural, target.subresource, namespace, name
    )


def _verb(request: Request, target: Target) -> str:
    verb = (_NAMED if target.name else _COLLECTION).get(request.method)
    if verb is None or (target.name and verb == "create" and not target.subresource):
        raise method_not_allowed()
    if request.method == "GET" and not target.subresource and (target.watch or request.query.flag("watch")):
        return "watch"
    return verb


def _check_route(route: Route, target: Target) -> None:
    """Refuse what the resource does not do.

    Raises:
        PageNotFound: no such subresource.
        ApiFailure: 405.
    """
    resource, verb = route.resource, route.verb
    if target.namespace and not resource.namespaced:
        raise PageNotFound
    if target.name and resource.namespaced and not target.namespace and verb != "watch":
        raise PageNotFound
    if route.subresource:
        if not has_subresource(resource, route.subresource):
            raise PageNotFound
        if verb not in _SUBRESOURCE_VERBS[route.subresource]:
            raise method_not_supported(resource, verb)
    elif verb not in resource.verbs:
        raise method_not_allowed() if verb != "watch" else method_not_supported(resource, verb)
    elif resource.namespaced and not target.namespace and verb in ("create", "deletecollection"):
        raise method_not_allowed()


def has_subresource(resource: Resource, subresource: str) -> bool:
    """Whether the resource has this subresource."""
    if subresource == "finalize":
        return resource.storage == ("", "namespaces")
    if subresource == "token":
        return resource.storage == serviceaccounts.KEY
    return resource.status if subresource == "status" else subresource == "scale" and resource.scale is not None


def _warning(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'


def result_of(answer: Answer) -> Response:
    """The whole answer of a request that is no watch, computed now if it was deferred."""
    while isinstance(answer, Suspended):
        answer = answer.wait()
    found: Any = answer() if callable(answer) else answer
    assert isinstance(found, Response), "a watch has no whole answer"
    return found
