"""The sender sleeps until it is woken or its time has come."""

from __future__ import annotations

import asyncio

from millstream.clients.producer.sender import Alarm


async def test_an_alarm_that_rang_before_is_not_waited_for() -> None:
    alarm = Alarm()
    alarm.ring()
    await alarm.wait(None)
    alarm.clear()
    waiting = asyncio.ensure_future(alarm.wait(None))
    await asyncio.sleep(0)
    assert not waiting.done()
    alarm.ring()
    alarm.ring()
    assert await waiting is None


async def test_an_alarm_goes_off_when_its_time_is_over() -> None:
    alarm = Alarm()
    await alarm.wait(0)  # the time that is over at once
    again = asyncio.ensure_future(alarm.wait(None))  # it rings until it is cleared
    await asyncio.sleep(0)
    assert again.done()


async def test_who_is_cancelled_while_it_waits_leaves_no_timer() -> None:
    alarm = Alarm()
    waiting = asyncio.ensure_future(alarm.wait(3600))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    alarm.ring()
    assert waiting.cancelled()
