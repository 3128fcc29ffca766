"""Certificates for the tests of TLS, created once per session."""

import shutil
import subprocess
from pathlib import Path

import pytest

EC = "-newkey ec -pkeyopt ec_paramgen_curve:P-256"


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ca.pem, other.pem; server.pem, client.pem and middle.pem, each with its key, signed by ca.

    middle.pem is an authority itself, and has signed below.pem.
    """
    if shutil.which("openssl") is None:
        pytest.skip("no openssl program to make certificates with")
    location = tmp_path_factory.mktemp("tls")
    for name in ("ca", "other"):
        _openssl(location, f"req -x509 {EC} -nodes -keyout {name}.key -out {name}.pem"
                 f" -subj /CN={name} -days 30")  # fmt: skip
    for name, signer in (("server", "ca"), ("client", "ca"), ("middle", "ca"), ("below", "middle")):
        _openssl(location, f"req {EC} -nodes -keyout {name}.key -out {name}.csr"
                 f" -subj /CN={name}")  # fmt: skip
        authority = "basicConstraints=critical,CA:TRUE\n" if name == "middle" else ""
        (location / "ext").write_text(f"subjectAltName=DNS:api.example,IP:127.0.0.1\n{authority}")
        _openssl(location, f"x509 -req -in {name}.csr -CA {signer}.pem -CAkey {signer}.key -CAcreateserial"
                 f" -out {name}.pem -days 30 -extfile ext")  # fmt: skip
    _openssl(location, "ec -in client.key -aes128 -passout pass:secret -out locked.key")
    return location


def _openssl(folder: Path, arguments: str) -> None:
    subprocess.run(["openssl", *arguments.split()], cwd=folder, check=True, capture_output=True, timeout=60)
