"""Parses whose settings are meant: a type and a name, as `topic:orders` and `group:readers`; the type
`broker` alone stands for all brokers.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.suggestions import or_near
from millstream.metadata.config_resource import ConfigResource
from millstream.protocol.enums import ConfigResourceType

if TYPE_CHECKING:
    _ResourceParameter = click.ParamType[ConfigResource]
else:
    _ResourceParameter = click.ParamType  # older releases of click have no generic type

TYPES: Final = MappingProxyType(
    {
        "topic": ConfigResourceType.TOPIC,
        "broker": ConfigResourceType.BROKER,
        "logger": ConfigResourceType.BROKER_LOGGER,
        "client-metrics": ConfigResourceType.CLIENT_METRICS,
        "group": ConfigResourceType.GROUP,
    }
)
_WORDS: Final = {kind: word for word, kind in TYPES.items()}
_OF_KAFKA: Final = MappingProxyType(
    {"topics": "topic", "brokers": "broker", "broker-loggers": "logger", "groups": "group"}
)
"""The words of kafka-configs for the same."""
_FORM: Final = f"write TYPE:NAME, as topic:orders; types are {', '.join(TYPES)}"


def parse_type(text: str) -> ConfigResourceType:
    """Raises BadParameter, with the nearest type there is."""
    word = _OF_KAFKA.get(text, text)
    if word not in TYPES:
        raise click.BadParameter(f"{text!r} is no type of resource{or_near(text, [*TYPES])}; {_FORM}")  # fmt: skip
    return TYPES[word]


def parse_resource(text: str) -> ConfigResource:
    """Returns the resource. `broker` alone is all brokers. Raises BadParameter."""
    word, separator, name = _parts(text)
    kind = parse_type(word)
    if kind is ConfigResourceType.BROKER and not separator:
        return ConfigResource(kind, "")
    if not name:
        raise click.BadParameter(f"{text!r} does not say which {word}; {_FORM}")
    if kind in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER) and not name.isdecimal():  # fmt: skip
        raise click.BadParameter(f"{text!r}: a broker is named by its id, as {word}:1")
    return ConfigResource(kind, name)


def _parts(text: str) -> tuple[str, str, str]:
    """Splits at the first colon or slash, whichever comes first: names of groups may have both."""
    found = re.match(r"([^:/]*)([:/]?)(.*)", text, re.DOTALL)
    assert found is not None, "it matches everything"
    return found[1], found[2], found[3]


def resource_text(resource: ConfigResource) -> str:
    """Returns the resource as it is typed."""
    word = _WORDS.get(resource.type, resource.type.name.lower())
    return f"{word}:{resource.name}" if resource.name else word


class _Resource(_ResourceParameter):
    name = "resource"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> ConfigResource:
        del param, ctx
        return parse_resource(value)


RESOURCE: Final = _Resource()
