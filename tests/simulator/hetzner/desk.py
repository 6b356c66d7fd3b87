"""A fake cloud, time that a test moves, and calls as JSON."""

from datetime import UTC, datetime, timedelta

from simulator.hetzner.cloud import FakeHetzner

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
TOKEN = "a" * 32 + "b" * 32
SERVER = {"name": "one", "server_type": "cx23", "location": "fsn1", "image": "debian-12"}


class Desk:
    def __init__(self, **options):
        self.now = START
        self.cloud = FakeHetzner(lambda: self.now, **options)
        self.cloud.add_token(TOKEN)

    def wait(self, seconds):
        self.now += timedelta(seconds=seconds)

    def call(self, method, path, body=None, *, query=(), token=TOKEN):
        return self.cloud.handle(method, path, list(query), body, token)

    def create(self, name="one", **fields):
        return self.call("POST", "/servers", {**SERVER, "name": name, **fields})

    def made(self, name="one", **fields):
        """Create a server and return its id."""
        reply = self.create(name, **fields)
        assert reply.status == 201, reply.body
        return reply.body["server"]["id"]

    def running(self, name="one", **fields):
        """Create a server, wait until nothing of it is under way, and return its id."""
        number = self.made(name, **fields)
        self.wait(60)
        assert self.server(number)["locked"] is False
        return number

    def server(self, number):
        return self.call("GET", f"/servers/{number}").body["server"]

    def names(self, **query):
        return [each["name"] for each in self.call("GET", "/servers", query=query.items()).body["servers"]]

    def actions(self, *numbers):
        found = self.call("GET", "/actions", query=[("id", str(number)) for number in numbers]).body["actions"]
        return {each["command"]: each for each in found}

    def group(self, name="g", **fields):
        reply = self.call("POST", "/placement_groups", {"name": name, "type": "spread", **fields})
        assert reply.status == 201, reply.body
        return reply.body["placement_group"]["id"]


def code(reply):
    return reply.status, reply.body["error"]["code"]


def ids_of(reply):
    """Return the ids of all actions of a creation."""
    return [reply.body["action"]["id"], *(each["id"] for each in reply.body["next_actions"])]
