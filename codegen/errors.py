"""Writes src/millstream/errors.py from the error table."""

from __future__ import annotations

from codegen.error_table import ERRORS

_HEADER = '''"""Errors. Everything Millstream raises on purpose is a `MillstreamError`.

    MillstreamError
    ├── KafkaError            an error code of the protocol; one class per code, `error_for(code)` finds it
    │   └── RetriableError    the same request may succeed later
    ├── ProtocolError         bytes that are not what the protocol says
    │   ├── MalformedMessage  received: names message, version, field and offset
    │   └── EncodeError       about to be sent: a value that the version cannot carry
    └── ConfigError           a setting that cannot be used; says which and why

Written by `make codegen` from codegen/error_table.py.
"""

from __future__ import annotations

from typing import ClassVar, Final


class MillstreamError(Exception):
    """Root of everything raised on purpose."""


class ConfigError(MillstreamError):
    """A setting that cannot be used. The message names the key and says what to write instead."""


class ProtocolError(MillstreamError):
    """Bytes, or values to be turned into bytes, that break the protocol."""


class MalformedMessage(ProtocolError):
    """Received bytes that cannot be decoded."""

    def __init__(self, reason: str, *, message: str = "?", version: int = -1, field: str = "?", offset: int = -1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message
        self.version = version
        self.field = field
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.message} v{self.version}, field {self.field}, offset {self.offset}: {self.reason}"


class EncodeError(ProtocolError):
    """A value that this version of the message cannot carry."""


DETAIL_CHARACTERS_MAX: Final = 2_000


class KafkaError(MillstreamError):
    """An error of Kafka's protocol. `str()` gives the sentence of the code, or a more exact one."""

    code: ClassVar[int] = -1
    name: ClassVar[str] = "UNKNOWN_SERVER_ERROR"
    sentence: ClassVar[str] = ""
    retriable: ClassVar[bool] = False

    def __init__(self, detail: str | None = None, *, bound: str = "") -> None:
        """A detail may quote names that a client chose; it is cut so that it always fits into an answer.

        `bound` names what there is no room for, where Kafka has no such bound: an operator has to hear of it,
        since few answers tell why.
        """
        self.bound = bound
        self.detail = detail[:DETAIL_CHARACTERS_MAX] if detail else detail
        super().__init__(self.detail or self.sentence)


class RetriableError(KafkaError):
    """The same request may succeed later."""

    retriable = True
'''

_FOOTER = '''

ERRORS: Final[dict[int, type[KafkaError]]] = {{
{rows}
}}


def error_for(code: int, detail: str | None = None) -> KafkaError:
    """Returns the exception for an error code of a response.

    Codes this release does not know become UnknownServerError.
    """
    kind = ERRORS.get(code)
    if kind is None:
        return UnknownServerError(detail or f"error code {{code}}, which is newer than this client")
    return kind(detail)
'''


def class_name(name: str) -> str:
    words = name.removesuffix("_EXCEPTION") if name == "INVALID_TOPIC_EXCEPTION" else name
    return "".join(word.capitalize() for word in words.split("_"))


def render() -> str:
    classes, rows = [], []
    for line in ERRORS.strip().splitlines():
        head, sentence = line.split(" | ")
        code, name = head.split()
        base = "RetriableError" if name.endswith("*") else "KafkaError"
        name = name.rstrip("*")
        classes.append(
            f'\n\nclass {class_name(name)}({base}):\n    code = {code}\n    name = "{name}"\n'
            f'    sentence = "{sentence}"\n'
        )
        rows.append(f"    {code}: {class_name(name)},")
    return _HEADER + "".join(classes) + _FOOTER.format(rows="\n".join(rows))
