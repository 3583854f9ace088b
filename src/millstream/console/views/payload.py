"""Bytes of others, made fit to be shown: text where they are text, hex where not, cut at a length.

Escaping for HTML is not done here: templates escape everything.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final, Literal

TEXT_BYTES_MAX: Final = 1024
HEX_BYTES_MAX: Final = 256

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_CONTROLS_MAX: Final = 0.25
"""Text has a few of these: colours of a terminal, a form feed. Lengths and magic bytes of a binary format are
many, and NUL is always one."""
_KEPT_SPACE = "\n\t"


@dataclass(frozen=True, slots=True)
class Payload:
    """`text` holds the first bytes, as text or as hex digits; `size_bytes` counts all of them."""

    text: str
    encoding: Literal["text", "hex"]
    size_bytes: int
    is_truncated: bool


def show_bytes(content: bytes | None) -> Payload | None:
    r"""Returns the bytes as text; None for a null.

    Text is UTF-8 without NUL, of which at most a quarter are control characters.

    Characters that cannot be seen, or that turn the direction of the text around them, are written as \u escapes.
    """
    if content is None:
        return None
    text = _decoded(content[:TEXT_BYTES_MAX], complete=len(content) <= TEXT_BYTES_MAX)
    if text is None:
        head = content[:HEX_BYTES_MAX]
        return Payload(head.hex(" "), "hex", len(content), len(head) < len(content))
    return Payload(visible(text), "text", len(content), len(content) > TEXT_BYTES_MAX)


def visible(text: str) -> str:
    """Returns `text` with every character that cannot be seen written as an escape, except line ends and tabs."""
    return "".join(
        character if character.isprintable() or character in _KEPT_SPACE else _escape(character)
        for character in text
    )


def _decoded(head: bytes, *, complete: bool) -> str | None:
    """None when this is not text. A character that the cut went through is left out."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head, final=complete)
    except UnicodeDecodeError:
        return None
    controls = len(_CONTROL.findall(text))
    is_binary = "\x00" in text or controls > _CONTROLS_MAX * len(text)
    return None if is_binary else text


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
