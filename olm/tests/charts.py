"""Charts of projects, rendered as Helm does with the few constructs that their templates have."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

_VALUE = re.compile(r'\{\{ toJson (?:\.Values\.(\w+)|\(index \.Values\.webhooks "([^"]+)"\)\.(\w+)) \}\}')
_CONDITION = re.compile(r"^ *\{\{- (?:if \.Values\.(?P<name>[\w.]+)|end) \}\}\n", re.MULTILINE)

Objects = dict[tuple[str, str], Any]
"""Objects by kind and name."""


def templates(project: Path) -> str:
    """Return the concatenated templates of the chart."""
    result = sorted((project / "dist" / "chart" / "templates").iterdir())
    return "".join(f"---\n{file.read_text()}" for file in result)


def values_of(project: Path) -> dict[str, Any]:
    """Return the default values of the chart."""
    values: dict[str, Any] = yaml.safe_load((project / "dist/chart/values.yaml").read_text())
    return values


def by_name(text: str) -> Objects:
    return {(item["kind"], item["metadata"]["name"]): item for item in yaml.safe_load_all(text) if item}


def rendered(project: Path, name: str, namespace: str, values: Mapping[str, Any] | None = None) -> Objects:
    """Return the objects of a release."""
    values = values_of(project) if values is None else values
    result = _conditional(templates(project), values)

    def value(match: re.Match[str]) -> str:
        selected = values[match[1]] if match[1] else values["webhooks"][match[2]][match[3]]
        return json.dumps(selected)

    result = _VALUE.sub(value, result)
    for field, text in (("Name", name), ("Namespace", namespace), ("Service", "Helm")):
        result = result.replace(f"{{{{ .Release.{field} }}}}", text)
    assert "{{" not in result
    return by_name(result)


def _conditional(text: str, values: Mapping[str, Any]) -> str:
    """Return the text without the blocks whose value is false."""
    result, enabled, at = "", [True], 0
    for match in _CONDITION.finditer(text):
        result += text[at : match.start()] if all(enabled) else ""
        at = match.end()
        if match["name"]:
            section, _, name = match["name"].partition(".")
            enabled.append(bool(values[section][name]))
        else:
            enabled.pop()
    return result + text[at:]
