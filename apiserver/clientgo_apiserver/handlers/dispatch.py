"""Request handling without HTTP: routing, authorization, errors and request counts.

`Api.answer` runs the handler of the request's verb on the server's event loop. It waits for nothing but webhooks, and
leaves watches (streams) and slow documents (deferred) to the caller.
"""

from collections.abc import Callable, Mapping
from functools import partial

from clientgo.log import get_logger
from clientgo_apiserver.admission.webhooks import CalledLater
from clientgo_apiserver.api.limits import REQUEST_SECONDS
from clientgo_apiserver.api.resources import Resource
from clientgo_apiserver.api.status import (
    ApiFailure,
    PageNotFound,
    bad_request,
    internal_error,
    method_not_allowed,
    method_not_supported,
    missing,
    no_such_resource,
    too_large,
)
from clientgo_apiserver.audit import Audit
from clientgo_apiserver.auth.authentication import authenticate
from clientgo_apiserver.auth.authorization import Attributes, authorize, is_superuser
from clientgo_apiserver.handlers import nonresource
from clientgo_apiserver.handlers.connect import CONNECTED
from clientgo_apiserver.handlers.verbs import RequestInfo, handle
from clientgo_apiserver.http.messages import (
    JSON,
    LISTED,
    PRODUCED,
    HTTPRequest,
    HTTPResponse,
    Query,
    Stream,
    Target,
    as_requested,
    check_accept,
    json_response,
    parse_path,
    parse_query,
    text_response,
    warning_headers,
)
from clientgo_apiserver.http.options import read_timeout
from clientgo_apiserver.http.rendering import accepts_no_status, indent, wants_indentation
from clientgo_apiserver.http.steps import run_step
from clientgo_apiserver.http.upgrades import Upgrade
from clientgo_apiserver.state import Call, State
from clientgo_apiserver.storage.keys import NAMESPACES
from clientgo_apiserver.storage.selection import one_name
from clientgo_apiserver.writes.patching import check_patch_type

log = get_logger(__name__)

Answer = HTTPResponse | Stream | nonresource.Deferred | Upgrade
# Runs before every request; a response from a hook replaces the server's.
RequestHook = Callable[[HTTPRequest], Answer | None]

_NAMED = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_COLLECTION = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_READ_MANY = ("list", "watch")
_COUNTED = {"create": "POST", "update": "PUT"}  # others by their own name


