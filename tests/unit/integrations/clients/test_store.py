"""What of a client's servers goes into the key store, and what is left there when it fails."""

from __future__ import annotations

from types import ModuleType

from ironcurtain.integrations.clients.store import Secrets, keep, secrets_of
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.key_store import KeyStore

SERVERS: dict[str, dict[str, JsonValue]] = {
    "hub": {"command": "true", "env": {"HUB TOKEN": "first-0123456789", "HUB-TOKEN": "second-0123456789"}}
}


class Filling(ModuleType):
    """A store in which there is room for so many secrets."""

    def __init__(self, room: int) -> None:
        super().__init__("filling")
        self.room, self.held = room, dict[str, str]()

    def set_password(self, service: str, name: str, value: str) -> None:
        if len(self.held) == self.room:
            raise OSError(service)
        self.held[name] = value

    def get_password(self, service: str, name: str) -> str | None:
        assert service
        return self.held.get(name)

    def delete_password(self, service: str, name: str) -> None:
        assert service
        del self.held[name]


def found() -> Secrets:
    return secrets_of(SERVERS, "file/wrap")


def test_two_variables_that_are_spelled_alike_in_the_store_are_two_secrets() -> None:
    store = Filling(room=2)
    assert keep(found(), KeyStore(store))
    assert {*store.held.values()} == {"first-0123456789", "second-0123456789"}
    hidden = found().hidden(SERVERS)["hub"]["env"]
    assert isinstance(hidden, dict)
    assert hidden["HUB TOKEN"] != hidden["HUB-TOKEN"]
    assert all(str(value).startswith("${keyring:") for value in hidden.values())


def test_a_store_that_does_not_take_all_secrets_is_left_with_none() -> None:
    store = Filling(room=1)
    assert not keep(found(), KeyStore(store))
    assert store.held == {}
