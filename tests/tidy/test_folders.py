"""Folders show the architecture: each has few enough modules to be read, and none is hidden in prefixes of file names."""

from __future__ import annotations

from collections import Counter

from tests.tidy.test_source_rules import ROOT, python_files

MODULES_MAX = 25
SAME_PREFIX_MAX = 4

EXEMPT = {"handlers", "generated"}
"""Folders of one file for each API of Kafka, found by the name of the API."""


def test_a_folder_holds_no_more_modules_than_a_reader_can_survey() -> None:
    crowded = {
        folder: len(names)
        for folder, names in modules_by_folder().items()
        if len(names) > MODULES_MAX
    }
    assert not crowded, f"more than {MODULES_MAX} modules, cut by subject: {crowded}"


def test_no_prefix_of_file_names_stands_in_for_a_folder() -> None:
    prefixed = {
        folder: found
        for folder, names in modules_by_folder().items()
        if (found := shared_prefixes(names))
    }
    assert not prefixed, f"make a folder of the files with one prefix: {prefixed}"


def modules_by_folder() -> dict[str, list[str]]:
    """The names of the modules that stand directly in each folder of the product and of its tests."""
    folders: dict[str, list[str]] = {}
    for path in python_files():
        folder = path.parent.relative_to(ROOT)
        if folder.parts[:1] in {("src",), ("tests",)} and not EXEMPT & set(folder.parts):
            folders.setdefault(folder.as_posix(), []).append(path.stem)
    return {
        folder: [name for name in names if name not in {"__init__", "conftest"}]
        for folder, names in folders.items()
    }


def shared_prefixes(names: list[str]) -> dict[str, int]:
    """First words that more file names begin with than a folder may have, and how many do."""
    words = Counter(name.removeprefix("test_").split("_")[0] for name in names)
    return {word: count for word, count in words.items() if count > SAME_PREFIX_MAX}
