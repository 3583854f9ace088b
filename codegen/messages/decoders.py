"""Writes the functions that read structs: straight-line code over a buffer and a position."""

from __future__ import annotations

from collections.abc import Callable

from codegen.messages.layout import Run, Shape, Tags, condition, shapes, steps
from codegen.messages.lines import Lines
from codegen.messages.module_names import ModuleNames
from codegen.messages.names import attribute
from codegen.messages.types import FIXED, default, is_fixed, is_value, struct_size
from millstream.protocol.schema import Field, MessageSchema, Struct, VersionRange

_RESERVED = frozenset({"data", "at", "version", "count", "n", "tags", "items", "limit", "item"})


class StructReader:
    """Emits the code that reads one struct into `item`, or into local variables for a frozen value."""

    def __init__(self, lines: Lines, names: ModuleNames, message: MessageSchema, struct: Struct) -> None:
        self._lines = lines
        self._names = names
        self._message = message
        self._struct = struct
        self._is_root = struct is message.root
        self._frozen = not self._is_root and names.is_frozen(struct)

    def function(self) -> None:
        """`_read_<struct>(data, at, version, count)`: so many structs in a row."""
        name = self._names.class_of(self._struct, self._message)
        data = self._names.buffer(self._struct, self._message)
        with self._lines.block(
            f"def {self._names.reader(self._struct, self._message)}"
            f"(data: {data}, at: int, version: int, count: int) -> tuple[list[{name}], int]:"
        ):
            self._limit()
            self._lines.add(f"items: list[{name}] = []")
            with self._lines.block("for _ in range(count):"):
                if not self._frozen:
                    self._lines.add(f"item = _new({name})")
                self.body()
                self._lines.add(f"items.append({self._result(name)})")
            self._lines.add("return items, at")

    def body(self) -> None:
        for step in steps(self._struct):
            if isinstance(step, Run):
                self._run(step)
                if isinstance(step.tail, Tags):
                    self._tags(step)
            else:
                self._field(step)

    def _limit(self) -> None:
        if any(field.struct is not None and field.is_array for field in self._struct.fields):
            self._lines.add("limit = len(data)")

    def _result(self, name: str) -> str:
        if not self._frozen:
            return "item"
        targets = [self._target(field) for field in self._struct.fields]
        return f"{name}({', '.join([*targets, 'unknown'])})"

    def _target(self, field: Field) -> str:
        name = attribute(field)
        if not self._frozen:
            return f"item.{name}"
        return f"{name}_" if name in _RESERVED else name

    def _default(self, field: Field) -> str:
        return self._names.default(field, self._message)

    def _run(self, run: Run) -> None:
        variants = shapes(run, self._struct, self._message)
        if len(variants) == 1:
            self._shape(run, variants[0])
            return
        remaining = self._struct.versions
        keyword = "if"
        for shape in variants:
            test = condition(shape.versions, remaining)
            with self._lines.block(f"{keyword} {test}:" if test else "else:"):
                self._shape(run, shape)
            remaining = VersionRange(remaining.lowest, max(remaining.lowest, shape.versions.lowest - 1))
            keyword = "elif"

    def _shape(self, run: Run, shape: Shape) -> None:
        opens = "tags" if isinstance(run.tail, Tags) else "n"
        targets = [self._target(field) for field in shape.present]
        if shape.prefix:
            targets.append(opens)
        if shape.codes == "B":
            self._lines.add(f"{opens} = data[at]", "at += 1")
        elif targets:
            unpack = self._names.struct(shape.codes)
            left = f"({targets[0]},)" if len(targets) == 1 else ", ".join(targets)
            self._lines.add(f"{left} = {unpack}.unpack_from(data, at)", f"at += {shape.width}")
        if shape.is_compact and isinstance(run.tail, Field):
            reader = "read_string_length" if _is_string(run.tail) else "read_length"
            with self._lines.block("if n > 127:"):
                self._lines.add(f"n, at = {self._names.use(reader)}(data, at - 1)")
            with self._lines.block("else:"):
                self._lines.add("n -= 1")
        if isinstance(run.tail, Tags) and not shape.prefix:
            self._lines.add("tags = 0")
        for field in run.fields:
            if field not in shape.present:
                self._lines.add(f"{self._target(field)} = {self._default(field)}")

    def _field(self, field: Field) -> None:
        test = condition(field.versions, self._struct.versions)
        if not test:
            self._nullable(field)
            return
        with self._lines.block(f"if {test}:"):
            self._nullable(field)
        with self._lines.block("else:"):
            self._lines.add(f"{self._target(field)} = {self._default(field)}")

    def _nullable(self, field: Field) -> None:
        """Null, refused or taken, then the value. A struct that can never be null has no marker to look at."""
        if field.struct is not None and not field.is_array:
            self._single_struct(field)
            return
        checked_later = field.is_array  # counts are checked against what remains, negative ones too
        if field.nullable is None:
            if not checked_later:
                with self._lines.block("if n < 0:"):
                    self._lines.add(f"raise {self._names.use('null_refused')}()")
            self._value(field)
            return
        allowed = condition(field.nullable, field.versions)
        with self._lines.block("if n < 0:"):
            if allowed:
                with self._lines.block(f"if not {_bracket(allowed)}:"):
                    self._lines.add(f"raise {self._names.use('null_refused')}()")
            self._lines.add(f"{self._target(field)} = None")
        with self._lines.block("else:"):
            self._value(field)

    def _single_struct(self, field: Field) -> None:
        assert field.struct is not None, "only struct fields come here"
        reader = self._names.reader(field.struct, self._message)
        read = f"({self._target(field)},), at = {reader}(data, at, version, 1)"
        if field.nullable is None:
            self._lines.add(read)
            return
        assert field.nullable == field.versions, "a struct is nullable wherever it exists"
        with self._lines.block("if n < 0:"):
            self._lines.add(f"{self._target(field)} = None")
        with self._lines.block("else:"):
            self._lines.add(read)

    def _value(self, field: Field) -> None:
        target = self._target(field)
        if field.struct is not None:
            smallest = min(
                struct_size(field.struct, version, self._message.is_flexible(version))
                for version in field.versions
            )
            assert smallest > 0, "an element of no bytes would make a count unbounded"
            product = f"n * {smallest}" if smallest > 1 else "n"
            with self._lines.block(f"if not 0 <= {product} <= limit - at:"):
                self._lines.add(f"raise {self._names.use('count_refused')}(n, limit - at)")
            reader = self._names.reader(field.struct, self._message)
            self._lines.add(f"{target}, at = {reader}(data, at, version, n)")
        elif field.is_array:
            self._scalar_array(field)
        else:
            self._sized(field)

    def _scalar_array(self, field: Field) -> None:
        target = self._target(field)
        if field.type in ("string", "uuid"):
            self._per_encoding(
                field, lambda compact: f"{target}, at = {self._names.use(_array_reader(field, compact))}(data, at, n)"
            )
            return
        kind = FIXED[field.type]
        self._lines.add(
            f'{target}, at = {self._names.use("read_integers")}(data, at, n, "{kind.code}", {kind.width})'
        )

    def _per_encoding(self, field: Field, line: Callable[[bool], str]) -> None:
        """One line where both encodings read alike, else a test for flexible versions."""
        flexible = self._message.flexible_from
        new, old = line(True), line(False)
        if flexible is None or flexible > field.versions.highest:
            self._lines.add(old)
        elif flexible <= field.versions.lowest or new == old:
            self._lines.add(new)
        else:
            with self._lines.block(f"if version >= {flexible}:"):
                self._lines.add(new)
            with self._lines.block("else:"):
                self._lines.add(old)

    def _sized(self, field: Field) -> None:
        view = self._names.buffer(self._struct, self._message) != "bytes"
        raw = "data[at - n : at]"
        self._lines.add("at += n")
        if field.type == "string":
            lenient = self._names.use("LENIENT")
            value = f'str({raw}, "utf-8", {lenient})' if view else f'{raw}.decode("utf-8", {lenient})'
        elif field.type == "bytes":
            value = f"bytes({raw})" if view else raw
        else:
            value = raw
        self._lines.add(f"{self._target(field)} = {value}")

    def _tags(self, run: Run) -> None:
        flexible = self._message.flexible_from
        if flexible is None or flexible > self._struct.versions.highest:
            if self._frozen:
                self._lines.add("unknown: tuple[TaggedField, ...] = ()")
            else:
                self._lines.add("item.unknown_tagged_fields = ()")
            return
        known = [field for field in self._struct.fields if field.tag is not None]
        assert not (known and self._frozen), "a frozen value knows no tags"
        for field in known:
            self._lines.add(f"{self._target(field)} = {self._default(field)}")
        unknown = "unknown" if self._frozen else "item.unknown_tagged_fields"
        annotation = ": tuple[TaggedField, ...]" if self._frozen else ""
        self._lines.add(f"{unknown}{annotation} = ()")
        with self._lines.block("if tags:"):
            if known:
                reader = self._names.tags_reader(self._struct, self._message)
                self._lines.add(f"at = {reader}(item, data, at - 1, version)")
            else:
                self._lines.add(f"{unknown}, at = {self._names.use('read_unknown_fields')}(data, at - 1)")


