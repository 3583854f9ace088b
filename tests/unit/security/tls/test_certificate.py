"""Names in certificates, as Java writes them. The expected texts are those of `X500Principal.getName()` of Java 17, tried with these names."""

from __future__ import annotations

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from millstream.security.tls.certificate import read_certificate
from millstream.security.tls.der import NotDer, object_id

KEY = ec.generate_private_key(ec.SECP256R1())
attribute = x509.NameAttribute
COMMON_NAME = NameOID.COMMON_NAME


def certificate(subject: x509.Name, *hosts: str) -> bytes:
    names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(x509.Name([attribute(COMMON_NAME, "issuer")]))
        .public_key(KEY.public_key())
        .serial_number(1)
        .not_valid_before(dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
        .not_valid_after(dt.datetime(2090, 1, 1, tzinfo=dt.UTC))
    )
    if hosts:
        builder = builder.add_extension(names, critical=False)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (
            [(NameOID.COUNTRY_NAME, "US"), (NameOID.ORGANIZATION_NAME, "Org, Inc."), (COMMON_NAME, "Duke")],
            r"CN=Duke,O=Org\, Inc.,C=US",
        ),
        ([(COMMON_NAME, ' #a+b"c\\d<e>f;g=h# ')], r'CN=\ \#a\+b\"c\\d\<e\>f\;g\=h\#' + "\\ "),
        (
            [
                (NameOID.EMAIL_ADDRESS, "a@b.c"), (NameOID.DOMAIN_COMPONENT, "com"), (NameOID.DOMAIN_COMPONENT, "example"),
                (NameOID.USER_ID, "u1"), (NameOID.STREET_ADDRESS, "s 1"), (NameOID.STATE_OR_PROVINCE_NAME, "MD"),
                (NameOID.LOCALITY_NAME, "x"), (NameOID.ORGANIZATIONAL_UNIT_NAME, "ou"),
            ],
            "OU=ou,L=x,ST=MD,STREET=s 1,UID=u1,DC=example,DC=com,1.2.840.113549.1.9.1=#16056140622e63",
        ),
        ([(NameOID.SERIAL_NUMBER, "123"), (NameOID.TITLE, "Dr")], "2.5.4.12=#0c024472,2.5.4.5=#1303313233"),
        ([(COMMON_NAME, "Jörg Müller 漢字 😀")], "CN=Jörg Müller 漢字 😀"),
        ([(COMMON_NAME, "   ")], "CN=\\ \\ \\ "),
        ([(COMMON_NAME, "a  b"), (NameOID.ORGANIZATION_NAME, "#x")], r"O=\#x,CN=a  b"),
        ([(COMMON_NAME, "tab\tnew\nline\0nul")], "CN=tab\tnew\nline\\00nul"),
        ([(COMMON_NAME, "\r cr \r")], "CN=\\\r\\ cr\\ \\\r"),
    ],
)  # fmt: skip
def test_the_name_is_written_as_java_writes_it(
    attributes: list[tuple[x509.ObjectIdentifier, str]], expected: str
) -> None:
    subject = x509.Name([attribute(oid, text) for oid, text in attributes])
    assert read_certificate(certificate(subject)).subject == expected


def test_a_part_with_several_values_joins_them() -> None:
    part = x509.RelativeDistinguishedName(
        [attribute(COMMON_NAME, "multi"), attribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "val")]
    )
    assert read_certificate(certificate(x509.Name([part]))).subject == "OU=val+CN=multi"


def test_other_types_of_text() -> None:
    for kind, text in (
        (_ASN1Type.BMPString, "bmp é漢"),
        (_ASN1Type.T61String, "t61"),
        (_ASN1Type.IA5String, "ia5"),
    ):
        subject = x509.Name([attribute(COMMON_NAME, text, _type=kind)])
        assert read_certificate(certificate(subject)).subject == f"CN={text}"


def test_an_empty_name() -> None:
    assert read_certificate(certificate(x509.Name([]))).subject == ""


def test_alternative_names_are_compared_as_they_are_encoded() -> None:
    subject = x509.Name([attribute(COMMON_NAME, "a")])
    one = read_certificate(certificate(subject, "a.example")).alternative_names
    two = read_certificate(certificate(subject, "b.example", "a.example")).alternative_names
    assert len(one) == 1
    assert one < two
    assert not read_certificate(certificate(subject)).alternative_names


WHOLE = certificate(x509.Name([attribute(COMMON_NAME, "Duke")]), "a.example")


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255), st.integers(0, len(WHOLE)))
def test_damaged_certificates_end_in_one_error(at: int, byte: int, end: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[at] = byte
    for data in (bytes(damaged), WHOLE[:end], bytes(damaged[:end])):
        try:
            found = read_certificate(data)
        except NotDer:
            continue
        assert isinstance(found.subject, str)


def test_object_ids() -> None:
    assert object_id(bytes.fromhex("550403")) == "2.5.4.3"
    assert object_id(bytes.fromhex("8837")) == "2.999"
    assert object_id(bytes.fromhex("2a864886f70d010901")) == "1.2.840.113549.1.9.1"
    for broken in (b"", b"\x80", b"\xff" * 30 + b"\x01"):
        with pytest.raises(NotDer):
            object_id(broken)
