"""The notation of the message tables."""

from __future__ import annotations

import pytest

from millstream.protocol.schema import SchemaError, VersionRange, parse_schemas, snake_case

TABLE = """
# a comment
request ExampleRequest key=7 versions=1-4 flexible=3+ listeners=broker,controller unstable=4
  name        string      nullable=2+ default=null
  ids         []int32     2-3 default=[] ignorable
  parts       []Part
    index     int32       default=-1
    extra     uuid        3+ tag=0
  oldParts    []Part      1-2
  clientId    string      nullable legacy

header ExampleHeader versions=0
"""


def test_a_table_may_hold_several_messages() -> None:
    request, header = parse_schemas(TABLE)
    assert (request.kind, request.name, request.key) == ("request", "ExampleRequest", 7)
    assert (request.versions, request.flexible_from, request.unstable_from) == (
        VersionRange(1, 4),
        3,
        4,
    )
    assert request.listeners == ("broker", "controller")
    assert (header.name, header.key, header.flexible_from) == ("ExampleHeader", None, None)
    assert header.root.fields == ()


def test_a_field_has_the_versions_of_its_line_or_of_its_struct() -> None:
    fields = {field.name: field for field in parse_schemas(TABLE)[0].root.fields}
    assert fields["name"].versions == VersionRange(1, 4)
    assert fields["name"].nullable == VersionRange(2, 4)
    assert fields["ids"].versions == VersionRange(2, 3)
    assert fields["ids"].ignorable
    assert fields["clientId"].legacy
    assert fields["clientId"].nullable == VersionRange(1, 4)


def test_a_struct_used_twice_is_defined_once_and_spans_all_its_uses() -> None:
    fields = {field.name: field for field in parse_schemas(TABLE)[0].root.fields}
    assert fields["parts"].struct is fields["oldParts"].struct
    part = fields["parts"].struct
    assert part is not None
    assert part.versions == VersionRange(1, 4)
    index, extra = part.fields
    assert (index.default, index.versions) == (-1, VersionRange(1, 4))
    assert (extra.tag, extra.versions) == (0, VersionRange(3, 4))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("  name", "not a field line"),
        ("      name string", "not a field line"),
        ("  name text", "type text of field name is neither scalar nor defined"),
    ],
)
def test_a_line_that_breaks_the_notation_is_named(line: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        parse_schemas(f"header ExampleHeader versions=0\n{line}\n")


@pytest.mark.parametrize(
    ("kafka", "ours"),
    [
        ("logStartOffset", "log_start_offset"),
        ("ListOffsets", "list_offsets"),
        ("kRaftVersionFeature", "kraft_version_feature"),
        ("enable2Pc", "enable_2pc"),
        ("v3AndBelowTopics", "v3_and_below_topics"),
        ("isr", "isr"),
    ],
)
def test_names_become_snake_case(kafka: str, ours: str) -> None:
    assert snake_case(kafka) == ours
