"""Settings as text: properties files as Java writes them, lists that are edited, and the layers that make one value."""

from __future__ import annotations

import string

from hypothesis import example, given
from hypothesis import strategies as st

from millstream.broker.config.sources import setting_of_variable
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.controller.configs.config_changes import after_changes
from millstream.errors import ConfigError
from millstream.metadata.config_key import ConfigKey
from millstream.metadata.effective_config import BrokerSettings, broker_entries, topic_entries
from millstream.properties_text import parse_properties, properties_text
from millstream.protocol.enums import AlterOperation, ConfigType
from millstream.protocol.generated.incremental_alter_configs import AlterableConfig

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
WORDS = st.lists(st.sampled_from(["a", "b", "c"]), unique=True)


def escaped(text: str, *, key: bool) -> str:
    """As java.util.Properties.store writes it."""
    out = []
    for at, char in enumerate(text):
        if char in "\t\n\r\f":
            out.append("\\" + {"\t": "t", "\n": "n", "\r": "r", "\f": "f"}[char])
        elif char in "\\=:#!" or (char == " " and (key or at == 0)):
            out.append("\\" + char)
        elif 0x20 <= ord(char) < 0x7F:
            out.append(char)
        else:
            units = char.encode("utf-16-be")
            out += [f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2)]
    return "".join(out)


@given(st.dictionaries(TEXT.filter(bool), TEXT, max_size=8))
def test_what_java_stores_is_read_back(settings: dict[str, str]) -> None:
    stored = "#comment\n" + "".join(
        f"{escaped(key, key=True)}={escaped(value, key=False)}\n" for key, value in settings.items()
    )
    assert parse_properties(stored) == settings


@given(st.dictionaries(TEXT, TEXT, max_size=8))
@example({"a": " \t\f\x85\u2028\x1c", " =:#!\\": "\N{GRINNING FACE}\\"})
def test_what_is_written_is_read_back(settings: dict[str, str]) -> None:
    text = properties_text(settings, "heading")
    assert text.isascii()
    assert parse_properties(text) == settings


@given(st.text(max_size=200))
def test_any_text_is_settings_or_one_typed_error(text: str) -> None:
    try:
        found = parse_properties(text)
    except ConfigError:
        return
    assert all(isinstance(value, str) for value in found.values())


@given(st.text(string.ascii_lowercase + string.digits + "._-", min_size=1, max_size=20))
def test_every_key_can_be_spelled_as_a_variable(key: str) -> None:
    """Where dots, dashes and underscores stand next to each other the spelling is ambiguous, as in Kafka's image."""
    if any(pair in key for pair in ("..", ".-", "-.", "--", "._", "_.", "__", "-_", "_-")):
        return
    variable = "KAFKA_" + key.upper().replace("_", "\0").replace("-", "___").replace(".", "_").replace("\0", "__")  # fmt: skip
    assert setting_of_variable(variable) == key


@given(
    st.lists(st.tuples(st.sampled_from([AlterOperation.APPEND, AlterOperation.SUBTRACT]), WORDS))
)
def test_editing_a_list_is_editing_an_ordered_set(
    edits: list[tuple[AlterOperation, list[str]]],
) -> None:
    table = {"list": ConfigKey("list", ConfigType.LIST, ("a",))}
    model, overrides = ["a"], {}
    for operation, words in edits:
        if not words:
            continue
        change = AlterableConfig(name="list", config_operation=operation, value=",".join(words))
        overrides = after_changes([change], overrides, table, {})
        if operation is AlterOperation.APPEND:
            model += [word for word in words if word not in model]
        else:
            model = [word for word in model if word not in words]
        assert overrides == {"list": ",".join(model)}


LAYER = st.dictionaries(
    st.sampled_from(["log.retention.ms", "log.retention.minutes", "log.retention.hours"]),
    st.integers(1, 10_000).map(str),
)


@given(LAYER, LAYER, LAYER)
def test_the_value_that_is_told_is_the_value_that_counts(
    own: dict[str, str], everybody: dict[str, str], static: dict[str, str]
) -> None:
    """DescribeConfigs of a topic agrees with what its logs are given, in whichever units and layers values stand."""
    settings = BrokerSettings(own, everybody, static)
    entries = {entry.key.name: entry for entry in topic_entries({}, settings)}
    counts = settings.topic_defaults().get("retention.ms", "604800000")
    assert entries["retention.ms"].value == counts


@given(LAYER, LAYER, LAYER)
def test_the_first_synonym_is_the_value_and_its_source(
    own: dict[str, str], everybody: dict[str, str], static: dict[str, str]
) -> None:
    for entry in broker_entries(BROKER_CONFIGS, BrokerSettings(own, everybody, static)):
        if entry.synonyms:
            first = entry.synonyms[0]
            assert (first.name, first.value, first.source) == (
                entry.key.name,
                entry.value,
                entry.source,
            )
        else:
            assert entry.value is None
