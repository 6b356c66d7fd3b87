"""CapacityBuffers as the planner needs them: so many pods of a template that do not exist, or why there are none."""

from dataclasses import dataclass

from planner.objects.kinds import Pod


@dataclass(frozen=True, slots=True)
class CapacityBuffer:
    """A CapacityBuffer that is Growth's to serve."""

    namespace: str
    name: str
    uid: str
    count: int = 0
    """Pods that are to have room."""
    template: Pod | None = None
    """One of them; None where there is none to make."""
    code: str = ""
    """Why it cannot be served, CamelCase; empty where it can be."""
    message: str = ""
    """The same in words; or, where it can be served, what bounds its count."""
    template_name: str = ""
    """The PodTemplate that it names, once that is read."""
    template_generation: int | None = None

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"
