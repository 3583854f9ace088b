"""Writes the code that writes a struct: straight lines that append to the bytearray `out`.

A run of fixed-width fields is packed in one stroke together with the length `n` that follows it, and the count of
tagged fields where that is zero. `n` is the compact length: one more than the true one, and 0 for null.
"""

from __future__ import annotations

from functools import partial

from codegen.messages.layout import Run, Shape, Tags, arms, condition, shapes, steps
from codegen.messages.lines import Lines
from codegen.messages.module_names import ModuleNames
from codegen.messages.types import FIXED
from millstream.protocol.schema import Field, MessageSchema, Struct


class StructWriter:
    """Emits the code that writes one struct, which the code calls `item`."""

    def __init__(
        self, lines: Lines, names: ModuleNames, message: MessageSchema, struct: Struct, *, item: str
    ) -> None:
        self._lines = lines
        self._names = names
        self._message = message
        self._struct = struct
        self._item = item

    def function(self) -> None:
        """`_write_<struct>(out, items, version)`: structs in a row, without their count."""
        name = self._names.class_of(self._struct, self._message)
        self._lines.add_list(
            f"def {self._names.writer(self._struct, self._message)}(",
            ["out: bytearray", f"items: Iterable[{name}]", "version: int"],
            ") -> None:",
        )
        with self._lines.block(""), self._lines.block("for item in items:"):
            self.body()

    def body(self) -> None:
        for step in steps(self._struct):
            if isinstance(step, Run):
                if isinstance(step.tail, Field):
                    self._length(step.tail)
                tests = arms(shapes(step, self._struct, self._message), self._struct.versions)
                self._lines.choose(
                    [(test, partial(self._shape, step, shape)) for test, shape in tests]
                )
            else:
                self._field(step)

    def _shape(self, run: Run, shape: Shape) -> None:
        values = [self._value_of(field) for field in shape.present]
        for field in shape.present:
            self._check_uuid(field)
        codes = "".join(FIXED[field.type].code for field in shape.present)
        if isinstance(run.tail, Tags):
            self._with_tags(shape, codes, values)
        elif not shape.prefix or _writes_own_length(run.tail):
            self._pack(codes, values)
        elif not shape.is_compact:
            self._pack(shape.codes, [*values, "n" if shape.prefix == "b" else "n - 1"])
        else:
            self._with_compact_length(run.tail, codes, values)
        for field in run.fields:
            if field not in shape.present:
                self.must_be_default(field)
        if isinstance(run.tail, Field) and not shape.has_tail:
            self.must_be_default(run.tail)

    def _check_uuid(self, field: Field) -> None:
        """`struct` would cut or fill a uuid of another length without a word."""
        if field.type == "uuid":
            with self._lines.block(f"if len({self._value_of(field)}) != 16:"):
                self._lines.add(f"raise {self._names.use('uuid_refused')}({self._value_of(field)})")

    def _pack(self, codes: str, values: list[str]) -> None:
        if codes == "B":
            self._lines.add(f"out.append({values[0]})")
        elif codes:
            self._lines.add_list(f"out += {self._names.struct(codes)}.pack(", values, ")")

    def _with_compact_length(self, tail: Field | None, codes: str, values: list[str]) -> None:
        long = "write_string_length" if _is_string(tail) else "write_uvarint"
        with self._lines.block("if n < 128:"):
            self._pack(codes + "B", [*values, "n"])
        with self._lines.block("else:"):
            self._pack(codes, values)
            self._lines.add(f"{self._names.use(long)}(out, n)")

    def _with_tags(self, shape: Shape, codes: str, values: list[str]) -> None:
        """The last run of the struct, and its tagged fields."""
        known = [field for field in self._struct.fields if field.tag is not None]
        tests = [self.differs(field) for field in known]
        if not shape.prefix:
            self._pack(codes, values)
            for field in known:
                self.must_be_default(field)
            with self._lines.block(f"if {self._item}.unknown_tagged_fields:"):
                self._lines.add(f"raise {self._names.use('tags_refused')}(version)")
            return
        tests.append(f"{self._item}.unknown_tagged_fields")
        self._lines.add(*_or_chain(tests))
        with self._lines.block(""):
            self._pack(codes, values)
            if known:
                writer = self._names.tags_writer(self._struct, self._message)
                self._lines.add(f"{writer}(out, {self._item}, version)")
            else:
                write = self._names.use("write_tagged_fields")
                self._lines.add(f"{write}(out, (), {self._item}.unknown_tagged_fields)")
        with self._lines.block("else:"):
            if codes:
                self._pack(codes + "x", values)
            else:
                self._lines.add("out.append(0)")

    def must_be_default(self, field: Field) -> None:
        """Refuses a value that the version has no field for, unless it may be dropped."""
        if field.ignorable:
            return
        refused = self._names.use("not_in_version")
        with self._lines.block(f"if {self.differs(field, exact=True)}:"):
            self._lines.add(f'raise {refused}("{field.attribute}", version)')

    def differs(self, field: Field, *, exact: bool = False) -> str:
        """A test that a field has another value than its default. Not `exact`: a copy of a shared default counts."""
        target = self._value_of(field)
        default = self._names.default(field, self._message)
        if default == "None":
            return f"{target} is not None"
        if default.startswith("_NO_"):
            other_object = f"{target} is not {default}"
            return f"{other_object} and {target} != {default}" if exact else other_object
        if default == "True":
            return f"not {target}"
        if default == "False" or (default in ('""', "[]", "0", 'b""') and field.nullable is None):
            return target
        return f"{target} != {default}"

    def _value_of(self, field: Field) -> str:
        return f"{self._item}.{field.attribute}"

    def _length(self, field: Field) -> None:
        """Sets `n`, and `raw` for strings, for the field that ends a run."""
        test = condition(field.versions, self._struct.versions)
        if _is_single_struct(field):
            if field.nullable is not None:
                self._lines.add(f"n = -1 if {self._value_of(field)} is None else 1")
        elif _writes_own_length(field):
            return
        elif test:
            with self._lines.block(f"if {test}:"):
                self._present_length(field)
        else:
            self._present_length(field)

    def _present_length(self, field: Field) -> None:
        target = self._value_of(field)
        is_string = _is_string(field)
        if _may_be_none(field):
            with self._lines.block(f"if {target} is None:"):
                self._refuse_null_outside(field)
                if field.nullable is not None:
                    self._lines.add(*(['raw = b""'] if is_string else []), "n = 0")
            with self._lines.block("else:"):
                self._true_length(target, is_string)
        else:
            self._true_length(target, is_string)

    def _true_length(self, target: str, is_string: bool) -> None:
        if is_string:
            self._lines.add(f"raw = {target}.encode()", "n = len(raw) + 1")
        else:
            self._lines.add(f"n = len({target}) + 1")

    def _refuse_null_outside(self, field: Field) -> None:
        refuse = f'raise {self._names.use("must_not_be_null")}("{field.attribute}", version)'
        if field.nullable is None:
            self._lines.add(refuse)
            return
        test = condition(field.nullable, field.versions)
        if test:
            with self._lines.block(f"if not ({test}):"):
                self._lines.add(refuse)

    def _field(self, field: Field) -> None:
        """What stands behind the length."""
        test = condition(field.versions, self._struct.versions)
        if not test:
            self._nullable(field)
            return
        with self._lines.block(f"if {test}:"):
            self._nullable(field)

    def _nullable(self, field: Field) -> None:
        if _is_string(field):
            self._lines.add("out += raw")
        elif _may_be_none(field) and field.nullable is not None:
            with self._lines.block(f"if {self._value_of(field)} is not None:"):
                self.value(field)
        else:
            self.value(field)

    def value(self, field: Field) -> None:
        """The field without its length; it is not null."""
        target = self._value_of(field)
        use = self._names.use
        if field.struct is not None:
            writer = self._names.writer(field.struct, self._message)
            self._lines.add(
                f"{writer}(out, {target if field.is_array else f'({target},)'}, version)"
            )
        elif field.is_array and field.type == "string":
            self._by_encoding(field, "write_compact_strings", "write_strings", f"out, {target}")
        elif field.is_array and field.type == "uuid":
            self._lines.add(f"{use('write_uuids')}(out, {target})")
        elif _writes_own_length(field):
            self._by_encoding(field, "write_compact_int32s", "write_int32s", f"out, {target}")
        elif field.is_array:
            self._lines.add(f'{use("write_integers")}(out, {target}, "{FIXED[field.type].code}")')
        elif field.type == "records":
            self._lines.add(f"{use('append_records')}(out, {target})")
        else:
            self._lines.add(f"out += {target}")

    def _by_encoding(self, field: Field, compact: str, legacy: str, arguments: str) -> None:
        flexible = self._message.flexible_from
        if flexible is None or flexible > field.versions.highest:
            self._lines.add(f"{self._names.use(legacy)}({arguments})")
        elif flexible <= field.versions.lowest:
            self._lines.add(f"{self._names.use(compact)}({arguments})")
        else:
            with self._lines.block(f"if version >= {flexible}:"):
                self._lines.add(f"{self._names.use(compact)}({arguments})")
            with self._lines.block("else:"):
                self._lines.add(f"{self._names.use(legacy)}({arguments})")

    def tagged_value(self, field: Field) -> None:
        """A value that is not null, length first, as a tagged field holds it."""
        target = self._value_of(field)
        use = self._names.use
        if field.type in FIXED and not field.is_array:
            self._check_uuid(field)
            self._lines.add(f"out += {self._names.struct(FIXED[field.type].code)}.pack({target})")
            return
        if _is_string(field):
            self._lines.add(f"{use('write_compact_string')}(out, {target})")
            return
        if field.is_array and field.type == "int32":
            self._lines.add(f"{use('write_compact_int32s')}(out, {target})")
            return
        if _is_single_struct(field):
            if field.nullable is not None:
                self._lines.add("out.append(1)")
        else:
            self._lines.add(f"{use('write_uvarint')}(out, len({target}) + 1)")
        self.value(field)


def _or_chain(tests: list[str]) -> list[str]:
    line = f"if {' or '.join(tests)}:"
    if len(line) < 80:
        return [line]
    return ["if (", f"    {tests[0]}", *(f"    or {test}" for test in tests[1:]), "):"]


def _is_string(field: Field | None) -> bool:
    return field is not None and field.type == "string" and not field.is_array


def _is_single_struct(field: Field) -> bool:
    return field.struct is not None and not field.is_array


def _may_be_none(field: Field) -> bool:
    return field.nullable is not None or (field.has_default and field.default is None)


def _writes_own_length(field: Field | None) -> bool:
    """Arrays of int32 that cannot be null: their count is packed with their elements."""
    return (
        field is not None and field.is_array and field.type == "int32" and not _may_be_none(field)
    )
