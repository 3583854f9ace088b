"""`millstream registry`: list, show, register, check, delete; and `config` for what schemas must be compatible with."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.command import FAILED, ClientGroup
from millstream.cli.registry.asking import (
    ask_registry,
    registry_options,
    subject_argument,
    subject_names,
    with_near_subjects,
)
from millstream.cli.registry.levels import config
from millstream.cli.registry.schema_files import given_schema, readable, schema_options
from millstream.cli.rows import (
    Row,
    confirm,
    dry_run_option,
    for_people,
    note,
    output_option,
    print_rows,
    yes_option,
)
from millstream.cli.terminal import printable

if TYPE_CHECKING:
    from millstream.cli.registry.address import RegistryAddress
    from millstream.clients.serdes.registry import RegisteredSchema, Schema, SchemaRegistry
    from millstream.clients.serdes.registry.values import Version

_SHOWN: Final = ("subject", "version", "id", "type", "versions")
_REGISTERED: Final = ("subject", "id", "version", "result")
_CHECKED: Final = ("subject", "version", "compatible", "reasons")
_DELETED: Final = ("subject", "version", "result")


def _version(_context: click.Context, _option: click.Parameter, text: str) -> Version:
    if text == "latest":
        return "latest"
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise click.BadParameter(f"{text!r} is not a version: a number from 1 on, or latest")
    return int(text)


_subject = subject_argument()


@click.group(cls=ClientGroup)
def registry() -> None:
    """List, show, register, check and delete schemas of a schema registry: Confluent's, or one that
    speaks its REST API (Karapace, Redpanda, Apicurio).
    """


registry.add_command(config)


@registry.command("list")
@registry_options
@output_option
@click.option("--deleted", is_flag=True, help="Those too that are deleted, but not permanently.")
@click.option("--versions", "with_versions", is_flag=True, help="Ask for the versions of each, too: a request each.")  # fmt: skip
@click.argument("prefix", default="", metavar="[PREFIX]", shell_complete=subject_names)
def list_command(
    prefix: str, *, at: RegistryAddress, output: str, deleted: bool, with_versions: bool
) -> None:  # fmt: skip
    """List the subjects, or those that begin with PREFIX."""

    async def ask(registry: SchemaRegistry) -> list[Row]:
        names = [each for each in sorted(await registry.subjects(with_deleted=deleted)) if each.startswith(prefix)]  # fmt: skip
        if not with_versions:
            return [{"subject": name} for name in names]
        kept = set(await registry.subjects()) if deleted else set(names)
        return [
            {"subject": name, "versions": await registry.versions(name) if name in kept else []}
            for name in names
        ]

    columns = ("subject", "versions") if with_versions else ("subject",)
    rows = ask_registry(at, ask)
    print_rows(rows, output, columns)
    if not rows and prefix:
        note(f"no subject has a name that begins with {prefix}", output)
    elif not rows:
        note(
            "there are no subjects yet: millstream registry register SUBJECT FILE makes one", output
        )


@registry.command()
@registry_options
@output_option
@click.option("--version", callback=_version, default="latest", show_default=True, help="A version of the subject.")  # fmt: skip
@click.option("--id", "schema_id", type=click.IntRange(1), help="The schema of this id, as records name it, whatever its subject.")  # fmt: skip
@click.option("--raw", is_flag=True, help="Only the text of the schema, as the registry has it.")
@subject_argument(required=False)
def show(
    subject: str | None, *, at: RegistryAddress, output: str,
    version: Version, schema_id: int | None, raw: bool,
) -> None:  # fmt: skip
    """Show a schema: of a SUBJECT, or of an id."""
    if (subject is None) == (schema_id is None):
        raise click.UsageError("name a SUBJECT, or give --id")

    async def ask(registry: SchemaRegistry) -> tuple[Schema, Row]:
        if subject is None:
            assert schema_id is not None, "one of the two was given"
            schema = await registry.schema(schema_id)
            return schema, {"id": schema_id, "type": schema.schema_type}
        versions = await with_near_subjects(registry, subject, registry.versions(subject))
        found = await registry.version(subject, version)
        return found.schema, _row(found) | {"versions": versions}

    schema, row = ask_registry(at, ask)
    if raw:
        click.echo(schema.text.encode())  # of text click leaves out what a terminal obeys
        return
    if not for_people(output):
        references = [each._asdict() for each in schema.references]
        print_rows([{**row, "references": references, "schema": schema.text}], output, ())
        return
    print_rows([row], output, _SHOWN if subject else ("id", "type"))
    for each in schema.references:
        click.echo(printable(f"{each.name} is version {each.version} of {each.subject}"))
    click.echo(f"\n{readable(schema)}")


@registry.command()
@registry_options
@output_option
@dry_run_option
@click.option("--normalize", is_flag=True, help="Have the registry bring the schema into its normal form, so that equal ones are one.")  # fmt: skip
@_subject
@schema_options
def register(
    subject: str, file: str, *, at: RegistryAddress, output: str, dry_run: bool,
    normalize: bool, kind: str | None, references: tuple[str, ...],
) -> None:  # fmt: skip
    """Register the schema in FILE (- for standard input) as a new version of SUBJECT.

    A schema that the subject has already is left as it is.
    """
    schema = given_schema(file, kind, references)

    async def ask(registry: SchemaRegistry) -> Row:
        known = await _known(registry, subject, schema, normalize=normalize)
        if known is not None:
            return _row(known) | {"result": "is registered already"}
        if not dry_run:
            await registry.register(subject, schema, normalize=normalize)
            found = await registry.look_up(subject, schema, normalize=normalize)
            return _row(found) | {"result": "registered"}
        await _check_fit(registry, subject, schema)
        return {"subject": subject, "id": None, "version": None, "result": "would be registered"}

    print_rows([ask_registry(at, ask)], output, _REGISTERED)


@registry.command()
@registry_options
@output_option
@click.option("--version", callback=_version, default="latest", show_default=True, help="The version that it is to be compatible with.")  # fmt: skip
@_subject
@schema_options
def check(
    subject: str, file: str, *, at: RegistryAddress, output: str, version: Version,
    kind: str | None, references: tuple[str, ...],
) -> None:  # fmt: skip
    """Check whether SUBJECT would take the schema in FILE, by its compatibility level. Exits with 1 where not."""
    schema = given_schema(file, kind, references)

    async def ask(registry: SchemaRegistry) -> Row:
        answer = registry.check_compatibility(subject, schema, version)
        fits, reasons = await with_near_subjects(registry, subject, answer)
        return {"subject": subject, "version": version, "compatible": fits, "reasons": list(reasons)}  # fmt: skip

    row = ask_registry(at, ask)
    print_rows([row], output, _CHECKED)
    if not row["compatible"]:
        sys.exit(FAILED)


@registry.command()
@registry_options
@output_option
@yes_option
@dry_run_option
@click.option("--version", type=click.IntRange(1), help="Only this version. Default: all of the subject.")  # fmt: skip
@click.option("--permanent", is_flag=True, help="So that it cannot be had back, and records with its id cannot be read.")  # fmt: skip
@_subject
def delete(
    subject: str, *, at: RegistryAddress, output: str, yes: bool, dry_run: bool,
    version: int | None, permanent: bool,
) -> None:  # fmt: skip
    """Delete a SUBJECT, or one version. Without --permanent its schemas can still be had by their ids, and
    registering one again brings it back.
    """
    from millstream.clients.serdes.registry import SubjectNotFound

    async def find(registry: SchemaRegistry) -> list[int]:
        try:
            found = await registry.versions(subject)
        except SubjectNotFound:
            if permanent and subject in await registry.subjects(with_deleted=True):
                return []  # deleted already, but not permanently
            raise
        if version is not None and version not in found:
            await registry.version(subject, version)  # which says that there is none
        return found if version is None else [version]

    async def ask(registry: SchemaRegistry) -> list[int]:
        return await with_near_subjects(registry, subject, find(registry))

    there = ask_registry(at, ask)
    shown: list[int | None] = [*there] or [version]
    how = " permanently" if permanent else ""
    if dry_run:
        result = f"would be deleted{how}"
    else:
        if permanent:
            what = subject if version is None else f"version {version} of {subject}"
            confirm(f"Delete {what} permanently", yes=yes)
        ask_registry(at, lambda registry: _delete(registry, subject, version, soft=bool(there), permanent=permanent))  # fmt: skip
        result = f"deleted{how}"
    print_rows([{"subject": subject, "version": each, "result": result} for each in shown], output, _DELETED)  # fmt: skip
    if not permanent and not dry_run:
        note("its schemas can still be had by their ids; --permanent deletes them", output)


async def _delete(
    registry: SchemaRegistry, subject: str, version: int | None, *, soft: bool, permanent: bool
) -> None:
    """A registry deletes permanently only what was deleted before."""
    steps = [False] * soft + [True] * permanent
    for step in steps:
        if version is None:
            await registry.delete_subject(subject, permanent=step)
        else:
            await registry.delete_version(subject, version, permanent=step)


async def _known(
    registry: SchemaRegistry, subject: str, schema: Schema, *, normalize: bool
) -> RegisteredSchema | None:
    from millstream.clients.serdes.registry import SchemaNotFound, SubjectNotFound

    try:
        return await registry.look_up(subject, schema, normalize=normalize)
    except (SubjectNotFound, SchemaNotFound):
        return None


async def _check_fit(registry: SchemaRegistry, subject: str, schema: Schema) -> None:
    """Raises IncompatibleSchema, as the registration would."""
    from millstream.clients.serdes.registry import (
        IncompatibleSchema,
        SubjectNotFound,
        VersionNotFound,
    )

    try:
        fits, reasons = await registry.check_compatibility(subject, schema)
    except (SubjectNotFound, VersionNotFound):
        return  # a subject that is new takes anything; Apicurio says that it has no latest version
    if not fits:
        why = "; ".join(reasons) or "the registry does not say why"
        raise IncompatibleSchema(f"{subject} would refuse it: {why}", status=409, code=409)


def _row(found: RegisteredSchema) -> dict[str, object]:
    return {
        "subject": found.subject,
        "version": found.version,
        "id": found.schema_id,
        "type": found.schema.schema_type,
    }
