"""Completeness of the code generation guide."""

import inspect
from pathlib import Path

import pytest

from clientgo.codegen.options import options_parser
from clientgo.meta import Meta, Rule, api_type
from clientgo.meta.declarations import RbacRule, WebhookDeclaration, client_method

GUIDE = (Path(__file__).resolve().parents[2] / "docs/codegen.md").read_text()


@pytest.mark.feature("A-55", "A-49")
def test_guide_documents_every_decorator_parameter() -> None:
    marks = (Meta, Rule, RbacRule, WebhookDeclaration, api_type, client_method)
    words = {word for mark in marks for word in inspect.signature(mark).parameters}
    assert sorted(word for word in words if f"{word}=" not in GUIDE and f"`{word}`" not in GUIDE) == []


@pytest.mark.feature("A-55")
def test_guide_documents_every_command_line_option() -> None:
    actions = options_parser()._actions.values()
    options = [option for action in actions for option in action.option_strings if option.startswith("--")]
    assert [option for option in options if option not in GUIDE] == []
