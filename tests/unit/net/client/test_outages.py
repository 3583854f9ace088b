"""When an address that cannot be reached is worth a line in the log."""

from __future__ import annotations

from millstream.net.client.core.outages import Outages


def test_one_failure_is_no_outage() -> None:
    """The next of several bootstrap addresses may answer."""
    outages = Outages()
    assert outages.failed("a:1", "refused", 0) is None
    assert outages.connected("a:1", 100) is None
    assert outages.failed("a:1", "refused", 200) is None


def test_the_second_failure_is_told_and_then_one_a_minute() -> None:
    outages = Outages()
    told = [outages.failed("a:1", "refused", at_ms) for at_ms in range(0, 130_000, 1_000)]
    assert [at for at, sentence in enumerate(told) if sentence] == [1, 61, 121]
    assert told[61] == "refused (62 attempts in 61.0 s; trying again)"
    assert outages.connected("a:1", 130_000) == "connected to a:1 after 130.0 s"
    assert outages.connected("a:1", 131_000) is None


def test_silence_is_told_after_a_second_and_not_again_when_the_attempt_ends() -> None:
    outages = Outages()
    assert outages.silent("a:1", 1_000) == "no answer from a:1 since 1.0 s; still waiting"
    assert outages.failed("a:1", "no answer within 10000 ms", 10_000) is None
    assert outages.failed("a:1", "no answer within 20000 ms", 30_000) is None
    assert outages.connected("a:1", 31_000) == "connected to a:1 after 31.0 s"


def test_addresses_are_told_of_one_by_one() -> None:
    outages = Outages()
    for address in ("a:1", "b:2"):
        outages.failed(address, "refused", 0)
    assert (
        outages.failed("a:1", "a refuses", 100) == "a refuses (2 attempts in 0.1 s; trying again)"
    )
    assert (
        outages.failed("b:2", "b refuses", 100) == "b refuses (2 attempts in 0.1 s; trying again)"
    )
