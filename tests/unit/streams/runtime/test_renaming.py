"""Generated names that have shifted are noticed before the topology begins with nothing."""

from __future__ import annotations

import pytest

from millstream.errors import ConfigError
from millstream.streams.runtime.renaming import renamed, require_same_names

OLD = "app-KSTREAM-AGGREGATE-STATE-STORE-0000000002"
NEW = "app-KSTREAM-AGGREGATE-STATE-STORE-0000000004"


@pytest.mark.parametrize("kind", ["changelog", "repartition"])
def test_a_topic_whose_number_has_shifted_is_named_with_the_name_that_it_had(kind: str) -> None:
    with pytest.raises(ConfigError) as refused:
        require_same_names("app", [f"{NEW}-{kind}"], [f"{OLD}-{kind}"])
    text = str(refused.value)
    assert text.startswith(f"internal topic {NEW}-{kind} is not there, but {OLD}-{kind} is")
    assert "its name of before, KSTREAM-AGGREGATE-STATE-STORE-0000000002 (" in text


@pytest.mark.parametrize("kind", ["repartition", "subscription-response-topic"])
def test_a_topic_between_sub_topologies_that_was_renamed_is_named_with_what_would_be_lost(
    kind: str,
) -> None:
    with pytest.raises(ConfigError) as refused:
        require_same_names("app", [f"app-by-x-{kind}"], [f"app-by-word-{kind}"])
    assert f"What was not read of app-by-word-{kind} would be lost" in str(refused.value)


def test_a_shift_is_noticed_where_the_new_name_of_one_store_is_the_old_name_of_another() -> None:
    last = "app-KSTREAM-AGGREGATE-STATE-STORE-0000000006-changelog"
    with pytest.raises(ConfigError, match=last):
        require_same_names(
            "app", [f"{NEW}-changelog", last], [f"{OLD}-changelog", f"{NEW}-changelog"]
        )


@pytest.mark.parametrize(
    ("wanted", "existing"),
    [
        ([f"{OLD}-changelog", f"{NEW}-changelog"], [f"{OLD}-changelog"]),
        ([f"{OLD}-changelog"], [f"{OLD}-changelog", f"{NEW}-changelog"]),
        ([f"{NEW}-changelog"], []),
        (["app-counts-changelog"], [f"{OLD}-changelog"]),
        ([f"{NEW}-changelog"], ["app-counts-changelog"]),
        ([f"{NEW}-changelog"], [f"{OLD}-repartition"]),
        ([f"{NEW}-changelog"], ["app-in-STATE-STORE-0000000000-changelog"]),
    ],
    ids=[
        "a store was added",
        "a store was removed",
        "nothing was there",
        "a generated name became a given one",
        "a given name became a generated one",
        "a changelog, and a repartition topic",
        "stores of other operators",
    ],
)
def test_other_changes_are_no_shift(wanted: list[str], existing: list[str]) -> None:
    assert renamed(wanted, existing) is None
