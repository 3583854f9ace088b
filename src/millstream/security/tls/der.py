"""Reads DER, as far as certificates need it: a tag, a length, a value, and what is inside of a value.

Certificates come from clients; OpenSSL has verified them before, and still every length is
checked against what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

SEQUENCE: Final = 0x30
SET: Final = 0x31
OBJECT_ID: Final = 0x06
INTEGER: Final = 0x02
VERSION: Final = 0xA0
"""[0] EXPLICIT, the first field of a certificate that is not of version 1."""
EXTENSIONS: Final = 0xA3
"""[3] EXPLICIT, the last field of a certificate."""
OCTET_STRING: Final = 0x04
_LONG_FORM: Final = 0x80
_LENGTH_BYTES_MAX: Final = 4
_ARC_BYTES_MAX: Final = 20
"""Of one number of an object id: 128 bits are the longest there are (2.25, UUIDs)."""


class NotDer(ValueError):
    """The bytes are no DER, or something else was expected."""


class Element(NamedTuple):
    """One value. `encoded` has its tag and length as well."""

    tag: int
    content: bytes
    encoded: bytes

    def expect(self, tag: int) -> Element:
        """Returns itself. Raises NotDer where the tag is another one."""
        if self.tag != tag:
            raise NotDer(f"tag {self.tag:#x} where {tag:#x} was expected")
        return self

    def parts(self, least: int) -> list[Element]:
        """Returns the values inside. Raises NotDer where there are fewer than `least`."""
        found = list(elements(self.content))
        if len(found) < least:
            raise NotDer(f"{len(found)} values where {least} were expected")
        return found


def elements(data: bytes) -> Iterator[Element]:
    """Yields the values that follow each other. Raises NotDer."""
    at = 0
    while at < len(data):
        element = _element(data, at)
        at += len(element.encoded)
        yield element


def only_element(data: bytes, tag: int) -> Element:
    """Returns the one value that `data` is. Raises NotDer."""
    found = list(elements(data))
    if len(found) != 1:
        raise NotDer(f"{len(found)} values where one was expected")
    return found[0].expect(tag)


def object_id(content: bytes) -> str:
    """Returns an object id with dots. Raises NotDer."""
    if not content or content[-1] & 0x80:
        raise NotDer("an object id ends within a number")
    numbers: list[int] = []
    number = length = 0
    for byte in content:
        number, length = number << 7 | byte & 0x7F, length + 1
        if length > _ARC_BYTES_MAX:
            raise NotDer("an object id has a number that is too large")
        if not byte & 0x80:
            numbers.append(number)
            number = length = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _element(data: bytes, start: int) -> Element:
    if len(data) - start < 2:
        raise NotDer("a value ends within its tag and length")
    tag, length, at = data[start], data[start + 1], start + 2
    if length & _LONG_FORM:
        count = length & ~_LONG_FORM
        if not 1 <= count <= _LENGTH_BYTES_MAX or len(data) - at < count:
            raise NotDer("a length that is no length")
        length = int.from_bytes(data[at : at + count], "big")
        at += count
    if length > len(data) - at:
        raise NotDer(f"a value of {length} bytes where {len(data) - at} are left")
    return Element(tag, data[at : at + length], data[start : at + length])
