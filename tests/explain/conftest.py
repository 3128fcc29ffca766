"""Files with definitions to explain."""

from pathlib import Path

import pytest

from clientgo.meta.yamlio import to_yaml
from tests.explain.explaining import library_crd


@pytest.fixture
def crd_file(tmp_path: Path) -> Path:
    """File with the CRD of Library in v1beta1, v2 and v1."""
    file = tmp_path / "libraries.yaml"
    file.write_text(to_yaml(library_crd("v1beta1", "v2", "v1")), encoding="utf-8")
    return file
