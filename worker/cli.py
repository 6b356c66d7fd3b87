"""The command `growth`. Each command imports what it needs when it runs: `growth plan` loads no client."""

import os
import signal
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, NoReturn

from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError

from activities.providers.built_in import VARIABLES
from worker.commands.lifecycles.group_help import GROUP_HELP
from worker.errors import USAGE_ERROR, AtOnce, CommandError
from worker.printing import shown

READER_GONE = 128 + signal.SIGPIPE
"""As a shell tells of a program that the closed pipe ended."""
INTERRUPTED = 128 + signal.SIGINT
_OF_PROVIDERS = "\n\n".join(f"{name}: {what}" for name, what in VARIABLES.items())
VARIABLES_ONLY = f"""Without an option, by environment variable only:

GROWTH_OWN_PODS: pods of the worker and of its Temporal, as namespace/name with commas between; their nodes stay.

GROWTH_EMBEDDED_PORT, GROWTH_EMBEDDED_UI_PORT: ports of the embedded Temporal server and of its UI; 0 takes a free one.

{_OF_PROVIDERS}

GROWTH_TEMPORAL_API_KEY: API key of Temporal; TLS is used with it.

GROWTH_TEMPORAL_TLS: true for TLS to Temporal without an API key; GROWTH_TEMPORAL_TLS_CA, GROWTH_TEMPORAL_TLS_CERT and
GROWTH_TEMPORAL_TLS_KEY name PEM files.
"""


def _version() -> str:
    try:
        return version("growth-autoscaler")
    except PackageNotFoundError:
        return "of a source tree that is not installed"


app = App(
    name="growth",
    help="The cheapest machines for unschedulable pods, and back. Each machine's lifecycle is a Temporal workflow.",
    version=_version,
    result_action="return_value",
)


def main() -> NoReturn:
    """Run the command line of this process and exit."""
    try:
        code = app(sys.argv[1:], exit_on_error=False, print_error=False)
    except CycloptsError as error:
        print(shown(f"growth: {_usage(error)}"), file=sys.stderr)
        sys.exit(USAGE_ERROR)
    except CommandError as error:
        for line in str(error).splitlines():
            print(shown(f"growth: {line}"), file=sys.stderr)
        _end(AtOnce(error.code) if error.at_once else error.code)
    except BrokenPipeError:
        # Whoever read our output has seen enough; what Python still holds back must not raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(READER_GONE)
    except KeyboardInterrupt:
        _end(AtOnce(INTERRUPTED))
    _end(code if isinstance(code, int) else 0)


def _end(code: int) -> NoReturn:
    if isinstance(code, AtOnce):
        with suppress(BrokenPipeError):
            sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def _usage(error: CycloptsError) -> str:
    """Return the problem with the command line, and the command for its help."""
    problem = " ".join(str(error).split())
    if isinstance(error, UnusedCliTokensError):
        problem = f"{' '.join(error.unused_tokens or ())}: that is more than the command takes."
    return f"{problem} See `{' '.join(('growth', *(error.command_chain or ())))} --help`."


@app.command(help_epilogue=VARIABLES_ONLY)
def run(
    *,
    embedded_temporal: Annotated[bool | None, Parameter(negative="")] = None,
    simulated_machines: Annotated[bool | None, Parameter(negative="")] = None,
    cluster: str | None = None,
    namespace: str | None = None,
    kubeconfig: Path | None = None,
    context: str | None = None,
    temporal_address: str | None = None,
    temporal_namespace: str | None = None,
    data_dir: Path | None = None,
    http_address: str | None = None,
    log_format: str | None = None,
    log_level: str | None = None,
) -> None:
    """Run the worker. Each option can also be given as environment variable, --data-dir as GROWTH_DATA_DIR.

    Args:
        embedded_temporal: run a Temporal server of this worker's own, on loopback only.
        simulated_machines: buy simulated machines, as of a KwokNodeClass, beside real Nodes, too: pods run on none.
        cluster: name of this cluster, in workflow ids and server labels; default default.
        namespace: Kubernetes namespace of Growth's own objects; default growth-system.
        kubeconfig: kubeconfig file; without one as kubectl finds it, in a pod without any its service account.
        context: context in the kubeconfig; without one its current context.
        temporal_address: host:port of the Temporal server; default localhost:7233.
        temporal_namespace: namespace in Temporal; default growth.
        data_dir: folder of the embedded Temporal server's file; default growth-data.
        http_address: host:port of /healthz, /readyz and /metrics; default 127.0.0.1:8080.
        log_format: auto, console or json; default auto.
        log_level: debug, info, warning or error; default info.
    """
    given = {name: value for name, value in locals().items() if value is not None}
    from worker.settings import load  # noqa: PLC0415

    settings = load(**given)
    from worker.main import main as work  # noqa: PLC0415

    work(settings)


@app.command
def crds() -> None:
    """Print the definitions of Growth's kinds: `growth crds | kubectl apply --server-side -f -`."""
    from activities.providers.kinds import provider_kinds  # noqa: PLC0415
    from api.schema import render_definitions  # noqa: PLC0415

    classes = (kind.definition for kind in provider_kinds())
    print("---\n".join(render_definitions(classes).values()), end="")


# By import path: each is loaded when it runs.
app.command(
    "worker.commands.plan.command:plan", name="plan", help="Plan for the objects of a file; no cluster, no Temporal."
)
app.command(
    "worker.commands.convert.command:convert",
    name="convert",
    help="Another autoscaler's settings as pools; no cluster, no Temporal.",
)
app.command(
    "worker.commands.catalogue.command:catalogue",
    name="catalogue",
    help="What can be bought: server types, places, prices.",
)
app.command(
    "worker.commands.status.command:status", name="status", help="Pools, demand, machines, and what is awaited."
)
app.command(
    "worker.commands.why.command:why", name="why", help="Why a pod, node, request or removal stands where it does."
)
app.command(
    "worker.demo.command:demo", name="demo", help="A simulated cluster grows and shrinks, in less than a minute."
)
for _group, _summary in GROUP_HELP.items():
    app.command(f"worker.commands.lifecycles.{_group}:app", name=_group, help=_summary)
app.command(
    "worker.commands.pause.command:pause", name="pause", help="Pools buy nothing and begin no removal; the rest ends."
)
app.command("worker.commands.pause.command:resume", name="resume", help="End the pause of pools.")
app.command("worker.commands.rights:rights", name="rights", help="Rights on kinds that other packages bring.")
app.command("worker.commands.purge.command:purge", name="purge", help="Everything of a cluster: shown, then removed.")
