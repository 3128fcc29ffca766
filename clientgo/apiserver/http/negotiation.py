"""What form an answer takes: the object itself, a Table, or its metadata alone; from the Accept header.

The first acceptable entry wins, as on the real server. kubectl puts protobuf first and JSON behind it for built-in
kinds; protobuf is not served, so those requests get JSON. Header values repeat, hence the cache.
"""

from dataclasses import dataclass
from functools import lru_cache

from clientgo.apiserver.http.status import not_acceptable

_JSON_RANGES = ("*/*", "application/*", "application/json")
_FORMS = {
    "Table": ("v1", "v1beta1"),
    "PartialObjectMetadata": ("v1", "v1beta1"),
    "PartialObjectMetadataList": ("v1", "v1beta1"),
}


@dataclass(frozen=True, slots=True)
class Form:
    """How to answer: `kind` is empty for the object itself; `version` is that of meta.k8s.io."""

    kind: str = ""
    version: str = "v1"
    yaml: bool = False

    @property
    def plain(self) -> bool:
        """Whether stored JSON can be sent as it is."""
        return not self.kind and not self.yaml

    @property
    def content_type(self) -> str:
        """The Content-Type of the answer."""
        return "application/yaml" if self.yaml else "application/json"


PLAIN = Form()


@lru_cache(maxsize=256)
def negotiate(accept: str, *, forms: bool = True) -> Form:
    """The form to answer in; `forms` tells whether tables and metadata are offered.

    Raises:
        ApiFailure: 406, nothing that is asked for is served.
    """
    if not accept:
        return PLAIN
    for entry in accept.split(","):
        media, *raw = (part.strip() for part in entry.split(";"))
        params = dict(param.partition("=")[::2] for param in raw)
        yaml = media == "application/yaml"
        if media not in _JSON_RANGES and not yaml:
            continue
        wanted = params.get("as", "")
        if not wanted:
            return Form(yaml=yaml)
        if forms and params.get("g") == "meta.k8s.io" and params.get("v") in _FORMS.get(wanted, ()):
            return Form(wanted, params["v"], yaml)
    raise not_acceptable(("application/json", "application/yaml"))
