"""Reads a certificate: its subject as Java writes it (RFC 2253), and its alternative names.

Kafka's principals are Java's `X500Principal.getName()`, and access rules and mapping rules are written for exactly that
text. Other libraries escape other characters, know other short names, or turn the order round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from millstream.security.tls.der import (
    EXTENSIONS,
    OBJECT_ID,
    OCTET_STRING,
    SEQUENCE,
    SET,
    VERSION,
    Element,
    NotDer,
    elements,
    object_id,
    only_element,
)

_SHORT_NAMES: Final = {
    "2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.9": "STREET",
    "0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
}  # fmt: skip
"""Those of RFC 2253; Java writes every other type as its object id."""
_ENCODINGS: Final = {0x0C: "utf-8", 0x13: "utf-8", 0x16: "utf-8", 0x14: "latin-1", 0x1B: "latin-1", 0x1E: "utf-16-be"}  # fmt: skip
"""Of UTF8String, PrintableString, IA5String, T61String, GeneralString and BMPString. Values of other types
are written in hexadecimal.

Java 17 reads a BMPString as UTF-8, NULs included, which no rule is written for; here it is the text that it is."""
_ESCAPED: Final = ',=+<>#;"\\'
_BLANKS: Final = " \r"
_ALTERNATIVE_NAMES: Final = "2.5.29.17"
_SUBJECT_AT: Final = 4
"""Behind serial number, signature algorithm, issuer and validity."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """`alternative_names` are as encoded: they are only compared."""

    subject: str
    alternative_names: frozenset[bytes]


def read_certificate(encoded: bytes) -> Certificate:
    """Reads a certificate in DER. Raises NotDer."""
    signed = only_element(encoded, SEQUENCE).parts(1)[0].expect(SEQUENCE)
    with_version = signed.parts(_SUBJECT_AT + 1)
    fields = with_version[1:] if with_version[0].tag == VERSION else with_version
    if len(fields) <= _SUBJECT_AT:
        raise NotDer("a certificate without a subject")
    names: frozenset[bytes] = frozenset()
    if fields[-1].tag == EXTENSIONS:
        names = frozenset(_alternative_names(fields[-1]))
    return Certificate(distinguished_name(fields[_SUBJECT_AT].expect(SEQUENCE).content), names)


def distinguished_name(content: bytes) -> str:
    """Returns the text of a name, of which `content` is the sequence of its parts: the last one first.

    Raises NotDer.
    """
    parts = [_relative_name(each.expect(SET).content) for each in elements(content)]
    return ",".join(reversed(parts))


def _relative_name(content: bytes) -> str:
    return "+".join(_type_and_value(each) for each in elements(content))


def _type_and_value(pair: Element) -> str:
    kind, value = pair.expect(SEQUENCE).parts(2)[:2]
    name = object_id(kind.expect(OBJECT_ID).content)
    short, encoding = _SHORT_NAMES.get(name), _ENCODINGS.get(value.tag)
    if short is None or encoding is None:
        return f"{short or name}=#{value.encoded.hex()}"
    return f"{short}={_escaped(value.content.decode(encoding, 'replace'))}"


def _escaped(text: str) -> str:
    """With a backslash before what means something in a name, and before each blank at the ends."""
    marked = "".join(f"\\{each}" if each in _ESCAPED else each for each in text)
    marked = marked.replace("\0", "\\00")
    inner = marked.strip(_BLANKS)
    if not inner:
        return "".join(f"\\{each}" for each in marked)
    at = marked.index(inner)
    before, after = marked[:at], marked[at + len(inner) :]
    return "".join((*(f"\\{each}" for each in before), inner, *(f"\\{each}" for each in after)))


def _alternative_names(field: Element) -> Iterator[bytes]:
    for extension in only_element(field.content, SEQUENCE).parts(0):
        parts = extension.expect(SEQUENCE).parts(2)
        if object_id(parts[0].expect(OBJECT_ID).content) == _ALTERNATIVE_NAMES:
            names = only_element(parts[-1].expect(OCTET_STRING).content, SEQUENCE)
            yield from (each.encoded for each in names.parts(0))
