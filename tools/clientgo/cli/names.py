"""Validation of the names of projects, domains, API groups, versions, kinds and controllers."""

import keyword
import re
from collections.abc import Callable

from clientgo.errors import ClientGoError

_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS_1035 = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
_NO_WORD = re.compile(r"[^a-z0-9]+")

PROJECT_LENGTH = 63 - len("-controller-manager-metrics-service")
"""Length limit that keeps the longest scaffolded name, a Service's, within the 63 characters of a DNS label."""

CERT_MANAGER, SELF_SIGNED = CERTIFICATES = ("cert-manager", "self-signed")
"""Origins of the certificates of webhooks."""

IMPORTED = frozenset({
    "AdmissionRequest", "Annotated", "ApiObject", "Callable", "Client", "Condition", "Controller", "FakeClient", "Hub",
    "Manager", "Meta", "ObjectMeta", "ObjectName", "Queue", "Reconciler", "Result", "Warnings", "Watched",
    "WebhookServer",
})  # fmt: skip
"""Classes that scaffolded modules import; a kind of the same name would shadow them."""


class CommandError(ClientGoError):
    """The command cannot do what was asked; the message is one sentence for the user."""


def _rule(name: str, pattern: str, expected: str, *, limit: int = 253) -> Callable[[str], str]:
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        """Return the name if it is valid, else raise `CommandError`."""
        if not text and name in ("group", "version", "kind"):
            raise CommandError(f"{name} cannot be empty: give one with --{name}")
        if not compiled.fullmatch(text):
            raise CommandError(f"invalid {name} {text!r}: expected {expected}")
        if len(text) > limit:
            raise CommandError(f"invalid {name} {text!r}: too long, expected at most {limit} characters")
        return text

    return check


_LETTERS = "lower case letters, digits and '-'"
project_name = _rule(
    "project name", _LABEL, f"{_LETTERS}, beginning and ending with a letter or digit", limit=PROJECT_LENGTH
)
domain = _rule("domain", _SUBDOMAIN, "a domain such as example.com, in lower case")
group = _rule("group", _SUBDOMAIN, "lower case letters, digits, '-' and '.'")
version = _rule("version", r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?", "a version such as v1, v1beta1 or v1alpha1")
plural = _rule("plural", _DNS_1035, f"{_LETTERS}, beginning with a letter")
controller = _rule("controller name", _DNS_1035, f"{_LETTERS}, beginning with a letter")
module = _rule("module", r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", "a module such as generated.types.foo_v1")
release = _rule("release", r"[0-9][0-9A-Za-z.+-]*", "a release such as 0.1.0", limit=40)
certificates = _rule("certificates", "|".join(CERTIFICATES), " or ".join(CERTIFICATES))
webhook_path = _rule("webhook path", r"/[A-Za-z0-9]([-._/A-Za-z0-9]*[A-Za-z0-9])?", "a path such as /mutate-foo")
_camel_case = _rule(
    "kind", r"[A-Z][A-Za-z0-9]*", "a capital letter, then letters and digits, such as Foo", limit=63 - len("List")
)


def kind(text: str) -> str:
    """Return the kind's name if it is valid, also as the name of a class; else raise `CommandError`."""
    if keyword.iskeyword(text):
        raise CommandError(f"invalid kind {text!r}: it is a Python keyword")
    if text in IMPORTED:
        raise CommandError(f"invalid kind {text!r}: the scaffolded files import a class of that name")
    return _camel_case(text)


def proposed(folder: str) -> str:
    """Return the project name closest to the folder's name; empty if no valid characters are left."""
    return _NO_WORD.sub("-", folder.lower()).strip("-")[:PROJECT_LENGTH].strip("-")
