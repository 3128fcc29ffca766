#!/usr/bin/env bash
# cryptography 50.0.2 (PyPI)
# Behaviour: a common name of more than 64 characters is a ValueError when a certificate or a request is built. It is not
#   one in a certificate that is read, which only warns. An organization of 80 characters, the name of a group, is built.
# Expected: no limit, or the same one for both: RFC 5280 has an upper bound of 64 for either.
# Matters: Kubernetes reads the user from the common name: those of service accounts can have more than 300
#   characters, and system:node: leaves 52 for the name of a node.
. "$(dirname "$0")/lib.sh"
pypi cryptography==50.0.2

observe python -W ignore - <<'CODE'
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

name = "system:node:" + "a" * 53
try:
    x509.NameAttribute(NameOID.COMMON_NAME, name)
except ValueError as error:
    print(error)
print(len(x509.NameAttribute(NameOID.ORGANIZATION_NAME, "g" * 80).value))
subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name, _validate=False)])
request = x509.CertificateSigningRequestBuilder().subject_name(subject)
signed = request.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
read = x509.load_pem_x509_csr(signed.public_bytes(serialization.Encoding.PEM))
print(len(read.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value))
CODE
expect "Attribute's length must be >= 1 and <= 64, but it was 65
80
65"
