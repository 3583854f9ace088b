"""Writes the code that reads a struct: straight lines over a buffer `data` and a position `at`.

A run of fixed-width fields is unpacked in one stroke together with the length `n` that follows it. An old length has
its own width, and `at` is then behind it; of a compact one only the first byte is taken, and `at` stays on it: up to
127 that byte is all there is, else a primitive starts again from `at`.
"""

from __future__ import annotations

from functools import partial

from codegen.messages.layout import Run, Shape, Tags, arms, condition, shapes, steps
from codegen.messages.lines import Lines
from codegen.messages.module_names import ModuleNames
from codegen.messages.types import FIXED, struct_size
from millstream.protocol.schema import WIDTHS, Field, MessageSchema, Struct, VersionRange

_RESERVED = frozenset(
    {"data", "at", "version", "count", "n", "tags", "items", "limit", "item", "unknown"}
)


class StructReader:
    """Emits the code that reads one struct into `item`, or into local variables for a frozen value."""

    def __init__(
        self, lines: Lines, names: ModuleNames, message: MessageSchema, struct: Struct, *, item: str
    ) -> None:
        self._item = item
        self._lines = lines
        self._names = names
        self._message = message
        self._struct = struct
        self._frozen = struct is not message.root and names.is_frozen(struct)
        self._copied = names.buffer(struct, message) == "bytes"

    def function(self) -> None:
        """`_read_<struct>(data, at, version, count)`: so many structs in a row."""
        name = self._names.class_of(self._struct, self._message)
        data = self._names.buffer(self._struct, self._message)
        self._lines.add_list(
            f"def {self._names.reader(self._struct, self._message)}(",
            [f"data: {data}", "at: int", "version: int", "count: int"],
            f") -> tuple[list[{name}], int]:",
        )
        with self._lines.block(""):
            self._lines.add(f"items: list[{name}] = []")
            if self.needs_limit():
                self._lines.add("limit = len(data)")
            with self._lines.block("for _ in range(count):"):
                if not self._frozen:
                    self._lines.add(f"item = _new({name})")
                self.body()
                self._append(name)
            self._lines.add("return items, at")

    def needs_limit(self) -> bool:
        return any(
            f.struct is not None and f.is_array and f.tag is None for f in self._struct.fields
        )

    def body(self) -> None:
        for step in steps(self._struct):
            if isinstance(step, Run):
                tests = arms(shapes(step, self._struct, self._message), self._struct.versions)
                self._lines.choose(
                    [(test, partial(self._shape, step, shape)) for test, shape in tests]
                )
                if isinstance(step.tail, Tags):
                    self._tags()
            elif not _inside_shape(step):
                self._behind_shape(step)

    def _append(self, name: str) -> None:
        if not self._frozen:
            self._lines.add("items.append(item)")
            return
        values = [self._target(field) for field in self._struct.fields]
        self._lines.add_list(f"items.append({name}(", [*values, "unknown"], "))")

    def _target(self, field: Field) -> str:
        name = field.attribute
        if not self._frozen:
            return f"{self._item}.{name}"
        return f"{name}_" if name in _RESERVED else name

    def _default(self, field: Field) -> None:
        self._lines.add(f"{self._target(field)} = {self._names.default(field, self._message)}")

    def _shape(self, run: Run, shape: Shape) -> None:
        targets = [self._target(field) for field in shape.present]
        if shape.prefix:
            targets.append("tags" if isinstance(run.tail, Tags) else "n")
        stays = shape.is_compact and isinstance(run.tail, Field)
        width = shape.width - stays
        if shape.codes == "B":
            self._lines.add(f"{targets[0]} = data[at]")
        elif targets:
            self._lines.add_unpack(
                targets, f"{self._names.struct(shape.codes)}.unpack_from(data, at)"
            )
        if width:
            self._lines.add(f"at += {width}")
        for field in run.fields:
            if field not in shape.present:
                self._default(field)
        if isinstance(run.tail, Field):
            self._open_tail(run.tail, shape)
        elif not shape.prefix and self._is_ever_flexible():
            self._lines.add("tags = 0")

    def _open_tail(self, tail: Field, shape: Shape) -> None:
        """What can only be said inside the shape: strings and scalar arrays whole, of the others the length."""
        missing = not shape.prefix and not (tail.struct is not None and not tail.is_array)
        if missing:
            self._default(tail)
        elif _inside_shape(tail):
            if shape.is_compact:
                self._compact_value(tail, shape.versions)
            else:
                self._legacy_value(tail, shape.versions)
        elif shape.is_compact:
            with self._lines.block("if n < 128:"):
                self._lines.add("n -= 1", "at += 1")
            with self._lines.block("else:"):
                self._lines.add(f"n, at = {self._names.use('read_length')}(data, at)")

    def _compact_value(self, field: Field, versions: VersionRange) -> None:
        """A string or int32 array whose length's first byte is `n`, at `at`."""
        target = self._target(field)
        if field.is_array:
            unpack = self._names.use("COMPACT_INT32S")
            with self._lines.block("if 0 < n < 17:"):
                self._lines.add(f"{target} = list({unpack}[n](data, at))", "at += 4 * n - 3")
        else:
            with self._lines.block("if 0 < n < 128:"):
                self._lines.add(f"{target} = {self._text('data[at + 1 : at + n]')}", "at += n")
        with self._lines.block("else:"):
            slow = "read_compact_int32s" if field.is_array else "read_compact_string"
            allowed = condition(field.nullable, versions) if field.nullable is not None else None
            if allowed:
                with self._lines.block(f"if {allowed}:"):
                    self._read(target, f"{slow}_or_null", "data, at")
                with self._lines.block("else:"):
                    self._read(target, slow, "data, at")
            else:
                self._read(target, slow if allowed is None else f"{slow}_or_null", "data, at")

    def _read(self, target: str, reader: str, arguments: str) -> None:
        self._lines.add(f"{target}, at = {self._names.use(reader)}({arguments})")

    def _legacy_value(self, field: Field, versions: VersionRange) -> None:
        """A string or int32 array whose length `n` has been read; `at` is behind it."""
        if field.nullable is not None:
            with self._lines.block("if n < 0:"):
                self._refuse_null_outside(field, versions)
                self._lines.add(f"{self._target(field)} = None")
            with self._lines.block("else:"):
                self._legacy_present(field)
            return
        if not field.is_array:
            with self._lines.block("if n < 0:"):
                self._lines.add(f"raise {self._names.use('null_refused')}()")
        self._legacy_present(field)

    def _legacy_present(self, field: Field) -> None:
        if field.is_array:
            self._read(self._target(field), "read_integers", 'data, at, n, "i", 4')
        else:
            self._lines.add(f"{self._target(field)} = {self._text('data[at : at + n]')}", "at += n")

    def _refuse_null_outside(self, field: Field, versions: VersionRange) -> None:
        assert field.nullable is not None, "asked only for nullable fields"
        test = condition(field.nullable, versions)
        if test:
            with self._lines.block(f"if not ({test}):"):
                self._lines.add(f"raise {self._names.use('null_refused')}()")

    def _text(self, raw: str) -> str:
        lenient = self._names.use("LENIENT")
        return (
            f'{raw}.decode("utf-8", {lenient})'
            if self._copied
            else f'str({raw}, "utf-8", {lenient})'
        )

    def _behind_shape(self, field: Field) -> None:
        """Structs, arrays of structs, bytes and records; their length `n`, if any, has been read."""
        test = condition(field.versions, self._struct.versions)
        if not test:
            self._present(field)
            return
        with self._lines.block(f"if {test}:"):
            self._present(field)
        if field.struct is not None and not field.is_array:
            with self._lines.block("else:"):
                self._default(field)

    def _present(self, field: Field) -> None:
        if field.nullable is not None:
            with self._lines.block("if n < 0:"):
                self._refuse_null_outside(field, field.versions)
                self._lines.add(f"{self._target(field)} = None")
            with self._lines.block("else:"):
                self.value(field)
            return
        if field.struct is None and not field.is_array:
            with self._lines.block("if n < 0:"):
                self._lines.add(f"raise {self._names.use('null_refused')}()")
        self.value(field)

    def value(self, field: Field) -> None:
        """A struct, `n` structs or scalars, or `n` bytes."""
        target = self._target(field)
        if field.struct is None and field.is_array:
            self._scalars(field)
            return
        if field.struct is None:
            raw = "data[at : at + n]"
            value = f"bytes({raw})" if field.type == "bytes" and not self._copied else raw
            self._lines.add(f"{target} = {value}", "at += n")
            return
        reader = self._names.reader(field.struct, self._message)
        if not field.is_array:
            self._lines.add(f"({target},), at = {reader}(data, at, version, 1)")
            return
        smallest = min(
            struct_size(field.struct, version, self._message.is_flexible(version))
            for version in field.versions
        )
        assert smallest > 0, "an element of no bytes would make a count unbounded"
        product = f"n * {smallest}" if smallest > 1 else "n"
        with self._lines.block(f"if not 0 <= {product} <= limit - at:"):
            self._lines.add(f"raise {self._names.use('count_refused')}(n, limit - at)")
        self._lines.add(f"{target}, at = {reader}(data, at, version, n)")

    def _scalars(self, field: Field) -> None:
        target = self._target(field)
        if field.type == "uuid":
            self._read(target, "read_uuids", "data, at, n")
        elif field.type == "string":
            flexible = self._message.flexible_from
            if flexible is None or flexible > field.versions.highest:
                self._read(target, "read_strings", "data, at, n")
            elif flexible <= field.versions.lowest:
                self._read(target, "read_compact_strings", "data, at, n")
            else:
                with self._lines.block(f"if version >= {flexible}:"):
                    self._read(target, "read_compact_strings", "data, at, n")
                with self._lines.block("else:"):
                    self._read(target, "read_strings", "data, at, n")
        else:
            kind = FIXED[field.type]
            self._read(target, "read_integers", f'data, at, n, "{kind.code}", {WIDTHS[field.type]}')

    def tagged_value(self, field: Field) -> None:
        """A tagged field's value that opens with a length, in full."""
        if _inside_shape(field):
            self._lines.add("n = data[at]")
            self._compact_value(field, field.versions)
            return
        self._lines.add(f"n, at = {self._names.use('read_length')}(data, at)")
        if field.struct is not None:
            self._lines.add("limit = len(data)")
        self._present(field)

    def _is_ever_flexible(self) -> bool:
        first = self._message.flexible_from
        return first is not None and first <= self._struct.versions.highest

    def _tags(self) -> None:
        known = [field for field in self._struct.fields if field.tag is not None]
        assert not (known and self._frozen), "a frozen value knows no tags"
        for field in known:
            self._default(field)
        unknown = "unknown" if self._frozen else f"{self._item}.unknown_tagged_fields"
        annotation = f": tuple[{self._names.use('TaggedField')}, ...]" if self._frozen else ""
        self._lines.add(f"{unknown}{annotation} = ()")
        if not self._is_ever_flexible():
            return
        with self._lines.block("if tags:"):
            if known:
                reader = self._names.tags_reader(self._struct, self._message)
                self._lines.add(f"at = {reader}({self._item}, data, at - 1, version)")
            else:
                self._read(unknown, "read_unknown_fields", "data, at - 1")


def _inside_shape(field: Field) -> bool:
    """Strings and int32 arrays are so frequent that every shape reads them in its own way, in line."""
    return field.type == ("int32" if field.is_array else "string")
