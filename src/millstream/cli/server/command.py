"""`millstream server`: its options. The node is run by `serving`, which is imported only then.

Standard output has one line, printed when the node answers; everything else goes to standard error.
Exit code 0 after a clean shutdown, 1 when the node could not start or run, 2 when it was used wrongly.
"""

from __future__ import annotations

import gc

import click

from millstream.cli.version import version_option


@click.command(
    short_help="Start a node.",
    epilog="If a setting is given several times, the first of these counts: an option, --override, a variable KAFKA_* of the environment (as in Kafka's official image), CONFIG.",
)
@click.argument("config", type=click.Path(exists=True, dir_okay=False), required=False)
@click.option("--port", type=click.IntRange(0, 65535), help="Port for clients. 0: any free port.")
@click.option("--data", type=click.Path(file_okay=False), help="Directory for all data.")
@click.option(
    "--ephemeral",
    is_flag=True,
    help="For trying things out: data is temporary, and groups start without a wait.",
)
@click.option(
    "--secure",
    is_flag=True,
    help="With TLS, logins and access rules. The first start makes certificates, a user admin whose password it prints once, and a "
    "client.properties for it, all in the data directory.",
)
@click.option(
    "--cluster-id",
    envvar="CLUSTER_ID",
    help="Id for a new cluster. An existing data directory must have the same id.",
)
@click.option(
    "--override",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set KEY to VALUE. It wins over CONFIG and the environment. May be repeated.",
)
@click.option(
    "--log-format",
    type=click.Choice(["plain", "json"]),
    default="plain",
    show_default=True,
    help="Format of the log on standard error.",
)
@click.option("--until-end-of-input", is_flag=True, hidden=True)
@click.option("--controller-until-end-of-input", is_flag=True, hidden=True)
@version_option
def server(
    config: str | None,
    *,
    port: int | None,
    data: str | None,
    ephemeral: bool,
    secure: bool,
    cluster_id: str | None,
    overrides: tuple[str, ...],
    log_format: str,
    until_end_of_input: bool,
    controller_until_end_of_input: bool,
) -> None:
    """Start a node: a broker and its controller.

    CONFIG is a server.properties as for Kafka. An empty data directory is formatted. When the node is ready it prints
    the line "millstream ready bootstrap=HOST:PORT ...".
    """
    # What is imported lives as long as the process. The collector would look at it a hundred times on the way.
    gc.disable()
    from millstream.cli.server.serving import ServerOptions, serve

    gc.freeze()
    gc.enable()
    serve(
        ServerOptions(
            config=config,
            port=port,
            data=data,
            ephemeral=ephemeral,
            secure=secure,
            cluster_id=cluster_id,
            overrides=overrides,
            log_format=log_format,
            until_end_of_input=until_end_of_input,
            controller_until_end_of_input=controller_until_end_of_input,
        )
    )
