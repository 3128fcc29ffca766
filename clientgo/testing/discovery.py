"""Discovery documents of a fake: the kinds of its scheme, in the format of a real server."""

from collections.abc import Iterable
from typing import Any

from clientgo.errors import NotFound
from clientgo.meta.codec import encode_value
from clientgo.meta.scheme import ApiType, Scheme, api_of

VERSION = {"major": "1", "minor": "0", "gitVersion": "v1.0.0-fake", "platform": "fake/fake"}
"""Version of the fake server."""

_VERBS = {
    "update_status": "",
    "patch_status": "",
    "apply_status": "",
    "apply": "",
    "delete_collection": "deletecollection",
}


def discovered(scheme: Scheme, path: str) -> bytes:
    """Return the discovery document at a path.

    Raises:
        NotFound: the path, or its group or version, does not exist.
    """
    apis = [api_of(cls) for gvk in scheme.kinds() if (cls := scheme.class_of(gvk)) is not None]
    match path.strip("/").split("/"):
        case ["version"]:
            return encode_value(VERSION)
        case ["api"]:
            return encode_value({"kind": "APIVersions", "versions": _versions(apis, "")})
        case ["apis"]:
            groups = sorted({api.group for api in apis if api.group})
            return encode_value({"kind": "APIGroupList", "groups": [_group(apis, group) for group in groups]})
        case ["apis", group] if _versions(apis, group):
            return encode_value({"kind": "APIGroup"} | _group(apis, group))
        case ["api", version] if version in _versions(apis, ""):
            return encode_value(_resources(apis, "", version))
        case ["apis", group, version] if version in _versions(apis, group):
            return encode_value(_resources(apis, group, version))
        case _:
            raise NotFound(f"the fake does not serve {path}")


def _versions(apis: Iterable[ApiType], group: str) -> list[str]:
    # In the scheme's order: a fake prefers no version.
    return list(dict.fromkeys(api.version for api in apis if api.group == group))


def _group(apis: Iterable[ApiType], group: str) -> dict[str, Any]:
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in _versions(apis, group)]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _resources(apis: Iterable[ApiType], group: str, version: str) -> dict[str, Any]:
    served = [api for api in apis if (api.group, api.version) == (group, version)]
    resources = [resource for api in served for resource in _of_kind(api)]
    name = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "groupVersion": name, "resources": resources}


def _of_kind(api: ApiType) -> Iterable[dict[str, Any]]:
    verbs = [verb for verb in (_VERBS.get(verb, verb) for verb in api.verbs) if verb]
    yield {
        "name": api.plural, "singularName": api.singular, "namespaced": api.namespaced, "kind": api.kind,
        "verbs": verbs, "shortNames": api.short_names, "categories": api.categories,
    }  # fmt: skip
    if api.status:
        verbs = ["get", "patch", "update"]
        yield {"name": f"{api.plural}/status", "singularName": "", "namespaced": api.namespaced, "kind": api.kind,
               "verbs": verbs}  # fmt: skip
