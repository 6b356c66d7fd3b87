"""`growth` whose own clockwork is about ten times as fast, for scenarios that wait for durations of the product.

The round trips, whose workers are killed, and the walks through the documents keep the product's own: what is outside,
such as a late controller, does not become quicker.
"""

import importlib
import pkgutil
from functools import partial
from typing import Final

from activities.providers.hetzner import class_keeper
from tests.chaos.pace import KEEPER_PERIOD, ROOMS, quick_pace
from worker import cli

QUICK_GROWTH: Final = ("-c", "from tests.e2e.quick_growth import main; main()")
"""What Python is started with. A module of its own, with -m, would be imported by the solver's process again."""
_WITHOUT: Final = ("planner.packing.optimiser", "worker.demo")
"""No duration of theirs is changed, and they take seconds to import."""


def main() -> None:
    """Run the command line of this process."""
    for room in ROOMS:
        _import_all(room)
    from worker import main as worker_main  # noqa: PLC0415 - the command line itself imports it only when it runs

    class_keeper._LONGEST_REST_SECONDS = 1.0
    worker_main.at_work = partial(worker_main.at_work, keeper_period=KEEPER_PERIOD)
    with quick_pace():
        cli.main()


def _import_all(package: str) -> None:
    """Import a package and all modules below it: a duration is changed in each that has taken it over."""
    path = importlib.import_module(package).__path__
    for module in pkgutil.iter_modules(path, f"{package}."):
        if module.name in _WITHOUT or module.name.endswith("__main__"):
            continue
        if module.ispkg:
            _import_all(module.name)
        else:
            importlib.import_module(module.name)
