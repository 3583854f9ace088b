from __future__ import annotations

from millstream.broker.config.listeners import Listener, advertised_listeners, parse_listeners


def test_an_address_that_means_all_is_advertised_as_this_machines_name() -> None:
    bound = [
        Listener("A", "", 9092),
        Listener("B", "0.0.0.0", 9093),
        Listener("C", "10.0.0.1", 9094),
    ]
    assert advertised_listeners(bound, None, "mill.example") == (
        Listener("A", "mill.example", 9092),
        Listener("B", "mill.example", 9093),
        Listener("C", "10.0.0.1", 9094),
    )


def test_an_advertised_port_of_zero_is_the_bound_port() -> None:
    bound = [Listener("A", "127.0.0.1", 40001)]
    assert advertised_listeners(bound, [Listener("A", "localhost", 0)], "x") == (
        Listener("A", "localhost", 40001),
    )


def test_six_byte_addresses_may_stand_in_brackets() -> None:
    assert parse_listeners("listeners", ["A://[::1]:9092"]) == (Listener("A", "::1", 9092),)
