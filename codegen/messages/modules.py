"""Puts a generated module together: docstring, imports, structs, classes, readers, writers, the table itself."""

from __future__ import annotations

from codegen.messages.classes import emit_class
from codegen.messages.decoders import StructReader
from codegen.messages.encoders import StructWriter
from codegen.messages.lines import Lines
from codegen.messages.module_names import ModuleNames, structs_of
from codegen.messages.names import constant
from codegen.messages.tag_sections import TagSections
from millstream.protocol.schema import MessageSchema, Struct, parse_schemas


def render_module(table_name: str, table: str) -> str:
    """The text of protocol/generated/<table_name>.py."""
    messages = parse_schemas(table)
    names = ModuleNames(messages)
    body = Lines()
    done: set[str] = set()
    for message in messages:
        for struct in structs_of(message.root):
            name = names.class_of(struct, message)
            if name not in done:
                done.add(name)
                emit_class(body, names, message, struct)
        assert message.name not in done, f"{message.name} is the name of a struct and of a message"
        emit_class(body, names, message, message.root)
    functions = Lines()
    done.clear()
    for message in messages:
        for struct in structs_of(message.root):
            name = names.class_of(struct, message)
            if name not in done:
                done.add(name)
                _functions(functions, names, message, struct)
        _tag_functions(functions, names, message, message.root)
    head = _head(table_name, messages, names, body.text() + functions.text())
    tail = "\n\n".join([*_registries(messages), f'SCHEMA: Final = """\\\n{table}"""'])
    return "\n".join([head, body.text(), functions.text() + tail, ""])


def _functions(lines: Lines, names: ModuleNames, message: MessageSchema, struct: Struct) -> None:
    StructReader(lines, names, message, struct, item="item").function()
    lines.add("", "")
    StructWriter(lines, names, message, struct, item="item").function()
    lines.add("", "")
    _tag_functions(lines, names, message, struct)


def _tag_functions(
    lines: Lines, names: ModuleNames, message: MessageSchema, struct: Struct
) -> None:
    if any(field.tag is not None for field in struct.fields):
        sections = TagSections(lines, names, message, struct)
        sections.reader()
        lines.add("", "")
        sections.writer()
        lines.add("", "")


def _head(table_name: str, messages: list[MessageSchema], names: ModuleNames, text: str) -> str:
    """Docstring, imports and structs for the code in `text`."""
    head = Lines()
    head.add(
        f'"""{_title(messages)}',
        "",
        f"Written by `make codegen` from codegen/schemas/{table_name}.txt.",
    )
    head.add('"""', "", "from __future__ import annotations", "")
    if "Iterable[" in text:
        head.add("from collections.abc import Iterable")
    if "@dataclass(" in text:
        head.add("from dataclasses import dataclass")
    if names.structs():
        head.add("from struct import Struct")
    head.add("from typing import ClassVar, Final, Self", "")
    model = [name for name in ("ZERO_UUID", "Uuid") if name in text]
    if model:
        head.add(f"from millstream.model import {', '.join(model)}")
    for module, imported in names.imports().items():
        head.add_import(f"millstream.protocol.{module}", imported)
    head.add("")
    for name, codes in names.structs():
        head.add(f'{name}: Final = Struct(">{codes}")')
    head.add("_new: Final = object.__new__", "", "")
    return head.text()


def _registries(messages: list[MessageSchema]) -> list[str]:
    """For modules of records: a union of each kind, and the class of each record type."""
    kinds: dict[str, list[MessageSchema]] = {}
    for message in messages:
        if message.key is not None and not message.listeners:
            kinds.setdefault(message.kind, []).append(message)
    parts = []
    for kind, members in kinds.items():
        union = _UNIONS[kind]
        names = "\n    | ".join(member.name for member in members)
        rows = "\n".join(f"    {member.key}: {member.name}," for member in members)
        parts.append(f"{union} = (\n    {names}\n)" if len(members) > 1 else f"{union} = {names}")
        parts.append(f"{constant(union)}S: Final[dict[int, type[{union}]]] = {{\n{rows}\n}}")
    return parts


_UNIONS = {
    "metadata": "MetadataRecord",
    "group-key": "GroupKey",
    "group-value": "GroupValue",
    "transaction-key": "TransactionKey",
    "transaction-value": "TransactionValue",
    "share-key": "ShareKey",
    "share-value": "ShareValue",
    "remote-log": "RemoteLogRecord",
}


def _title(messages: list[MessageSchema]) -> str:
    first = messages[0]
    if first.listeners:
        last = f"{first.versions.lowest}-{first.versions.highest}"
        return f"{first.name.removesuffix('Request')}, API key {first.key}, versions {last}: request and response."
    return f"{first.kind.rpartition('-')[0] or first.kind} messages: {messages[0].name} to {messages[-1].name}."
