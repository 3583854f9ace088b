"""Pages of a guide whose examples are run: what a Python block prints is the ```text block right after it.

`render` runs the blocks of a page, in one namespace and in their order, and gives the page with what they print
now. A block that prints and is followed by no ```text block, and one that raises, is an error of the page.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

EXAMPLE = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)


class GuideError(Exception):
    """An example of the page does not do what a page needs; says where."""


def render(text: str, page: Path) -> str:
    """The text of a page with fresh outputs. `page` is where tracebacks say that the code stands."""
    namespace: dict[str, object] = {"__name__": page.stem}

    def run(example: re.Match[str]) -> str:
        line = text.count("\n", 0, example.start("code"))
        printed = _run(example["code"], namespace, page, line)
        if example["output"] is None:
            if printed:
                raise GuideError(
                    f"{page}:{line}: the block prints, but no ```text block follows it"
                )
            return example[0]
        start, end = (each - example.start() for each in example.span("output"))
        return example[0][:start] + printed + example[0][end:]

    return EXAMPLE.sub(run, text)


def _run(code: str, namespace: dict[str, object], page: Path, line: int) -> str:
    """What a block prints. Its lines are numbered as they are in the page."""
    output = io.StringIO()
    program = compile("\n" * line + code, str(page), "exec", dont_inherit=True)
    with redirect_stdout(output):
        exec(program, namespace)  # noqa: S102  # the code is that of the guide
    return output.getvalue()
