"""`millstream completion`: the Tab key of bash, zsh and fish knows verbs, options and the names of a cluster."""

from typing import Final

VARIABLE: Final = "_MILLSTREAM_COMPLETE"
"""Set by a shell whose Tab key was pressed: click looks for it. Here, since every start of the program asks for it."""
