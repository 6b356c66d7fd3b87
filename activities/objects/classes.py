"""What providers read of the cluster: node classes, and its failures as those of a cloud."""

from collections.abc import Iterator
from contextlib import contextmanager

from activities.ports.cluster import Object
from activities.ports.errors import (
    Conflict,
    InvalidConfiguration,
    Rejected,
    UnknownOutcome,
    Unreachable,
    Unreadable,
)
from api.reading import ModelT, UnreadableError, read


def class_of(model: type[ModelT], node_class: Object) -> ModelT:
    """Return the node class.

    Raises:
        InvalidConfiguration: it cannot be read; names the field.
    """
    try:
        return read(model, node_class)
    except UnreadableError as error:
        raise InvalidConfiguration(str(error)) from error


@contextmanager
def as_answers(what: str) -> Iterator[None]:
    """Turn what the API server says about what a provider keeps there into what a cloud says of `what`.

    Raises:
        UnknownOutcome: it did not answer, or somebody else was first.
        InvalidConfiguration: it refuses, or what it has cannot be read.
    """
    try:
        yield
    except (Unreachable, Conflict) as error:
        raise UnknownOutcome(f"{what}: {error}") from error
    except (Rejected, Unreadable) as error:
        raise InvalidConfiguration(f"{what}: {error}") from error
