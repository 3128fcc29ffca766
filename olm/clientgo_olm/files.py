"""Files of a bundle: manifests, metadata, scorecard tests, and the Dockerfile of its image."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clientgo.internal.files import path_below
from clientgo.meta.yamlio import to_yaml
from clientgo_olm.objects import Object, at, group_of, name_of, text
from clientgo_olm.rendered import Rendered
from clientgo_olm.serviceversion import Release, service_version

FOLDER = "bundle"
DOCKERFILE = "bundle.Dockerfile"

_BUNDLE = "operators.operatorframework.io.bundle"
_TEST = "operators.operatorframework.io.test"
# Set by the API server, or by OLM.
_NOT_OURS = ("creationTimestamp", "namespace")
_INJECTION = "cert-manager.io/inject-ca-from"


@dataclass(frozen=True, slots=True)
class Channels:
    """Channels that offer the bundle, and the default channel."""

    names: tuple[str, ...] = ("alpha",)
    default: str = ""


def labels(package: str, channels: Channels, *, tested: bool) -> dict[str, str]:
    """Return the labels of the image, which are also the annotations of the bundle."""
    values = {
        f"{_BUNDLE}.mediatype.v1": "registry+v1",
        f"{_BUNDLE}.manifests.v1": "manifests/",
        f"{_BUNDLE}.metadata.v1": "metadata/",
        f"{_BUNDLE}.package.v1": package,
        f"{_BUNDLE}.channels.v1": ",".join(channels.names),
    }
    if channels.default:
        values[f"{_BUNDLE}.channel.default.v1"] = channels.default
    values |= {
        "operators.operatorframework.io.metrics.builder": "clientgo",
        "operators.operatorframework.io.metrics.mediatype.v1": "metrics+v1",
        "operators.operatorframework.io.metrics.project_layout": "python.clientgo.dev/v1",
    }
    if tested:
        values |= {f"{_TEST}.mediatype.v1": "scorecard+v1", f"{_TEST}.config.v1": "tests/scorecard/"}
    return values


def bundle_files(rendered: Rendered, release: Release, channels: Channels) -> dict[str, str]:
    """Return all files of the bundle by path in the project; raises `CommandError`."""
    scorecard = rendered.scorecard
    label_values = labels(release.package, channels, tested=scorecard is not None)
    version = service_version(rendered, release)
    files = {f"manifests/{release.package}.clusterserviceversion.yaml": dumped(version)}
    for definition in rendered.definitions:
        group, plural = text(at(definition, "spec.group")), text(at(definition, "spec.names.plural"))
        files[f"manifests/{group}_{plural}.yaml"] = dumped(_cleaned(definition))
    for other in rendered.others():
        files[f"manifests/{_file_name(other)}"] = dumped(_cleaned(other))
    files["metadata/annotations.yaml"] = dumped({"annotations": label_values})
    if scorecard is not None:
        files["tests/scorecard/config.yaml"] = dumped(scorecard)
    return {
        **{f"{FOLDER}/{path}": content for path, content in files.items()},
        DOCKERFILE: _dockerfile(label_values, tested=scorecard is not None),
    }


def write(root: Path, files: Mapping[str, str]) -> list[tuple[str, str]]:
    """Write the files and remove others from the bundle; return the actions and paths.

    Users edit config/manifests, from which the folder is generated.

    Raises:
        ConfigError: a path leads out of the project.
    """
    done, manifests = [], path_below(root, f"{FOLDER}/manifests")
    for path, target in {path: path_below(root, path) for path in files}.items():
        content = files[path]
        before = target.read_text(encoding="utf-8") if target.is_file() else None
        if before != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, encoding="utf-8")
            done.append(("created" if before is None else "updated", path))
    for target in sorted(manifests.iterdir()):
        path = target.relative_to(root).as_posix()
        if path not in files and target.is_file():
            target.unlink()
            done.append(("removed", path))
    return done


def dumped(obj: Mapping[str, Any]) -> str:
    """Return an object as YAML, with multi-line strings as blocks."""
    return to_yaml(dict(obj), sort_keys=True, literal=True)


def _cleaned(obj: Object) -> Object:
    metadata = {name: value for name, value in obj.get("metadata", {}).items() if name not in _NOT_OURS}
    annotations = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != _INJECTION}
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    return {**obj, "metadata": metadata}


def _file_name(obj: Object) -> str:
    version = text(obj.get("apiVersion")).rpartition("/")[2]
    suffix = f"{group_of(obj)}_{version}" if group_of(obj) else version
    return f"{name_of(obj)}_{suffix}_{text(obj.get('kind')).lower()}.yaml"


def _dockerfile(label_values: Mapping[str, str], *, tested: bool) -> str:
    lines: Iterable[str] = [
        "# Image of the bundle, which only holds files: make bundle-build.",
        "FROM scratch",
        "",
        "# Must equal bundle/metadata/annotations.yaml.",
        *(f"LABEL {name}={value}" for name, value in label_values.items()),
        "",
        f"COPY {FOLDER}/manifests /manifests/",
        f"COPY {FOLDER}/metadata /metadata/",
        *([f"COPY {FOLDER}/tests/scorecard /tests/scorecard/"] if tested else []),
    ]
    return "\n".join(lines) + "\n"
