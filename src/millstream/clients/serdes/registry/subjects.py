"""Subject name strategies: under which name a topic's schemas are kept. Confluent's three."""

from __future__ import annotations

from collections.abc import Callable

from millstream.errors import ConfigError

SubjectNameStrategy = Callable[[str, bool, str | None], str]
"""Takes the topic, whether it is its keys' schema, and the full name of the record (None for a schema without one)."""


def topic_name(topic: str, is_key: bool, record: str | None) -> str:  # noqa: ARG001 - the signature is the strategies'
    """Returns the subject, such as `flights-key` and `flights-value`: one schema that evolves for each."""
    return f"{topic}-{'key' if is_key else 'value'}"


def record_name(topic: str, is_key: bool, record: str | None) -> str:  # noqa: ARG001 - the signature is the strategies'
    """Returns the record's own name: several types in a topic, each the same in all topics."""
    return _named(record)


def topic_record_name(topic: str, is_key: bool, record: str | None) -> str:  # noqa: ARG001 - the signature is the strategies'
    """Topic and record: several types in a topic, each evolving there by itself."""
    return f"{topic}-{_named(record)}"


def _named(record: str | None) -> str:
    if record is None:
        raise ConfigError(
            "this subject name strategy needs a schema with a name (Avro: name, JSON: title);"
            " give the serde its schema, or use topic_name"
        )
    return record
