"""Names of one generated module: a class per struct, a constant per `struct.Struct`, and what must be imported.

A struct keeps Kafka's name. Where two messages of a module use one name for different fields, each is prefixed with
its message's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from codegen.messages.names import constant
from codegen.messages.types import default, is_value
from millstream.protocol.schema import Field, MessageSchema, Struct, snake_case

_PRIMITIVES: Final = {
    "message_values": ("UNSET", "MessageValue"),
    "buffers": ("Records", "append_records"),
    "diagnosis": ("explain_malformed", "explain_refused", "version_refused"),
    "reading": (
        "Buffer",
        "COMPACT_INT32S",
        "LENIENT",
        "READ_FAILURES",
        "count_refused",
        "null_refused",
        "past_end",
        "read_compact_int32s",
        "read_compact_int32s_or_null",
        "read_compact_string",
        "read_compact_string_or_null",
        "read_compact_strings",
        "read_integers",
        "read_length",
        "read_strings",
        "read_uuids",
        "read_uvarint",
        "tag_refused",
    ),
    "tagged_fields": (
        "TaggedField",
        "read_tag_count",
        "read_unknown_field",
        "read_unknown_fields",
        "write_tagged_fields",
    ),
    "writing": (
        "WRITE_FAILURES",
        "must_not_be_null",
        "not_in_version",
        "tags_refused",
        "uuid_refused",
        "write_compact_int32s",
        "write_compact_string",
        "write_compact_strings",
        "write_int32s",
        "write_integers",
        "write_string_length",
        "write_strings",
        "write_uuids",
        "write_uvarint",
    ),
}
"""What generated code may call, by the module of millstream.protocol that has it."""
_SOURCES: Final = {name: module for module, names in _PRIMITIVES.items() for name in names}


def structs_of(struct: Struct) -> Iterator[Struct]:
    """Every struct below `struct`, innermost first, so that each is defined before it is used."""
    for field in struct.fields:
        if field.struct is not None:
            yield from structs_of(field.struct)
            yield field.struct


class ModuleNames:
    def __init__(self, messages: list[MessageSchema]) -> None:
        kinds: dict[str, set[tuple[Struct, int | None]]] = {}
        self._single: set[Struct] = set()
        self._viewed: set[str] = set()
        self._buffers: dict[Struct, set[str]] = {}
        for message in messages:
            for struct in structs_of(message.root):
                kinds.setdefault(struct.name, set()).add((struct, message.flexible_from))
            self._look_at_fields(message)
            kind = "memoryview" if message.name in self._viewed else "bytes"
            for struct in [message.root, *structs_of(message.root)]:
                self._buffers.setdefault(struct, set()).add(kind)
        self._shared = {name for name, structs in kinds.items() if len(structs) == 1}
        self._structs: dict[str, str] = {}
        self._imports: set[str] = set()

    def _look_at_fields(self, message: MessageSchema) -> None:
        for struct in [message.root, *structs_of(message.root)]:
            for field in struct.fields:
                if field.struct is not None and not field.is_array:
                    self._single.add(field.struct)
                if field.type == "records" or message.kind == "header":
                    self._viewed.add(message.name)

    def class_of(self, struct: Struct, message: MessageSchema) -> str:
        if struct is message.root or struct.name in self._shared:
            return struct.name
        return message.name + struct.name

    def users_of(self, struct: Struct, message: MessageSchema) -> list[str]:
        """`Class.field` of every field of the message that holds the struct."""
        return [
            f"`{self.class_of(user, message)}.{field.attribute}`"
            for user in dict.fromkeys([message.root, *structs_of(message.root)])
            for field in user.fields
            if field.struct == struct
        ]

    def is_frozen(self, struct: Struct) -> bool:
        """A small value used as a field: immutable, so that all messages can share its default."""
        return (
            struct in self._single
            and is_value(struct)
            and all(f.tag is None for f in struct.fields)
        )

    def shared_default(self, struct: Struct, message: MessageSchema) -> str:
        return f"_NO_{constant(self.class_of(struct, message))}"

    def default(self, field: Field, message: MessageSchema) -> str:
        if field.struct is None:
            return default(field, "")
        single = not field.is_array and not (field.has_default and field.default is None)
        if single and self.is_frozen(field.struct):
            return self.shared_default(field.struct, message)
        return default(field, self.class_of(field.struct, message))

    def reader(self, struct: Struct, message: MessageSchema) -> str:
        return f"_read_{snake_case(self.class_of(struct, message))}"

    def writer(self, struct: Struct, message: MessageSchema) -> str:
        return f"_write_{snake_case(self.class_of(struct, message))}"

    def tags_reader(self, struct: Struct, message: MessageSchema) -> str:
        return f"{self.reader(struct, message)}_tags"

    def tags_writer(self, struct: Struct, message: MessageSchema) -> str:
        return f"{self.writer(struct, message)}_tags"

    def buffer(self, struct: Struct, message: MessageSchema) -> str:
        """What decoders index: a copy of a message is faster to read than a view of it.

        Records are never copied, nor is what stands behind a header. A struct of two messages may meet both.
        """
        if self._buffers[struct] == {"bytes", "memoryview"}:
            return self.use("Buffer")
        return "memoryview" if message.name in self._viewed else "bytes"

    def struct(self, codes: str) -> str:
        """The constant of a `struct.Struct`, named by what it holds: `_INT32_2INT64`."""
        if codes not in self._structs:
            self._structs[codes] = "_" + _compressed(codes)
        return self._structs[codes]

    def structs(self) -> list[tuple[str, str]]:
        return sorted((name, codes) for codes, name in self._structs.items())

    def use(self, name: str) -> str:
        self._imports.add(name)
        return name

    def imports(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in sorted(self._imports):
            found.setdefault(_SOURCES[name], []).append(name)
        return dict(sorted(found.items()))


_LETTERS: Final = {
    "?": "BOOL",
    "b": "INT8",
    "h": "INT16",
    "H": "UINT16",
    "i": "INT32",
    "I": "UINT32",
    "q": "INT64",
    "d": "FLOAT64",
    "u": "UUID",
    "B": "BYTE",
    "x": "ZERO",
}


def _compressed(codes: str) -> str:
    """`ihqqq` to `INT32_INT16_3INT64`."""
    words: list[tuple[str, int]] = []
    for code in codes.replace("16s", "u"):
        word = _LETTERS[code]
        if words and words[-1][0] == word:
            words[-1] = (word, words[-1][1] + 1)
        else:
            words.append((word, 1))
    name = "_".join(word if times == 1 else f"{times}{word}" for word, times in words)
    return name if name[0].isalpha() else f"S{name}"