class TagsReader:
    """Emits `_read_<struct>_tags(item, data, at, version) -> at`, for structs that know tags."""

    def __init__(self, lines: Lines, names: ModuleNames, message: MessageSchema, struct: Struct) -> None:
        self._lines = lines
        self._names = names
        self._message = message
        self._struct = struct

    def function(self) -> None:
        name = self._names.class_of(self._struct, self._message)
        data = self._names.buffer(self._struct, self._message)
        use = self._names.use
        with self._lines.block(
            f"def {self._names.tags_reader(self._struct, self._message)}"
            f"(item: {name}, data: {data}, at: int, version: int) -> int:"
        ):
            self._lines.add(
                "unknown = []",
                f"tags, at = {use('read_tag_count')}(data, at)",
            )
            with self._lines.block("for _ in range(tags):"):
                self._lines.add(
                    f"tag, at = {use('read_uvarint')}(data, at)",
                    f"size, at = {use('read_uvarint')}(data, at)",
                )
                keyword = "if"
                for field in self._struct.fields:
                    if field.tag is None:
                        continue
                    with self._lines.block(f"{keyword} tag == {field.tag}:"):
                        self._known(field)
                    keyword = "elif"
                with self._lines.block("else:"):
                    self._lines.add(
                        f"field_, at = {use('read_unknown_field')}(data, at, tag, size)",
                        "unknown.append(field_)",
                    )
            self._lines.add("item.unknown_tagged_fields = tuple(unknown)", "return at")

    def _known(self, field: Field) -> None:
        first_flexible = self._message.flexible_from or 0
        flexible = VersionRange(
            max(first_flexible, self._struct.versions.lowest), self._struct.versions.highest
        )
        test = condition(field.versions, flexible)
        if test:
            with self._lines.block(f"if not {_bracket(test)}:"):
                self._lines.add(f"raise {self._names.use('tag_refused')}(tag, version)")
        target = f"item.{attribute(field)}"
        use = self._names.use
        if is_fixed(field):
            kind = FIXED[field.type]
            self._lines.add(
                f"({target},) = {self._names.struct(kind.code)}.unpack_from(data, at)", f"at += {kind.width}"
            )
            return
        if field.struct is not None and not field.is_array:
            reader = self._names.reader(field.struct, self._message)
            read = f"({target},), at = {reader}(data, at, version, 1)"
            if field.nullable is None:
                self._lines.add(read)
                return
            self._lines.add(f"n, at = {use('read_uvarint')}(data, at)")
            with self._lines.block("if 0 < n <= 0x7FFFFFFF:"):
                self._lines.add(read)
            with self._lines.block("else:"):
                self._lines.add(f"{target} = None")
            return
        length = "read_string_length" if _is_string(field) else "read_length"
        self._lines.add(f"n, at = {use(length)}(data, at)")
        value = StructReader(self._lines, self._names, self._message, self._struct)
        if field.struct is not None:
            self._lines.add("limit = len(data)")
        value._nullable(field)


def _array_reader(field: Field, compact: bool) -> str:
    if field.type == "uuid":
        return "read_uuids"
    return "read_compact_strings" if compact else "read_strings"


def _is_string(field: Field) -> bool:
    return field.type == "string" and not field.is_array


def _bracket(test: str) -> str:
    return f"({test})" if "<= version <=" in test else f"{test}" if test.startswith("(") else f"({test})"
