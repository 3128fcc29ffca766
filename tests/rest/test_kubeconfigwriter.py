import stat
from pathlib import Path

import pytest
import yaml

from clientgo.errors import ConfigError
from clientgo.rest.kubeconfigwriter import NAME, remove_kubeconfig, write_kubeconfig


def test_kubeconfig_names_server_and_token(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "made" / "kubeconfig", "http://127.0.0.1:1", token="t", ca=b"pem")
    document = yaml.safe_load(path.read_text())
    assert document["current-context"] == NAME
    assert document["clusters"][0]["cluster"] == {"server": "http://127.0.0.1:1", "certificate-authority-data": "cGVt"}
    assert document["users"][0]["user"] == {"token": "t"}
    assert document["contexts"][0]["context"] == {"cluster": NAME, "user": NAME, "namespace": "default"}


def test_kubeconfig_of_a_server_without_tls_says_so(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")
    (cluster,) = yaml.safe_load(path.read_text())["clusters"]
    assert cluster["cluster"] == {"server": "http://127.0.0.1:1", "insecure-skip-tls-verify": True}
    path = write_kubeconfig(path, "https://127.0.0.1:1")
    assert "insecure" not in path.read_text(), "a server with TLS is verified"


def test_kubeconfig_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_earlier_kubeconfig_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")
    (tmp_path / "kubeconfig").chmod(0o644)
    path = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:2")
    assert yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"] == "http://127.0.0.1:2"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", ["clusters: [{name: production}]", "notes", "clusters: 3", "a: [", "\tb"])
def test_foreign_configuration_is_not_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(ConfigError, match="choose another file"):
        write_kubeconfig(path, "http://127.0.0.1:1")
    assert path.read_text() == text


def test_kubeconfig_is_removed_unless_another_server_has_replaced_it(tmp_path: Path) -> None:
    first, second = "http://127.0.0.1:1", "http://127.0.0.1:2"
    path = write_kubeconfig(tmp_path / "kubeconfig", first)
    write_kubeconfig(path, second)
    remove_kubeconfig(path, first)
    assert second in path.read_text()
    remove_kubeconfig(path, second)
    assert not path.exists()
    remove_kubeconfig(path, second)


def test_kubeconfig_with_changes_of_kubectl_is_removed_and_another_file_is_not(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")
    path.write_text(path.read_text().replace("namespace: default", "namespace: shop"))
    remove_kubeconfig(path, "http://127.0.0.1:1")
    assert not path.exists()
    for text in ("", "[", "a note", "clusters: []"):
        path.write_text(text)
        remove_kubeconfig(path, "http://127.0.0.1:1")
        assert path.read_text() == text
