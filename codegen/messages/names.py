"""How Kafka's names become Python's."""

from __future__ import annotations

import re

from millstream.protocol.schema import Field, MessageSchema

_SPELLING = {"kRaft": "kraft", "KRaft": "Kraft", "enable2Pc": "enable_2pc"}


def snake_case(name: str) -> str:
    """`logStartOffset` to `log_start_offset`."""
    for kafka, ours in _SPELLING.items():
        name = name.replace(kafka, ours)
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name).lower()


def attribute(field: Field) -> str:
    return snake_case(field.name)


def constant(name: str) -> str:
    return snake_case(name).upper()


def api_name(message: MessageSchema) -> str:
    """`ListOffsets` of ListOffsetsRequest and ListOffsetsResponse."""
    return message.name.removesuffix("Request").removesuffix("Response")
