"""Configuration file of the generator, with several outputs.

    boilerplate: hack/boilerplate.py.txt
    outputs:
    - input-module: controller.api.v1alpha1
      output-package: generated
      crd-dir: artifacts/crd
    - from-crd: [certificates.yaml, issuers.yaml]
      output-package: others

Each output is a run of the command. The keys are the names of options, validated by the same parser; keys beside
`outputs` apply to all outputs.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from clientgo.codegen.problems import CodegenError, reason_of
from clientgo.meta.yamlio import InvalidYAML, read_document

_OUTPUTS = Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]
_WORD = re.compile(r"[a-z]+(-[a-z]+)*")
# Options that are not for files.
_ASKING = ("config", "help")
_MOST = 2**63


def read_config(path: Path) -> list[list[str]]:
    """Return the arguments of each output; CodegenError if the file is invalid."""
    try:
        document = read_document(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CodegenError(f"{path}: cannot read the file: {reason_of(error)}") from error
    except InvalidYAML as error:
        raise CodegenError(f"{path}:{error.line}: invalid YAML: {error}") from error
    try:
        content = msgspec.convert(document, dict[str, Any])
        outputs = msgspec.convert(content.pop("outputs", None), _OUTPUTS)
    except msgspec.ValidationError as error:
        raise CodegenError(f"{path}: expected a list `outputs`, each with its options") from error
    return [list(_arguments({**content, **output}, path)) for output in outputs]


def _arguments(document: Mapping[str, Any], path: Path) -> Iterator[str]:
    for name, value in document.items():
        option = f"--{name}"
        if not _WORD.fullmatch(name) or name in _ASKING:
            raise CodegenError(f"{path}: unknown option {name!r}")
        if value is None:
            continue  # an empty list, from which the scaffold leaves out the brackets
        try:
            setting = msgspec.convert(value, bool | int | str | list[int | str])
        except msgspec.ValidationError as error:
            raise CodegenError(f"{path}: invalid {name}: expected a string, a list of strings, or true") from error
        if isinstance(setting, bool):
            yield from (option,) if setting else ()
            continue
        texts = [_option_text(part, name, path) for part in (setting if isinstance(setting, list) else [setting])]
        for part in [",".join(texts)] if name == "generators" else texts:
            yield from (option, part)


def _option_text(value: int | str, name: str, path: Path) -> str:
    if isinstance(value, int) and abs(value) > _MOST:
        raise CodegenError(f"{path}: invalid {name}: the number is too large")
    return str(value)
