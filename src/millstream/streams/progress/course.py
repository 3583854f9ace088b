"""Work of which it is known how much there is: its share, its speed and the time that is left, as text. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LONG_MS: Final = 3_000
"""What takes less is not worth a line."""
_BAR_CHARS: Final = 20


@dataclass(slots=True)
class Course:
    """Records `done` since it began, and `left`."""

    began_ms: int
    done: int = 0
    left: int = 0

    def left_ms(self, now_ms: int) -> float:
        """Returns the time that is left at the speed so far."""
        return self.left * (now_ms - self.began_ms) / self.done if self.done else 0

    def text(self, now_ms: int) -> str:
        """Returns a bar with the share, the speed and the time that is left."""
        share = self.done / max(1, self.done + self.left)
        full = int(share * _BAR_CHARS)
        speed = self.done * 1000 / max(1, now_ms - self.began_ms)
        return (
            f"[{'#' * full}{' ' * (_BAR_CHARS - full)}] {int(share * 100)} %, "
            f"{speed:,.0f} records/s, {_in_words(self.left_ms(now_ms))} left"
        )


def _in_words(time_ms: float) -> str:
    seconds = round(time_ms / 1000)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"
