"""Classes of kinds from the files of their CRDs, for programs that need no class with all fields.

    Backup = kind_from_crd("backups.yaml")
    client.create(Backup(metadata=ObjectMeta(name="a", namespace="default"), content={"spec": {"days": 7}}))

The objects are `Unstructured`, of a class that stands for the kind.
"""

from pathlib import Path

from clientgo.dynamic.unstructured import Unstructured, unstructured_type
from clientgo.errors import ConfigError
from clientgo.meta.manifests import read_crds
from clientgo.meta.objects import GroupVersionResource


def kind_from_crd(path: Path | str, kind: str = "", *, version: str = "") -> type[Unstructured]:
    """Return the class of a kind whose CRD is in a file or folder of YAML.

    `kind` selects one of several CRDs; `version` one that is served, by default the stored one.

    Raises:
        ConfigError: there is no such CRD, several, or not this version.
    """
    specs = {crd["spec"]["names"]["kind"]: crd["spec"] for crd in read_crds([Path(path)])}
    if not kind and len(specs) == 1:
        kind = next(iter(specs))
    if kind not in specs:
        raise ConfigError(f"{path} has no CRD of kind {kind!r}: pass one of {', '.join(sorted(specs)) or 'none'}")
    spec = specs[kind]
    served = {each["name"]: each.get("storage", False) for each in spec["versions"] if each.get("served", True)}
    name = version or max(served, key=lambda each: bool(served[each]), default="")
    if name not in served:
        raise ConfigError(f"{path} serves no version {name!r} of {kind}: pass one of {', '.join(served)}")
    names = spec["names"]
    return unstructured_type(
        GroupVersionResource(spec["group"], name, names["plural"]),
        kind=kind,
        namespaced=spec["scope"] == "Namespaced",
        list_kind=names.get("listKind", ""),
    )
