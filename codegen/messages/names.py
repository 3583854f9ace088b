"""How Kafka's names become Python's, beyond `snake_case` of the schema."""

from __future__ import annotations

from millstream.protocol.schema import MessageSchema, snake_case


def constant(name: str) -> str:
    return snake_case(name).upper()


def api_name(message: MessageSchema) -> str:
    """`ListOffsets` of ListOffsetsRequest and ListOffsetsResponse."""
    return message.name.removesuffix("Request").removesuffix("Response")