class Api:
    """Handles the requests of one `State`. `hooks` run first, in order."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.hooks: list[RequestHook] = []
        # Handlers of additional paths, by their first segment.
        self.extra: dict[str, Callable[[HTTPRequest], HTTPResponse]] = {}
        options = state.options
        sink = options.audit
        self.audit = None if sink is None else Audit(state.store, state.clock, sink, reads=options.audit_reads)

    async def handle(
        self,
        method: str,
        path: str,
        query: str | Query = "",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> Answer:
        """Handle one request and return its response; header names in lower case, `query` as in the URL or parsed."""
        parsed = parse_query(query) if isinstance(query, str) else query
        return await self.answer(HTTPRequest(method, path, parsed, headers or {}, body))

    async def answer(self, request: HTTPRequest, route: RequestInfo | None = None) -> Answer:
        """Handle a request; errors become responses. The server's own controllers know the `route` of theirs."""
        self.state.release.activate()
        for hook in self.hooks:
            response = hook(request)
            if response is not None:
                return response
        if self.audit is None:
            return await self._respond(request, route)
        with self.audit.account(request, partial(attributes_of, request)) as account:
            response = await self._respond(request, route)
            account.code = 200 if callable(response) else response.status
        return response

    async def _respond(self, request: HTTPRequest, route: RequestInfo | None) -> Answer:
        try:
            has_timeout = "timeout" in request.query and not _watches(request)
            seconds = read_timeout(request.query) if has_timeout else REQUEST_SECONDS
            request.budget.deadline = self.state.clock.now() + seconds
            self._authorize(request)
            route = route or self._route(request)
            response = self._non_resource(request) if route is None else await handle(self.state, route, request)
        except ApiFailure as failure:
            size = len(failure.message)  # of thousands of errors
            response = await run_step(request, size, json_response, failure.body, failure.code)
            response.headers.extend(failure.headers)
        except PageNotFound:
            response = self._page_not_found(request.path)
        except CalledLater:
            raise
        except Exception as error:  # a bug in a handler must not stop the server
            log.exception("request failed", extra={"method": request.method, "path": request.path})
            response = json_response(internal_error(f"{type(error).__name__}: {error}").body, 500)
        if isinstance(response, HTTPResponse):
            if _is_formatted(response, request):
                await run_step(request, len(response.body), _format, response, request)
            if request.served and response.content_type.startswith(JSON):
                _end_line(response)
            if request.warnings:
                response.headers.extend(warning_headers(request))
        if route is not None and not request.internal:
            self._count(route, request, response)
        return response

    def _page_not_found(self, path: str) -> HTTPResponse:
        """Return 404: as a Status below the groups of built-in kinds, elsewhere as text."""
        _, root, *segments = [*path.split("/"), ""]
        if segments and (
            root in ("api", "version") or (root == "apis" and self.state.registry.is_built_in(segments[0]))
        ):
            return json_response(no_such_resource().body, 404)
        return text_response("404 page not found\n", 404)

    def _authorize(self, request: HTTPRequest) -> None:
        """Authenticate and authorize the request before anything is revealed."""
        if not request.internal:
            request.user = authenticate(self.state, request, partial(attributes_of, request))
        if len(request.body) > self.state.options.max_body:
            raise too_large(self.state.options.max_body)
        if not request.internal and not is_superuser(self.state, request.user):
            authorize(self.state, attributes_of(request))

    def _route(self, request: HTTPRequest) -> RequestInfo | None:
        target = parse_path(request.path)
        if target is None:
            return None
        resource = self.state.registry.find(target.group, target.version, target.plural)
        if resource is None:
            raise PageNotFound
        _check_path(resource, target, request.method)
        if resource.custom:  # whose handler comes after this warning
            _warn_of_deprecation(request, resource)
        _check_subresource(resource, target)
        route = RequestInfo(
            resource, target.namespace, target.name, target.subresource, _verb(request, target, resource)
        )
        _check_verb(route, target)
        if route.verb == "patch":
            check_patch_type(resource, request.headers.get("content-type", ""))
        if not resource.custom:
            _check_accept(request, target)
            _warn_of_deprecation(request, resource)
        elif route.verb in ("update", "patch") and not target.name:
            raise bad_request("name must be provided")
        return route

    def _non_resource(self, request: HTTPRequest) -> Answer:
        if request.path.startswith("//"):
            raise PageNotFound
        extra = self.extra.get(request.path.partition("/")[2].partition("/")[0])
        if extra is not None:
            return extra(request)  # nosec B610  # not Django's QuerySet.extra
        return nonresource.answer(self.state, request)

    def _count(self, route: RequestInfo, request: HTTPRequest, response: Answer) -> None:
        resource = route.resource
        scope = "resource" if route.name or route.verb == "create" else "namespace" if route.namespace else "cluster"
        verb = _COUNTED.get(route.verb, route.verb.upper())
        if verb == "PATCH" and request.headers.get("content-type", "").startswith("application/apply-patch"):
            verb = "APPLY"
        code = 200 if callable(response) else response.status
        call = Call(verb, resource.group, resource.version, resource.plural, route.subresource, scope, code)
        self.state.calls[call] += 1


def _is_formatted(response: HTTPResponse, request: HTTPRequest) -> bool:
    """Return whether a response is sent otherwise than as plain JSON."""
    if request.internal:
        return False
    if wants_indentation(request):
        return True
    accept = request.headers.get("accept", "")
    return bool(accept) and ("yaml" in accept or (response.status >= 400 and accepts_no_status(accept)))


def _end_line(response: HTTPResponse) -> None:
    """End JSON with a line feed as Go's encoder does; it is not used for indented JSON."""
    if response.body and response.body[-2:-1] != b"\n" and not response.body.endswith(b"\n"):
        response.body += b"\n"


