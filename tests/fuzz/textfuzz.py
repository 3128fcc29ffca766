"""Fuzz targets for text: selectors, versions, names, quantities, paths, and credentials in log lines."""

from collections.abc import Callable, Sequence

from clientgo.errors import BadRequest
from clientgo.log import redact
from clientgo.meta import jsonpath
from clientgo.meta.listwatch import at_least, compare_resource_versions
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import GroupVersionResource
from clientgo.meta.quantities import InvalidQuantity, ParsedQuantity
from clientgo.meta.selectors import SelectorError, parse_selector
from clientgo.rest.request import Request, target_of
from clientgo_apiserver.api.resources import Resource
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.registry.builtin import builtin_resources
from clientgo_apiserver.storage.selection import SelectionPredicate, parse_fields, parse_labels, supported_fields
from tests.fuzz.engine import Bug, Target
from tests.fuzz.sentences import sentence

LABELS: tuple[dict[str, str], ...] = ({}, {"a": "1"}, {"app": "nginx", "env": "prod", "n": "9" * 5000}, {"n": "12"})


def text_of(data: bytes) -> str:
    # As bytes from the network or a shell become text; those that are no UTF-8 stay what they are.
    return data.decode("utf-8", "surrogateescape")


def label_selector(data: bytes) -> str:
    """Parse, print and parse a label selector; both are equal, and matching never fails."""
    try:
        selector = parse_selector(text_of(data))
    except SelectorError as error:
        return sentence(error, data, SelectorError)
    if parse_selector(str(selector)) != selector:
        raise Bug(f"{selector} reads back as something else")
    return f"{len(selector.requirements)} requirements, {[selector.matches(labels) for labels in LABELS]}"


PODS: Resource = next(resource for resource in builtin_resources() if resource.plural == "pods")
POD = {"metadata": {"name": "a", "namespace": "b", "labels": {"app": "x"}}, "spec": {"nodeName": "n"}, "status": {}}


def server_selectors(data: bytes) -> str:
    """Parse the two selectors of a request as the bundled server does."""
    labels, _, fields = text_of(data).partition("&")
    try:
        predicate = SelectionPredicate(parse_labels(labels), supported_fields(PODS, parse_fields(fields)))
        return f"matches: {predicate.matches(POD)}"
    except ApiFailure as error:
        if error.code != 400:
            raise Bug(f"answered {error.code}") from error
        return error.message[:30]


def resource_versions(data: bytes) -> str:
    """Compare two resource versions; result or error do not depend on the order."""
    a, _, b = text_of(data).partition(" ")
    try:
        order = compare_resource_versions(a, b)
    except ValueError as error:
        if at_least(a, b) or at_least(b, a):
            raise Bug("what can't be compared can't be newer") from error
        return sentence(error, data, ValueError)
    if compare_resource_versions(b, a) != -order or at_least(a, b) is not (order >= 0):
        raise Bug("an order that depends on who is asked first")
    return f"order {order}"


def object_names(data: bytes) -> str:
    """Build the URL of an object; a name is escaped or rejected."""
    text = text_of(data)
    try:
        key = ObjectName.parse(text)
        request = Request(
            verb="get", resource=GroupVersionResource("apps", "v1", "foos"), namespace=key.namespace, name=key.name
        )
        target = target_of(request)
    except (ValueError, BadRequest) as error:
        return sentence(error, data, ValueError, BadRequest)
    expected = 8 if key.namespace else 6
    if not target.isascii() or any(c in target for c in " \r\n?#") or len(target.split("/")) != expected:
        raise Bug(f"{key!r} leads to {target!r}")
    return "a path"


def quantities(data: bytes) -> str:
    """Parse and print a quantity; the value is unchanged, unless it needs a suffix beyond E, which Kubernetes omits."""
    try:
        quantity = ParsedQuantity(text_of(data))
    except ValueError as error:
        return sentence(error, data, InvalidQuantity)
    if ParsedQuantity(str(quantity)).value != quantity.value and abs(quantity.value) < 10**21:
        raise Bug(f"{data!r} prints as {quantity}")
    return quantity.notation


DOCUMENT = {"spec": {"items": [{"type": "Ready", "n": 1}, {"type": "x"}], "a": None}, "status": {"replicas": 3}}


def json_paths(data: bytes) -> str:
    """Evaluate a printer column's path: it finds values or is rejected."""
    try:
        path = jsonpath.parse(text_of(data))
    except ValueError as error:
        return sentence(error, data, ValueError)
    return f"{len(path.steps)} steps, {len(path.find(DOCUMENT))} found"


def log_text(data: bytes) -> str:
    """Redact credentials in any text, in linear time and completely."""
    once = redact(text_of(data))
    if redact(once) != once:
        raise Bug("hiding twice hides more than hiding once")
    return f"changed: {once != text_of(data)}"


def _target(
    run: Callable[[bytes], str], seeds: list[str], words: str, weight: float = 1.0, *, once: Sequence[bytes] = ()
) -> Target:
    name, pieces = run.__name__.replace("_", "-"), [word.encode() for word in words.split()]
    return Target(name, run, [seed.encode() for seed in seeds], pieces, once=once, weight=weight)


TARGETS = [
    _target(
        label_selector,
        ["app=nginx,tier!=cache", "env in (prod,test),zone notin (a),gpu,!spot", "n>3,a.b/c<9", "", "a==", "x in ()"],
        "app = == != in notin ( ) , ! > < a.b/c env n 9223372036854775808 -1 +1 x-1_2.z",
        4,
    ),
    _target(
        server_selectors,
        ["app=x&metadata.name=a", "a in (x)&spec.nodeName!=n,status.phase=", "&metadata.namespace==b", "a&b\\,c=d\\=e"],
        "metadata.name spec.nodeName status.phase = == != \\, \\= \\\\ & ( ) in",
        2,
        once=[b"&" + b"a" * 60_000 + b"\\", b"&" + b"a=b," * 15_000, b"(" * 60_000],
    ),
    _target(resource_versions, ["1 2", "10 9", "0 1", " ", "99999999999999999999 1", "01 1"], "0 1 9 ٣ ² + - _ e", 4),
    _target(object_names, ["ns/name", "name", "a/b/c", "../x", "a%2fb/c", "ns/", "/x"], "/ . .. % ? # \\ %2e %2f é", 3),
    _target(quantities, ["1", "500m", "1Gi", "2e3", ".5", "1.5Ki", "-3", "1E", "12e-9"],
            "n u m k M G T P E Ki Ei e + - .", 2, once=[b"9" * 60_000 + b"x", b"1e99999"]),
    _target(
        json_paths,
        [".spec.replicas", "{.spec.items[*].n}", '$.spec.items[?(@.type=="Ready")].n', "..n", "['a'][-1]", ".a[0:2:1]"],
        ". .. [ ] [*] [? ( ) @ == != <= ' \" : \\. { } $ -1 0 type spec items",
        1,
    ),
    _target(
        log_text,
        [
            "Bearer abc.def.ghi",
            "password=hunter2 x",
            "https://u:p@host/a?token=1",
            "-----BEGIN RSA PRIVATE KEY-----\nMII\n",
            "eyJhbGciOi.eyJzdWIi.c2ln",
            '{"token": "abc", "data": {"a": "b"}}',
        ],
        "Bearer Basic token= password: secret -----BEGIN PRIVATE KEY----- eyJ @ :// \" ' \\ = &",
        1,
        once=[word * 10_000 for word in (b"://", b"a@", b"token", b"eyJ.", b"-----BEGIN ", b'"a":', b'=\\"')],
    ),
]  # fmt: skip
