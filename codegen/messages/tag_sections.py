"""Writes the functions that read and write the tagged fields of structs that know tags."""

from __future__ import annotations

from functools import partial

from codegen.messages.decoders import StructReader
from codegen.messages.encoders import StructWriter
from codegen.messages.layout import condition
from codegen.messages.lines import Lines
from codegen.messages.module_names import ModuleNames
from codegen.messages.types import FIXED, is_fixed
from millstream.protocol.schema import WIDTHS, Field, MessageSchema, Struct, VersionRange


class TagSections:
    def __init__(
        self, lines: Lines, names: ModuleNames, message: MessageSchema, struct: Struct
    ) -> None:
        assert message.flexible_from is not None, "only flexible messages have tags"
        self._lines = lines
        self._names = names
        self._message = message
        self._struct = struct
        lowest = max(message.flexible_from, struct.versions.lowest)
        self._flexible = VersionRange(lowest, struct.versions.highest)
        self._struct_writer = StructWriter(lines, names, message, struct, item="item")
        self._known = [field for field in struct.fields if field.tag is not None]

    def reader(self) -> None:
        """`_read_<struct>_tags(item, data, at, version) -> at`."""
        name = self._names.class_of(self._struct, self._message)
        data = self._names.buffer(self._struct, self._message)
        use = self._names.use
        self._lines.add_list(
            f"def {self._names.tags_reader(self._struct, self._message)}(",
            [f"item: {name}", f"data: {data}", "at: int", "version: int"],
            ") -> int:",
        )
        with self._lines.block(""):
            self._lines.add("unknown = []", f"count, at = {use('read_tag_count')}(data, at)")
            with self._lines.block("for _ in range(count):"):
                self._lines.add(f"tag, at = {use('read_uvarint')}(data, at)")
                self._lines.add(f"size, at = {use('read_uvarint')}(data, at)")
                known = [
                    (f"tag == {field.tag}", partial(self._read, field)) for field in self._known
                ]
                self._lines.choose([*known, ("", self._read_unknown)])
            self._lines.add("item.unknown_tagged_fields = tuple(unknown)", "return at")

    def writer(self) -> None:
        """`_write_<struct>_tags(section, item, version)`, for flexible versions."""
        name = self._names.class_of(self._struct, self._message)
        use = self._names.use
        self._lines.add_list(
            f"def {self._names.tags_writer(self._struct, self._message)}(",
            ["section: bytearray", f"item: {name}", "version: int"],
            ") -> None:",
        )
        with self._lines.block(""):
            self._lines.add(f"known: list[{use('TaggedField')}] = []")
            for field in self._known:
                with self._lines.block(f"if {self._struct_writer.differs(field, exact=True)}:"):
                    self._write(field)
            self._lines.add(
                f"{use('write_tagged_fields')}(section, known, item.unknown_tagged_fields)"
            )

    def _read_unknown(self) -> None:
        read = self._names.use("read_unknown_field")
        self._lines.add(f"field_, at = {read}(data, at, tag, size)", "unknown.append(field_)")

    def _read(self, field: Field) -> None:
        use = self._names.use
        test = condition(field.versions, self._flexible)
        if test:
            with self._lines.block(f"if not ({test}):"):
                self._lines.add(f"raise {use('tag_refused')}(tag, version)")
        target = f"item.{field.attribute}"
        if is_fixed(field):
            kind = FIXED[field.type]
            unpack = self._names.struct(kind.code)
            self._lines.add(
                f"({target},) = {unpack}.unpack_from(data, at)", f"at += {WIDTHS[field.type]}"
            )
            return
        struct = StructReader(self._lines, self._names, self._message, self._struct, item="item")
        if field.struct is None or field.is_array:
            struct.tagged_value(field)
        elif field.nullable is None:
            struct.value(field)
        else:
            self._lines.add(f"n, at = {use('read_uvarint')}(data, at)")
            with self._lines.block("if 0 < n <= 0x7FFFFFFF:"):
                struct.value(field)
            with self._lines.block("else:"):
                self._lines.add(f"{target} = None")

    def _write(self, field: Field) -> None:
        test = condition(field.versions, self._flexible)
        if not test:
            self._write_known(field)
            return
        with self._lines.block(f"if {test}:"):
            self._write_known(field)
        if not field.ignorable:
            refused = self._names.use("not_in_version")
            with self._lines.block("else:"):
                self._lines.add(f'raise {refused}("{field.attribute}", version)')

    def _write_known(self, field: Field) -> None:
        target = f"item.{field.attribute}"
        self._lines.add("out = bytearray()")
        struct = self._struct_writer
        if field.nullable is None or (field.has_default and field.default is None):
            struct.tagged_value(field)  # it differs from its default, so it is not null
        else:
            with self._lines.block(f"if {target} is None:"):
                self._lines.add("out.append(0)")
            with self._lines.block("else:"):
                struct.tagged_value(field)
        self._lines.add(f"known.append(TaggedField({field.tag}, bytes(out)))")
