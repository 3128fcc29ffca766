"""Certificate authorities and bundles of certificates."""

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConfigError
from clientgo.pki import CertificateAuthority, merge_bundle
from clientgo.testing.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(time=SYSTEM_CLOCK.time())


def test_merging_a_bundle_drops_placeholders_and_expired_certificates(clock: FakeClock) -> None:
    ended, valid = (
        CertificateAuthority.create("test-ca", timedelta(seconds=-1), clock=clock),
        CertificateAuthority.create("test-ca", timedelta(seconds=9), clock=clock),
    )
    for placeholder in (b"", b"\n", b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----"):
        assert merge_bundle(placeholder, add=valid.certificate, clock=clock) == valid.certificate
    both = ended.certificate + valid.certificate
    assert merge_bundle(both, clock=clock) == valid.certificate
    assert merge_bundle(both, add=valid.certificate, remove=valid.certificate, clock=clock) == valid.certificate
    assert merge_bundle(both, remove=valid.certificate, clock=clock) == b""


def test_authority_signs_only_end_entity_certificates() -> None:
    authority = CertificateAuthority.create("test-ca")
    signed, _ = authority.server(["a" * 70])
    local, leaf = (x509.load_pem_x509_certificate(item) for item in (authority.certificate, signed))
    assert local.extensions.get_extension_for_class(x509.BasicConstraints).value == x509.BasicConstraints(True, 0)
    assert leaf.extensions.get_extension_for_class(x509.BasicConstraints).value == x509.BasicConstraints(False, None)
    purposes = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH]
    for certificate, may in ((local, {"key_cert_sign", "crl_sign"}), (leaf, {"digital_signature"})):
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
        uses = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
        assert {name for name in (*uses, "key_cert_sign", "crl_sign") if getattr(usage, name)} == may


def test_certificate_expires_at_its_end() -> None:
    clock = FakeClock()
    authority = CertificateAuthority.create("test-ca", timedelta(seconds=100), clock=clock)
    clock.step(99.0)
    assert merge_bundle(authority.certificate, clock=clock) == authority.certificate
    clock.step(1.0)
    assert merge_bundle(authority.certificate, clock=clock) == b""


def test_has_signed_checks_issuer_hosts_and_expiry(clock: FakeClock) -> None:
    authority = CertificateAuthority.create("test-ca", timedelta(seconds=100), clock=clock)
    certificate, _ = authority.server(["a", "10.0.0.1"], timedelta(seconds=100))
    assert authority.has_signed(certificate, ["10.0.0.1", "a"])
    assert not authority.has_signed(certificate, ["a", "b"])
    assert not authority.has_signed(b"", [])
    assert not authority.has_signed(authority.certificate, [])  # which is for no name
    assert not CertificateAuthority.create("test-ca", timedelta(seconds=100), clock=clock).has_signed(
        certificate, ["a"]
    )
    clock.step(101.0)
    assert not authority.has_signed(certificate, ["a"])


def test_invalid_authority_is_rejected() -> None:
    authority, other = (CertificateAuthority.create("test-ca"), CertificateAuthority.create("test-ca"))
    with pytest.raises(ConfigError, match="invalid certificate authority"):
        CertificateAuthority(b"x", b"y")
    with pytest.raises(ConfigError, match="key and certificate do not match"):
        CertificateAuthority(authority.certificate, other.key)
    with pytest.raises(ValueError, match="at least one host"):
        authority.server([])
