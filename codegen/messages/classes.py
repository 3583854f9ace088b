"""Writes the classes: a struct is data only, a message also reads and writes itself."""

from __future__ import annotations

from codegen.messages.decoders import StructReader
from codegen.messages.encoders import StructWriter
from codegen.messages.lines import Lines
from codegen.messages.module_names import ModuleNames
from codegen.messages.types import annotation
from millstream.protocol.schema import Field, MessageSchema, Struct


def emit_class(lines: Lines, names: ModuleNames, message: MessageSchema, struct: Struct) -> None:
    name = names.class_of(struct, message)
    frozen = struct is not message.root and names.is_frozen(struct)
    if frozen:
        lines.add("@dataclass(frozen=True, slots=True)")
    with lines.block(f"class {name}({names.use('MessageValue')}):"):
        lines.add(f'"""{_docstring(names, message, struct)}"""', "")
        if not frozen:  # dataclass() makes a class twice and looks at every field; few of a node's classes are worth that
            lines.add_list("__slots__ = (", _slots(struct), ")")
            lines.add("")
        for field in struct.fields:
            _declare(lines, field, names, message, struct, with_default=frozen)
        names.use("TaggedField")
        lines.add(f"unknown_tagged_fields: tuple[TaggedField, ...]{' = ()' if frozen else ''}")
        if not frozen:
            _initializer(lines, names, message, struct)
        if struct is message.root:
            _methods(lines, names, message)
    lines.add("", "")
    if frozen:
        lines.add(f"{names.shared_default(struct, message)}: Final = {name}()", "", "")


def _docstring(names: ModuleNames, message: MessageSchema, struct: Struct) -> str:
    low, high = struct.versions.lowest, struct.versions.highest
    versions = f"version {low}" if low == high else f"versions {low}-{high}"
    if struct is message.root:
        kind = message.kind.replace("-", " ").capitalize()
        if message.key is None:
            return f"{kind}, {versions}."
        of = "of API" if message.listeners else "of type"
        return f"{kind} {of} {message.key}, {versions}."
    first, *more = names.users_of(struct, message)
    return f"In {first}{' and elsewhere' if more else ''}, {versions}."


def _slots(struct: Struct) -> list[str]:
    if not struct.fields:
        return ['"unknown_tagged_fields",']
    return [*(f'"{field.attribute}"' for field in struct.fields), '"unknown_tagged_fields"']


def _declare(
    lines: Lines,
    field: Field,
    names: ModuleNames,
    message: MessageSchema,
    struct: Struct,
    *,
    with_default: bool,
) -> None:
    if field.type == "records":
        names.use("Records")
    class_name = names.class_of(field.struct, message) if field.struct is not None else ""
    default = f" = {names.default(field, message)}" if with_default else ""
    lines.add(
        f"{field.attribute}: {annotation(field, class_name)}{default}{_remark(field, struct)}"
    )


def _initializer(lines: Lines, names: ModuleNames, message: MessageSchema, struct: Struct) -> None:
    parameters, assignments = ["self"], []
    for field in struct.fields:
        class_name = names.class_of(field.struct, message) if field.struct is not None else ""
        default, name = names.default(field, message), field.attribute
        if default in ("[]", f"{class_name}()"):
            unset = names.use("UNSET")
            parameters.append(f"{name}: {annotation(field, class_name)} = {unset}")
            assignments.append(f"self.{name} = {default} if {name} is {unset} else {name}")
        else:
            parameters.append(f"{name}: {annotation(field, class_name)} = {default}")
            assignments.append(f"self.{name} = {name}")
    parameters.append("unknown_tagged_fields: tuple[TaggedField, ...] = ()")
    assignments.append("self.unknown_tagged_fields = unknown_tagged_fields")
    lines.add("")
    lines.add_list("def __init__(", parameters, ") -> None:")
    with lines.block(""):
        lines.add(*assignments)


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
    unsupported = f"version != {low}" if low == high else f"not {low} <= version <= {high}"
    lines.add("")
    if message.key is not None:
        lines.add(f"KEY: ClassVar[int] = {message.key}")
    lines.add(
        f"LOWEST_VERSION: ClassVar[int] = {low}",
        f"HIGHEST_VERSION: ClassVar[int] = {high}",
        f"FIRST_FLEXIBLE_VERSION: ClassVar[int | None] = {message.flexible_from}",
        "",
    )
    _encode(lines, names, message, unsupported)
    lines.add("")
    _decode(lines, names, message, unsupported)


def _encode(lines: Lines, names: ModuleNames, message: MessageSchema, unsupported: str) -> None:
    with lines.block("def encode(self, out: bytearray, version: int) -> None:"):
        with lines.block(f"if {unsupported}:"):
            lines.add(f"raise {names.use('version_refused')}(type(self), version)")
        with lines.block("try:"):
            StructWriter(lines, names, message, message.root, item="self").body()
        with lines.block(f"except {names.use('WRITE_FAILURES')} as error:"):
            lines.add(f"raise {names.use('explain_refused')}(self, version, error) from error")


def _decode(lines: Lines, names: ModuleNames, message: MessageSchema, unsupported: str) -> None:
    reader = StructReader(lines, names, message, message.root, item="message")
    lines.add("@classmethod")
    with lines.block(
        "def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:"
    ):
        with lines.block(f"if {unsupported}:"):
            lines.add(f"raise {names.use('version_refused')}(cls, version)")
        copied = names.buffer(message.root, message) == "bytes"
        lines.add(
            "start = at", f"data = {'bytes(view)' if copied else 'view'}", "limit = len(data)"
        )
        lines.add("message = _new(cls)")
        with lines.block("try:"):
            reader.body()
            with lines.block("if at > limit:"):
                lines.add(f"raise {names.use('past_end')}(at, limit)")
        with lines.block(f"except {names.use('READ_FAILURES')} as error:"):
            explain = names.use("explain_malformed")
            lines.add(f"raise {explain}(cls, view, start, version, error) from error")
        lines.add("return message, at")
