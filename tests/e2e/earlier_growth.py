"""`growth` as it was before it asked for its cluster's uid: servers and planner bear the cluster's name alone."""

from typing import Any, Final

from tests.e2e import quick_growth

EARLIER_GROWTH: Final = ("-c", "from tests.e2e.earlier_growth import main; main()")
"""What Python is started with."""


async def _no_uid(*_given: Any) -> str:
    return ""


def main() -> None:
    """Run the command line of this process; a worker's durations are a tenth as long."""
    from worker import main as worker_main  # noqa: PLC0415 - its durations are changed after this

    worker_main.await_cluster_uid = _no_uid
    quick_growth.main()
