"""What the benchmark asks: an instance of the generator, or one of a family that it does not draw.

The families are those in which peers are strong (one family of machines, linear prices), and those that are
hard for everyone (machines that three pods fill to the last byte, all types scarce).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from random import Random
from typing import Final

from benchmarks.catalogue import CatalogueMachine, machines
from benchmarks.generator import BadRecipe, Recipe, draw, merged
from benchmarks.instance import SCARCE, Instance, InstanceShape, problem_of_instance
from simulator.peers.problem import PeerProblem

_ONE_FAMILY: Final = "cx"
_TRIPLET_TYPE: Final = "cx32"
_LEAST, _MOST = 0.25, 0.5
"""Of a machine, in each resource: with more than a quarter each, no four pods share one."""


class Family(StrEnum):
    """What is done to an instance of the generator; the text tells of it in tables."""

    DRAWN = ""
    ONE_FAMILY = "cx only"
    LINEAR = "linear prices"
    ALL_SCARCE = "all scarce"
    TRIPLETS = "triplets"


@dataclass(frozen=True, slots=True)
class Case:
    """One problem of the benchmark."""

    recipe: Recipe
    family: Family = Family.DRAWN

    def __str__(self) -> str:
        recipe = self.recipe
        shapes = "all distinct" if recipe.shapes is None else f"{recipe.shapes:,}"
        words = [f"{recipe.pods:,} x {shapes}"]
        words += [name for name in ("mix", "zonal", "hosts", "limits") if getattr(recipe, name)]
        words += [self.family] if self.family else []
        return ", ".join([*words, f"seed {recipe.seed}"] if recipe.seed else words)

    @property
    def problem(self) -> PeerProblem:
        """What waits and what can be bought.

        Raises:
            BadRecipe: there are no triplets of so many pods.
        """
        if self.family is Family.TRIPLETS:
            return problem_of_instance(_triplets(self.recipe))
        return problem_of_instance(_CHANGES[self.family](draw(self.recipe)))


def _unchanged(instance: Instance) -> Instance:
    return instance


def _one_family(instance: Instance) -> Instance:
    machines = tuple(machine for machine in instance.machines if machine.family == _ONE_FAMILY)
    return replace(instance, shapes=_undemanding(instance), machines=machines)


def _all_scarce(instance: Instance) -> Instance:
    machines = tuple(machine for machine in instance.machines if machine.name in SCARCE)
    return replace(instance, shapes=_undemanding(instance), machines=machines)


def _undemanding(instance: Instance) -> tuple[InstanceShape, ...]:
    """Return the shapes without a wish for an architecture or for cores of their own."""
    return tuple(merged([replace(shape, architecture="", is_dedicated=False) for shape in instance.shapes]))


def _linear(instance: Instance) -> Instance:
    """Return the instance with a price per core and one per GiB: no type is a bargain."""
    priced = [
        replace(machine, price_per_hour=(2 * Decimal(machine.cpu) + Decimal(machine.memory)) / 10**6)
        for machine in instance.machines
    ]
    return replace(instance, machines=tuple(priced))


_CHANGES: Final[Mapping[Family, Callable[[Instance], Instance]]] = {
    Family.DRAWN: _unchanged,
    Family.ONE_FAMILY: _one_family,
    Family.LINEAR: _linear,
    Family.ALL_SCARCE: _all_scarce,
}


def _triplets(recipe: Recipe) -> Instance:
    """Return machines of one type, cut into three pods each without any rest: the optimum is a third of the pods.

    Source: the triplet class of Falkenauer's bin packing instances, here in three resources at once.
    """
    if recipe.pods % 3:
        raise BadRecipe(f"{recipe}: triplets need a number of pods that three divides")
    random = Random(7919 * recipe.seed + recipe.pods)  # noqa: S311 - it draws test data
    [machine] = (one for one in machines() if one.name == _TRIPLET_TYPE)
    shapes = [shape for _ in range(recipe.pods // 3) for shape in _three(random, machine)]
    random.shuffle(shapes)
    return Instance(tuple(merged(shapes)), (machine,))


def _three(random: Random, machine: CatalogueMachine) -> list[InstanceShape]:
    cuts = [_cut(random, whole) for whole in (machine.cpu, machine.memory, machine.disk)]
    return [InstanceShape(count=1, cpu=cpu, memory=memory, disk=disk) for cpu, memory, disk in zip(*cuts, strict=True)]


def _cut(random: Random, whole: int) -> tuple[int, int, int]:
    least, most = int(_LEAST * whole) + 1, int(_MOST * whole)
    while True:
        first, second = random.randint(least, most), random.randint(least, most)
        if least <= whole - first - second <= most:
            return first, second, whole - first - second
