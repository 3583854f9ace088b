"""Writes the functions that write structs: straight-line code that appends to a bytearray."""

from __future__ import annotations

from codegen.messages.layout import condition, steps, Run
from codegen.messages.lines import Lines
from codegen.messages.module_names import ModuleNames
from codegen.messages.names import attribute
from codegen.messages.types import FIXED, is_fixed
from millstream.protocol.schema import Field, MessageSchema, Struct, VersionRange


class StructWriter:
    """Emits the code that writes `item`, one struct."""

    def __init__(self, lines: Lines, names: ModuleNames, message: MessageSchema, struct: Struct) -> None:
        self._lines = lines
        self._names = names
        self._message = message
        self._struct = struct

    def function(self) -> None:
        """`_write_<struct>(out, items, version)`: structs in a row, without their count."""
        name = self._names.class_of(self._struct, self._message)
        with self._lines.block(
            f"def {self._names.writer(self._struct, self._message)}"
            f"(out: bytearray, items: Iterable[{name}], version: int) -> None:"
        ):
            with self._lines.block("for item in items:"):
                self.body()

    def body(self) -> None:
        for step in steps(self._struct):
            if isinstance(step, Run):
                self._run(step)
            else:
                self._field(step)
        self._tags()

    def _run(self, run: Run) -> None:
        """Fields that exist in the same versions share one pack; the others are guarded one group at a time."""
        for shape_versions, present in _groups(run, self._struct):
            codes = "".join(FIXED[field.type].code for field in present)
            values = ", ".join(f"item.{attribute(field)}" for field in present)
            missing = [field for field in run.fields if field not in present]
            with _maybe(self._lines, shape_versions):
                if present:
                    self._lines.add(f"out += {self._names.struct(codes)}.pack({values})")
                for field in missing:
                    self._must_be_default(field)

    def _must_be_default(self, field: Field) -> None:
        if field.ignorable:
            return
        refused = self._names.use("not_in_version")
        with self._lines.block(f"if {differs(field, self._names, self._message)}:"):
            self._lines.add(f'raise {refused}("{attribute(field)}", version)')

    def _field(self, field: Field) -> None:
        test = condition(field.versions, self._struct.versions)
        if not test:
            self._nullable(field)
            return
        with self._lines.block(f"if {test}:"):
            self._nullable(field)
        if not field.ignorable:
            refused = self._names.use("not_in_version")
            with self._lines.block(f"elif {differs(field, self._names, self._message)}:"):
                self._lines.add(f'raise {refused}("{attribute(field)}", version)')

    def _nullable(self, field: Field) -> None:
        target = f"item.{attribute(field)}"
        optional = field.nullable is not None or (field.has_default and field.default is None)
        if not optional:
            self._value(field)
            return
        with self._lines.block(f"if {target} is None:"):
            if field.nullable is None:
                self._lines.add(f'raise {self._names.use("must_not_be_null")}("{attribute(field)}", version)')
            else:
                allowed = condition(field.nullable, field.versions)
                if allowed:
                    with self._lines.block(f"if not ({allowed}):"):
                        refused = self._names.use("must_not_be_null")
                        self._lines.add(f'raise {refused}("{attribute(field)}", version)')
                self._per_encoding(field, self._null(field, True), self._null(field, False))
        with self._lines.block("else:"):
            self._value(field)

    def _null(self, field: Field, compact: bool) -> str:
        if field.struct is not None and not field.is_array:
            return "out.append(255)"
        if compact:
            return "out.append(0)"
        width = 2 if field.type == "string" and not field.is_array else 4
        return "out += b\"" + "\\xff" * width + "\""

    def _per_encoding(self, field: Field, new: str, old: str) -> None:
        flexible = self._message.flexible_from
        if field.legacy or flexible is None or flexible > field.versions.highest:
            self._lines.add(old)
        elif flexible <= field.versions.lowest or new == old:
            self._lines.add(new)
        else:
            with self._lines.block(f"if version >= {flexible}:"):
                self._lines.add(new)
            with self._lines.block("else:"):
                self._lines.add(old)

    def tagged_value(self, field: Field) -> None:
        """A value that is not null, as a tagged field writes it."""
        if field.struct is not None and not field.is_array and field.nullable is not None:
            self._lines.add("out.append(1)")
        self._value(field)

    def _value(self, field: Field) -> None:
        target = f"item.{attribute(field)}"
        use = self._names.use
        if field.struct is not None and not field.is_array:
            if field.nullable is not None and field.tag is None:
                self._lines.add("out.append(1)")
            self._lines.add(f"{self._names.writer(field.struct, self._message)}(out, ({target},), version)")
            return
        if field.type == "string" and not field.is_array:
            self._per_encoding(
                field, f"{use('write_compact_string')}(out, {target})", f"{use('write_string')}(out, {target})"
            )
            return
        self._per_encoding(
            field,
            f"{use('write_length')}(out, len({target}))",
            f"out += {self._names.struct('i')}.pack(len({target}))",
        )
        if field.struct is not None:
            self._lines.add(f"{self._names.writer(field.struct, self._message)}(out, {target}, version)")
        elif field.is_array and field.type == "string":
            self._strings(field, target)
        elif field.is_array and field.type == "uuid":
            self._lines.add(f"{use('write_uuids')}(out, {target})")
        elif field.is_array:
            self._lines.add(f'{use("write_integers")}(out, {target}, "{FIXED[field.type].code}")')
        elif field.type == "records":
            self._lines.add(f"{use('append_records')}(out, {target})")
        else:
            self._lines.add(f"out += {target}")

    def _strings(self, field: Field, target: str) -> None:
        with self._lines.block(f"for text in {target}:"):
            use = self._names.use
            self._per_encoding(field, f"{use('write_compact_string')}(out, text)", f"{use('write_string')}(out, text)")

    def _tags(self) -> None:
        flexible = self._message.flexible_from
        use = self._names.use
        if flexible is None or flexible > self._struct.versions.highest:
            with self._lines.block("if item.unknown_tagged_fields:"):
                self._lines.add(f"raise {use('tags_refused')}(version)")
            return
        known = [field for field in self._struct.fields if field.tag is not None]
        tests = [differs(field, self._names, self._message) for field in known]
        tests.append("item.unknown_tagged_fields")
        with self._lines.block(f"if {' or '.join(tests)}:"):
            if known:
                self._lines.add(f"{self._names.tags_writer(self._struct, self._message)}(out, item, version)")
            elif flexible > self._struct.versions.lowest:
                with self._lines.block(f"if version < {flexible}:"):
                    self._lines.add(f"raise {use('tags_refused')}(version)")
                self._lines.add(f"{use('write_tagged_fields')}(out, (), item.unknown_tagged_fields)")
            else:
                self._lines.add(f"{use('write_tagged_fields')}(out, (), item.unknown_tagged_fields)")
        otherwise = f"elif version >= {flexible}:" if flexible > self._struct.versions.lowest else "else:"
        with self._lines.block(otherwise):
            self._lines.add("out.append(0)")


