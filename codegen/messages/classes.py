"""Writes the dataclasses: a struct is data only, a message also reads and writes itself."""

from __future__ import annotations

from codegen.messages.decoders import StructReader
from codegen.messages.encoders import StructWriter
from codegen.messages.lines import Lines
from codegen.messages.module_names import ModuleNames
from codegen.messages.names import attribute
from codegen.messages.types import annotation
from millstream.protocol.schema import Field, MessageSchema, Struct


def emit_class(lines: Lines, names: ModuleNames, message: MessageSchema, struct: Struct) -> None:
    name = names.class_of(struct, message)
    frozen = struct is not message.root and names.is_frozen(struct)
    lines.add(f"@dataclass({'frozen=True, ' if frozen else ''}slots=True)")
    with lines.block(f"class {name}:"):
        for field in struct.fields:
            lines.add(_declaration(field, names, message, struct))
        lines.add(f"unknown_tagged_fields: tuple[{names.use('TaggedField')}, ...] = ()")
        if struct is message.root:
            _methods(lines, names, message)
    lines.add("", "")
    if frozen:
        lines.add(f"{names.shared_default(struct, message)}: Final = {name}()", "", "")


def _declaration(field: Field, names: ModuleNames, message: MessageSchema, struct: Struct) -> str:
    if field.type == "records":
        names.use("Records")
    class_name = names.class_of(field.struct, message) if field.struct is not None else ""
    default = names.default(field, message)
    if default == "[]":
        default = "field(default_factory=list)"
    elif default == f"{class_name}()":
        default = f"field(default_factory={class_name})"
    return f"{attribute(field)}: {annotation(field, class_name)} = {default}{_remark(field, struct)}"


def _remark(field: Field, struct: Struct) -> str:
    words = []
    if field.versions != struct.versions:
        low, high = field.versions.lowest, field.versions.highest
        last = high == struct.versions.highest
        words.append(str(low) if low == high else f"{low}+" if last else f"{low}-{high}")
    if field.tag is not None:
        words.append(f"tag {field.tag}")
    return f"  # {', '.join(words)}" if words else ""


def _methods(lines: Lines, names: ModuleNames, message: MessageSchema) -> None:
    low, high = message.versions.lowest, message.versions.highest
    lines.add("")
    if message.key is not None:
        lines.add(f"KEY: ClassVar[int] = {message.key}")
    lines.add(
        f"LOWEST_VERSION: ClassVar[int] = {low}",
        f"HIGHEST_VERSION: ClassVar[int] = {high}",
        f"FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = {message.flexible_from}",
        "",
    )
    supported = f"version != {low}" if low == high else f"not {low} <= version <= {high}"
    with lines.block("def encode(self, out: bytearray, version: int) -> None:"):
        with lines.block(f"if {supported}:"):
            lines.add(f"raise {names.use('unsupported')}(self, version)")
        lines.add("item = self")
        with lines.block("try:"):
            StructWriter(lines, names, message, message.root).body()
        with lines.block(f"except {names.use('WRITE_FAILURES')} as error:"):
            lines.add(f"raise {names.use('explain_refused')}(self, version, error) from error")
    lines.add("", "@classmethod")
    with lines.block("def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:"):
        with lines.block(f"if {supported}:"):
            lines.add(f"raise {names.use('unsupported')}(cls, version)")
        copied = names.buffer(message.root, message) == "bytes"
        lines.add(f"data = {'bytes(view)' if copied else 'view'}", "start = at", "limit = len(data)", "item = _new(cls)")
        with lines.block("try:"):
            StructReader(lines, names, message, message.root).body()
            with lines.block("if at > limit:"):
                lines.add(f"raise {names.use('past_end')}(at, limit)")
        with lines.block(f"except {names.use('READ_FAILURES')} as error:"):
            lines.add(
                f"raise {names.use('explain_malformed')}(cls, SCHEMA, view, start, version, error) from error"
            )
        lines.add("return item, at")
