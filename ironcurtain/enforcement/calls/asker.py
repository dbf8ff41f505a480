"""Who made a call: whom the agent acts for, and the person who may sit there and can be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping

from ironcurtain.gateway.principal import Principal
from ironcurtain.system.frozen import JsonValue

Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Reports progress of a call: how far it is, of how much, and a sentence."""


class Asker(ABC):
    """The other end of one call.

    Attributes:
        client_name: Which client it is, as far as it had to show that.
        principal: Whom it acts for, as its token showed; None where none was asked for.
    """

    client_name: str
    principal: Principal | None

    @property
    @abstractmethod
    def on_progress(self) -> Progress | None:
        """How progress is reported; None where it is not wanted."""

    @property
    @abstractmethod
    def can_elicit(self) -> bool:
        """Whether a form can be shown to the person there."""

    @abstractmethod
    async def elicit(
        self, message: str, schema: dict[str, JsonValue]
    ) -> tuple[str, Mapping[str, object] | None] | None:
        """Show a form to the person there.

        Returns:
            The action (`accept`, `decline` or `cancel`) and the form as it was filled in; None where nobody
            was asked.

        Raises:
            ValueError: If what came back is no answer.
        """
