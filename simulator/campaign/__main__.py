"""`python -m simulator.campaign`: plays histories from seeds and tells what was wrong.

With one seed (`--first N --seeds 1`) it prints that history's whole log; with `--mutations` it plants faults
in the code and tells how soon histories find them.
"""

import argparse
import sys
import time
from typing import Final

from simulator.campaign.campaign import Tally, catches, run
from simulator.campaign.history import PROVIDERS, play

_TELL_EVERY: Final = 50


def main() -> int:
    """Run the command and return its exit code: 1 if anything was wrong, or a planted fault was not found."""
    parser = argparse.ArgumentParser(prog="python -m simulator.campaign", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many histories (default 1000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument(
        "--provider", choices=PROVIDERS, default="kwok", help="whose servers, and how pools are (default kwok)"
    )
    parser.add_argument("--mutations", action="store_true", help="plant faults in the code and see them found")
    given = parser.parse_args()
    if given.mutations:
        return _mutations(given.jobs, given.first)
    if given.seeds == 1:
        return _one(given.first, given.provider)
    return _many(range(given.first, given.first + given.seeds), given.jobs, given.provider)


def _one(seed: int, provider: str) -> int:
    outcome = play(seed, provider)
    _tell("\n".join(outcome.log))
    _tell("\n".join(f"WRONG: {what}" for what in outcome.wrong) or "nothing was wrong")
    return int(bool(outcome.wrong))


def _many(seeds: range, jobs: int, provider: str) -> int:
    began = time.monotonic()
    tally = Tally()
    for verdict in run(seeds, jobs=jobs, provider=provider):
        tally.add(verdict)
        if verdict.wrong:
            _tell(f"seed {verdict.seed}: {verdict.wrong[0]}")
            option = "" if provider == "kwok" else f" --provider {provider}"
            _tell(f"  repeat it: python -m simulator.campaign{option} --seeds 1 --first {verdict.seed}")
        if tally.seeds % _TELL_EVERY == 0:
            _tell(f"{tally.seeds} of {len(seeds)} histories, {len(tally.failed)} wrong, {_since(began):.0f} s")
    _tell(tally.table())
    _tell(f"{tally.calls_per_server():.1f} calls to the provider for each server")
    took = _since(began)
    _tell(
        f"{tally.seeds} histories of {tally.seconds / 3600:.0f} simulated hours in {took:.0f} s "
        f"({tally.seeds / took:.1f}/s): {len(tally.failed)} wrong"
    )
    return int(bool(tally.failed))


def _mutations(jobs: int, first: int) -> int:
    began = time.monotonic()
    missed = 0
    for caught in catches(jobs=jobs, first=first):
        missed += not caught.violation
        how = (
            f"found by history {caught.seeds}: {caught.violation}"
            if caught.violation
            else f"NOT FOUND by {caught.seeds}"
        )
        _tell(f"{caught.mutation.name}: {how}")
    _tell(f"{missed} planted faults were not found, {_since(began):.0f} s")
    return int(bool(missed))


def _since(began: float) -> float:
    return time.monotonic() - began


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