class TagsWriter:
    """Emits `_write_<struct>_tags(out, item, version)`, for structs that know tags."""

    def __init__(self, lines: Lines, names: ModuleNames, message: MessageSchema, struct: Struct) -> None:
        self._lines = lines
        self._names = names
        self._message = message
        self._struct = struct

    def function(self) -> None:
        name = self._names.class_of(self._struct, self._message)
        use = self._names.use
        flexible = self._message.flexible_from or 0
        with self._lines.block(
            f"def {self._names.tags_writer(self._struct, self._message)}"
            f"(target: bytearray, item: {name}, version: int) -> None:"
        ):
            self._lines.add(f"known: list[{use('TaggedField')}] = []")
            for field in self._struct.fields:
                if field.tag is not None:
                    self._field(field)
            if flexible > self._struct.versions.lowest:
                with self._lines.block(f"if version < {flexible}:"):
                    with self._lines.block("if item.unknown_tagged_fields:"):
                        self._lines.add(f"raise {use('tags_refused')}(version)")
                    self._lines.add("return")
            self._lines.add(f"{use('write_tagged_fields')}(target, known, item.unknown_tagged_fields)")

    def _field(self, field: Field) -> None:
        test = condition(field.versions, self._struct.versions)
        with self._lines.block(f"if {differs(field, self._names, self._message, exact=True)}:"):
            if test:
                with self._lines.block(f"if {test}:"):
                    self._known(field)
                if not field.ignorable:
                    with self._lines.block("else:"):
                        refused = self._names.use("not_in_version")
                        self._lines.add(f'raise {refused}("{attribute(field)}", version)')
            else:
                self._known(field)

    def _known(self, field: Field) -> None:
        target = f"item.{attribute(field)}"
        self._lines.add("out = bytearray()")
        writer = StructWriter(self._lines, self._names, self._message, self._struct)
        if is_fixed(field):
            self._lines.add(f"out += {self._names.struct(FIXED[field.type].code)}.pack({target})")
        elif field.nullable is None or (field.has_default and field.default is None):
            writer.tagged_value(field)  # it differs from its default, so it is not null
        else:
            with self._lines.block(f"if {target} is None:"):
                self._lines.add("out.append(0)")
            with self._lines.block("else:"):
                writer.tagged_value(field)
        self._lines.add(f"known.append(TaggedField({field.tag}, bytes(out)))")


def differs(field: Field, names: ModuleNames, message: MessageSchema, exact: bool = False) -> str:
    """A test that a field has another value than its default. Not `exact`: identity decides for shared defaults."""
    target = f"item.{attribute(field)}"
    default = names.default(field, message)
    if default == "None":
        return f"{target} is not None"
    if default.startswith("_NO_") and not exact:
        return f"{target} is not {default}"
    if default == "True":
        return f"not {target}"
    if default == "False" or (default in ('""', "[]", "0", 'b""') and field.nullable is None):
        return target
    return f"{target} != {default}"


def _groups(run: Run, struct: Struct) -> list[tuple[str, tuple[Field, ...]]]:
    """(opening line, fields) for each set of versions that have the same fields of a run, newest first."""
    if not run.fields:
        return []
    found: list[tuple[VersionRange, tuple[Field, ...]]] = []
    for version in reversed(list(struct.versions)):
        present = tuple(field for field in run.fields if version in field.versions)
        if found and found[-1][1] == present:
            found[-1] = (VersionRange(version, found[-1][0].highest), present)
        else:
            found.append((VersionRange(version, version), present))
    if len(found) == 1:
        return [("", found[0][1])]
    opened = []
    keyword, remaining = "if", struct.versions
    for versions, present in found:
        test = condition(versions, remaining)
        opened.append((f"{keyword} {test}:" if test else "else:", present))
        remaining = VersionRange(remaining.lowest, max(remaining.lowest, versions.lowest - 1))
        keyword = "elif"
    return opened


class _maybe:  # noqa: N801 - reads as a statement
    """A block where there is an opening line, nothing where there is none."""

    def __init__(self, lines: Lines, opening: str) -> None:
        self._block = lines.block(opening) if opening else None

    def __enter__(self) -> None:
        if self._block:
            self._block.__enter__()

    def __exit__(self, *reason: object) -> None:
        if self._block:
            self._block.__exit__(None, None, None)
