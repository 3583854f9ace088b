from __future__ import annotations

from millstream.quoting import counted, shortened, some_of


def test_short_text_is_quoted_as_it_is() -> None:
    assert shortened("x" * 300) == "x" * 300


def test_of_long_text_the_beginning_is_quoted_and_its_length_told() -> None:
    assert shortened("a" * 5_000_000) == "a" * 300 + "… (5,000,000 characters)"
    assert shortened("abcdef", 3) == "abc… (6 characters)"


def test_a_few_of_many_names_are_told() -> None:
    assert some_of(["a", "b"]) == "a, b"
    assert some_of([str(n) for n in range(10)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
    assert (
        some_of([str(n) for n in range(20_000)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 19,990 more"
    )
    assert len(some_of(["x" * 30_000] * 20_000)) < 4_000


def test_a_number_agrees_with_its_noun() -> None:
    assert [counted(count, "record") for count in (0, 1, 2)] == [
        "0 records",
        "1 record",
        "2 records",
    ]
    assert [counted(2, noun) for noun in ("batch", "address", "partition")] == [
        "2 batches",
        "2 addresses",
        "2 partitions",
    ]
