"""Which names a project, its groups, versions and kinds may have; whatever is refused is so with one sentence."""

import keyword
import re

from clientgo.errors import ClientGoError

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_NO_WORD = re.compile(r"[^a-z0-9]+")

PROJECT_LENGTH = 63 - len("-controller-manager-metrics-service")
"""The longest name of the scaffold is a Service's: a DNS label of at most 63 characters, the project's before it."""

_USED = frozenset({
    "AdmissionRequest", "Condition", "Controller", "Hub", "Manager", "Meta", "ObjectMeta", "ObjectName", "Queue",
    "Result", "Warnings", "Watched", "WebhookServer",
})  # fmt: skip
"""Classes that the scaffold's modules import, and a kind's would hide."""


class Refused(ClientGoError):
    """What was asked for can't be done; the message is one sentence for whoever asked."""


def project_name(text: str) -> str:
    """A project's name: a DNS-1123 label, because every object of the deployment begins with it."""
    if not _LABEL.fullmatch(text):
        raise Refused(
            f"{text!r} can't be a project's name: use lower case letters, digits and '-', beginning and ending with a"
            " letter or digit"
        )
    if len(text) > PROJECT_LENGTH:
        raise Refused(f"{text!r} is too long for a project's name: use at most {PROJECT_LENGTH} characters")
    return text


def domain(text: str) -> str:
    """What the groups of a project end with: a DNS-1123 subdomain."""
    if not _SUBDOMAIN.fullmatch(text) or len(text) > 253:
        raise Refused(f"{text!r} can't be a domain: write one like example.com, in lower case")
    return text


def group(text: str) -> str:
    """The part of an API group before the domain: a DNS-1123 subdomain."""
    if not text:
        raise Refused("group cannot be empty: give one with --group")
    if not _SUBDOMAIN.fullmatch(text):
        raise Refused(f"{text!r} can't be a group: use lower case letters, digits, '-' and '.'")
    return text


def version(text: str) -> str:
    """A version as Kubernetes orders them: v1, v1beta1, v2alpha3; it is a Python package's name too."""
    if not text:
        raise Refused("version cannot be empty: give one with --version")
    if not _VERSION.fullmatch(text):
        raise Refused(f"{text!r} can't be a version: write one like v1, v1beta1 or v1alpha1")
    return text


def kind(text: str) -> str:
    """A kind's name, and its class': a capital, then letters and digits."""
    if not text:
        raise Refused("kind cannot be empty: give one with --kind")
    if not _KIND.fullmatch(text):
        raise Refused(f"{text!r} can't be a kind: begin with a capital and use letters and digits, as in Foo")
    if keyword.iskeyword(text):
        raise Refused(f"{text!r} can't be a kind: it is a word of Python")
    if text in _USED:
        raise Refused(f"{text!r} can't be a kind: the files made for it use a class of that name")
    return text


def controller(text: str) -> str:
    """What a controller is called: a DNS-1035 label."""
    if not _DNS_1035.fullmatch(text):
        raise Refused(
            f"{text!r} can't be a controller's name: use lower case letters, digits and '-', beginning with a letter"
        )
    return text


def plural(text: str) -> str:
    """A resource's name: a DNS-1035 label."""
    if not _DNS_1035.fullmatch(text):
        raise Refused(f"{text!r} can't be a plural: use lower case letters, digits and '-', beginning with a letter")
    return text


def proposed(folder: str) -> str:
    """A project's name made from its folder's, as near as rules allow; empty if nothing is left."""
    return _NO_WORD.sub("-", folder.lower()).strip("-")[:PROJECT_LENGTH].strip("-")