def _format(response: HTTPResponse, request: HTTPRequest) -> None:
    """Encode a response as YAML, or else indent it."""
    accept = request.headers.get("accept", "")
    if "yaml" in accept:
        as_requested(response, accept)
    if wants_indentation(request) or (response.status >= 400 and accepts_no_status(accept)):
        indent(response)


def attributes_of(request: HTTPRequest) -> Attributes:
    """Return the authorization attributes of a request, from its path alone, whether or not that is served."""
    target = parse_path(request.path)
    if target is None:
        return Attributes(request.user, request.method.lower(), path=request.path)
    method = "GET" if request.method == "HEAD" else request.method
    verb = (_NAMED if target.name else _COLLECTION).get(method, _NAMED.get(method, ""))
    if method == "GET" and _is_watch(request, target):
        verb = "watch"
    namespace = target.name if (target.group, target.plural) == NAMESPACES else target.namespace
    # Permission to get one object by name includes listing and watching it by name.
    name = target.name or (one_name(request.query.get("fieldSelector", "")) if verb in _READ_MANY else "")
    return Attributes(
        request.user, verb, target.group, target.version, target.plural, target.subresource, namespace, name
    )


def _watches(request: HTTPRequest) -> bool:
    target = parse_path(request.path)
    return target is not None and request.method == "GET" and _is_watch(request, target)


def _is_watch(request: HTTPRequest, target: Target) -> bool:
    """Return whether a GET is a watch: by its path, or of a list by its query."""
    return target.watch or (not target.name and request.query.flag("watch"))


def _check_accept(request: HTTPRequest, target: Target) -> None:
    """Check that the client accepts a type of the path's responses (406)."""
    if target.subresource in CONNECTED:
        return
    listing = not target.name and request.method == "GET"
    produced = LISTED if listing else ("text/plain", *PRODUCED) if target.subresource == "log" else PRODUCED
    check_accept(request.headers.get("accept", ""), produced)


def _warn_of_deprecation(request: HTTPRequest, resource: Resource) -> None:
    request.warnings.extend(filter(None, (resource.deprecation,)))


def _verb(request: HTTPRequest, target: Target, resource: Resource) -> str:
    """Return the verb of a method (405); for custom kinds also if a name is missing, or not needed."""
    custom = resource.custom
    has_head = custom or target.subresource == "proxy"
    method = "GET" if has_head and request.method == "HEAD" else request.method
    verb = (_NAMED if target.name else _COLLECTION).get(method, _NAMED.get(method) if custom else None)
    if verb is None:
        raise method_not_supported(resource, "") if custom else method_not_allowed()
    if target.name and verb == "create" and not target.subresource and not custom:
        raise method_not_allowed()
    if request.method == "GET" and not target.subresource and _is_watch(request, target):
        return "watch"
    return verb


def _check_path(resource: Resource, target: Target, method: str) -> None:
    """Check that the path has a namespace where one is needed.

    Raises:
        PageNotFound: the path is not served.
    """
    if (target.namespace and not resource.namespaced) or (target.has_more and not resource.custom):
        raise PageNotFound
    if target.name and resource.verbs == ("create",):  # such an object has no path
        raise PageNotFound
    everywhere = resource.namespaced and not target.namespace
    lists = "list" in resource.verbs and (not resource.custom or method in ("GET", "HEAD"))
    if everywhere and ((target.name and not target.watch) or not lists):
        raise PageNotFound


def _check_subresource(resource: Resource, target: Target) -> None:
    """Check that the resource has the subresource of a path.

    Raises:
        PageNotFound: the path is not served.
        ApiFailure: 404.
    """
    if target.subresource and all(subresource.name != target.subresource for subresource in resource.subresources):
        raise missing(resource, target.name) if resource.custom else PageNotFound


def _check_verb(route: RequestInfo, target: Target) -> None:
    """Check that the resource or subresource supports the verb (405)."""
    resource, verb = route.resource, route.verb
    if route.subresource:
        part = next(subresource for subresource in resource.subresources if subresource.name == route.subresource)
        if verb not in part.verbs:
            raise method_not_supported(resource, verb) if resource.custom else method_not_allowed()
        return
    everywhere = resource.namespaced and not target.namespace
    if verb not in resource.verbs or (everywhere and verb in ("create", "deletecollection")):
        raise method_not_allowed()
