"""A schema as a verb takes it: text of a file, its type, and what it refers to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, TypeVar, cast

import click

from millstream.cli.arguments import given_text
from millstream.cli.terminal import printable
from millstream.errors import ConfigError

if TYPE_CHECKING:
    from millstream.clients.serdes.registry import Schema, SchemaReference
    from millstream.clients.serdes.registry.values import SchemaType

_TYPES: Final = ("avro", "json", "protobuf")
_BY_SUFFIX: Final = {".avsc": "avro", ".avro": "avro", ".json": "json", ".proto": "protobuf"}
_REFERENCE: Final = re.compile(r"(?P<name>[^=]+)=(?P<subject>.+):(?P<version>[1-9][0-9]{0,8})")

Returned = TypeVar("Returned")


def schema_options(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Adds the argument and the options that say what the schema is."""
    with_references = click.option(
        "--reference",
        "references",
        multiple=True,
        metavar="NAME=SUBJECT:VERSION",
        help="What a name in the schema stands for; may be repeated.",
    )(command)
    with_type = click.option(
        "--type",
        "kind",
        type=click.Choice(_TYPES),
        help="Default: by the name of the file, .avsc, .json or .proto; else avro.",
    )(with_references)
    return click.argument("file", type=click.Path(allow_dash=True, dir_okay=False))(with_type)


def given_schema(file: str, kind: str | None, references: Iterable[str]) -> Schema:
    """Returns the schema of a file, `-` for standard input. Raises ConfigError, OSError, BadParameter."""
    from millstream.clients.serdes.registry import Schema

    text = given_text(file).strip()
    if not text:
        raise ConfigError(f"{file} is empty: a schema was to stand in it")
    chosen = kind or _BY_SUFFIX.get(PurePath(file).suffix, "avro")
    return Schema(text, cast("SchemaType", chosen.upper()), tuple(map(_reference, references)))


def _reference(text: str) -> SchemaReference:
    from millstream.clients.serdes.registry import SchemaReference

    found = _REFERENCE.fullmatch(text)
    if found is None:
        raise click.BadParameter(
            f"{text!r} is not like NAME=SUBJECT:VERSION", param_hint="--reference"
        )
    return SchemaReference(found["name"], found["subject"], int(found["version"]))


def readable(schema: Schema) -> str:
    """Returns the text of a schema for a terminal, JSON of several lines where it stood in one."""
    return "\n".join(printable(line.expandtabs(4)) for line in _lines(schema))


def _lines(schema: Schema) -> list[str]:
    if schema.schema_type != "PROTOBUF" and "\n" not in schema.text:
        import orjson

        try:
            indented = orjson.dumps(orjson.loads(schema.text), option=orjson.OPT_INDENT_2)
        except orjson.JSONDecodeError:
            pass  # shown as the registry has it, whatever that is
        else:
            return indented.decode().split("\n")
    return schema.text.replace("\r\n", "\n").split("\n")
