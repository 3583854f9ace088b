"""Tokens are found by their secrets, as they come and go."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.security.delegation_token import TokenIds, token_hmac


class Looked(dict[str, object]):
    """Counts how often all of it is looked at."""

    def __init__(self, *token_ids: str) -> None:
        super().__init__(dict.fromkeys(token_ids))
        self.times = 0

    def __iter__(self) -> Iterator[str]:
        self.times += 1
        return super().__iter__()


def test_tokens_that_come_are_found_and_those_that_go_are_not() -> None:
    ids = TokenIds("key")
    a, b = token_hmac("key", "a"), token_hmac("key", "b")
    assert ids.find(a, {}) is None
    assert ids.find(a, {"a": None}) == "a"
    assert ids.find(b, {"a": None}) is None
    assert ids.find(b, {"a": None, "b": None}) == "b"
    assert ids.find(a, {"b": None}) is None
    assert ids.find(b"", {"b": None}) is None
    assert ids.find(a, {"a": None, "b": None}) == "a", "a node may hear of it again from a snapshot"
    assert ids.find(token_hmac("other key", "a"), {"a": None}) is None


def test_all_tokens_are_looked_at_once_however_often_is_asked() -> None:
    """Renewals and secrets that nobody has cost no look at all tokens, of which there may be ten thousand."""
    ids, tokens = TokenIds("key"), Looked("a", "b")
    for _ in range(10):
        assert ids.find(token_hmac("key", "b"), tokens) == "b"
        assert ids.find(b"guessed", tokens) is None
    assert tokens.times == 1
    renewed = Looked("a", "b")
    assert ids.find(token_hmac("key", "a"), renewed) == "a"
    assert renewed.times == 0
