"""Errors of cluster and clouds, as few kinds as callers branch on.

    GrowthError                     reason: CamelCase, retryable
    ├── NotFound                    the object or server does not exist
    ├── AlreadyExists               an object of that name exists
    ├── Conflict                    the object changed since it was read
    ├── Rejected                    the API server refuses for good: invalid
    │   └── Forbidden               these credentials lack a right
    ├── Unreadable                  a field of an object cannot be read: a person must correct it
    ├── BudgetExhausted             a PodDisruptionBudget does not let this pod go now
    ├── Expired                     a watch's resourceVersion is too old: list again
    ├── Unreachable                 no answer, a 5xx or a 429: unknown outcome
    └── ProviderError
        ├── InsufficientCapacity    this offering has none left
        ├── QuotaExceeded           this account has reached its quota
        ├── RateLimited             not done, too many calls: later
        │   └── ClassNotLookedUp    not done, as a class has just changed: later
        ├── CreateRefused           certain that nothing was created, and not why: a few tries
        ├── UnknownOutcome          transient: look before retrying
        ├── InvalidConfiguration    image, network, type: a person must act
        └── AuthenticationFailed    a person must act

`reason` is also the reason of the condition and of the event that tell of it.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Extent:
    """What a refusal stops, where that is less than all of the class."""

    limit: str
    """What is short, such as "dedicated cores" or "location fsn1"."""
    server_types: tuple[str, ...] = ()
    """None is all."""
    locations: tuple[str, ...] = ()
    """None is everywhere."""
    may_be_all_types: bool = False
    """What the cloud says does not tell: once a second type is refused for the same, it stops all types."""


class GrowthError(Exception):
    """Root of the project's errors."""

    reason: ClassVar[str] = "Error"
    retryable: ClassVar[bool] = False


class NotFound(GrowthError):
    """The object or server does not exist."""

    reason: ClassVar[str] = "NotFound"


class AlreadyExists(GrowthError):
    """An object of that name exists."""

    reason: ClassVar[str] = "AlreadyExists"


class Conflict(GrowthError):
    """The object changed since it was read: read again and decide again."""

    reason: ClassVar[str] = "Conflict"
    retryable: ClassVar[bool] = True


class Rejected(GrowthError):
    """The API server refuses for good."""

    reason: ClassVar[str] = "Rejected"


class Forbidden(Rejected):
    """These credentials lack a right: a person must grant it."""

    reason: ClassVar[str] = "Forbidden"

    def __init__(self, message: str, *, user: str, verb: str, resource: str, advice: str) -> None:
        """Keep user, verb and resource of the missing right.

        Args:
            message: what the API server says.
            user: as the API server knows them.
            verb: such as list.
            resource: with its group as kubectl takes it, such as nodepools.growth.dev.
            advice: what to do, the end of the sentence.
        """
        super().__init__(f"{message}: {advice}")
        self.user = user
        self.verb = verb
        self.resource = resource
        self.advice = advice


class Unreadable(GrowthError):
    """A field of an object cannot be read: a person must correct it."""

    reason: ClassVar[str] = "Unreadable"


class BudgetExhausted(GrowthError):
    """A PodDisruptionBudget does not let this pod go now: ask again later."""

    reason: ClassVar[str] = "BudgetExhausted"
    retryable: ClassVar[bool] = True


class Expired(GrowthError):
    """A watch cannot go on from its resourceVersion: list again."""

    reason: ClassVar[str] = "Expired"
    retryable: ClassVar[bool] = True


class Unreachable(GrowthError):
    """No answer, a 5xx or a 429: whether the call took effect is unknown."""

    reason: ClassVar[str] = "Unreachable"
    retryable: ClassVar[bool] = True

    def __init__(self, message: str, retry_after_seconds: float | None = None) -> None:
        """Keep the pause that the server asks for, in seconds."""
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class ProviderError(GrowthError):
    """A cloud's answer."""

    reason: ClassVar[str] = "ProviderError"


class InsufficientCapacity(ProviderError):
    """This offering has none left."""

    reason: ClassVar[str] = "InsufficientCapacity"

    def __init__(self, message: str, *, lasts: bool = False, extent: Extent | None = None) -> None:
        """Keep how far it reaches.

        Args:
            message: a sentence for people.
            lasts: it will be so for long, as when the type is not sold there at all.
            extent: what else cannot be had, such as all types of the location; None is the offering alone.
        """
        super().__init__(message)
        self.lasts = lasts
        self.extent = extent


class QuotaExceeded(ProviderError):
    """This account has reached its quota."""

    reason: ClassVar[str] = "QuotaExceeded"

    def __init__(self, message: str, *, limits: str = "", extent: Extent | None = None, frees: bool = True) -> None:
        """Keep what is limited.

        Args:
            message: a sentence for people.
            limits: the cloud's words for it, in lower case.
            extent: what of a class it stops; None is all.
            frees: a machine that goes may leave room for another one.
        """
        super().__init__(message)
        self.limits = limits
        self.extent = extent
        self.frees = frees


class RateLimited(ProviderError):
    """The call was certainly not carried out, as too many were made: repeat it later."""

    reason: ClassVar[str] = "RateLimited"
    retryable: ClassVar[bool] = True

    def __init__(self, message: str, retry_after_seconds: float) -> None:
        """Keep how long to wait, in seconds."""
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class ClassNotLookedUp(RateLimited):
    """The call was certainly not carried out, as the provider has not looked yet at what a class says now."""

    reason: ClassVar[str] = "ClassNotLookedUp"


class UnknownOutcome(ProviderError):
    """Transient: whether the call took effect is unknown, so look before retrying."""

    reason: ClassVar[str] = "UnknownOutcome"
    retryable: ClassVar[bool] = True


class CreateRefused(ProviderError):
    """Certain that nothing was created; why, the cloud does not tell in words that are known."""

    reason: ClassVar[str] = "CreateRefused"
    retryable: ClassVar[bool] = True

    def __init__(self, message: str, *, tries: int = 3) -> None:
        """Keep how many calls are worth making before something else is bought."""
        super().__init__(message)
        self.tries = tries


class InvalidConfiguration(ProviderError):
    """Image, network or type is wrong: a person must act."""

    reason: ClassVar[str] = "InvalidConfiguration"

    def __init__(self, message: str, *, may_be_of_type: bool = False) -> None:
        """Keep whether it may be about the server type alone."""
        super().__init__(message)
        self.may_be_of_type = may_be_of_type


class AuthenticationFailed(ProviderError):
    """The credentials are wrong: a person must act."""

    reason: ClassVar[str] = "AuthenticationFailed"
