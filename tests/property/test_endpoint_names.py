"""Names of tools at the endpoint, for whatever servers and tools: short, unique, stable, reversible."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from ironcurtain.servers.endpoint_names import endpoint_name, full_name, split_endpoint_name

OF_MODELS = re.compile(r"[a-zA-Z0-9_-]{1,64}")
OF_CLIENTS = "mcp__ironcurtain__"

server_names = st.from_regex(r"[A-Za-z0-9](?:_?[A-Za-z0-9-])*_?", fullmatch=True).filter(
    lambda name: len(name) < 64
)
digits = st.text("0123456789abcdef", min_size=10, max_size=10)
tool_names = st.one_of(
    st.text(min_size=1, max_size=120),
    st.text("ab_-./", min_size=1, max_size=120),
    st.builds("{}__{}".format, st.text("ab_", max_size=40), digits),
)


@st.composite
def endpoints(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Draw the tools of an endpoint, some of them named as others are seen."""
    servers = draw(st.lists(server_names, min_size=1, max_size=4, unique_by=lambda name: name.rstrip("_")))
    tools = draw(st.lists(st.tuples(st.sampled_from(servers), tool_names), min_size=1, max_size=12))
    seen = [(server, endpoint_name(server, tool).removeprefix(f"{server}__")) for server, tool in tools]
    return sorted({*tools, *seen})


@given(endpoints())
@example([("s" * 63, "a"), ("s" * 34, endpoint_name("s" * 63, "a").removeprefix("s" * 34 + "__"))])
@example([("git", "a.b"), ("git", "a_b"), ("git", "a/b")])
def test_names_are_those_of_models_apis_and_lead_back(tools: list[tuple[str, str]]) -> None:
    servers = {server for server, _ in tools}
    names = [endpoint_name(*tool) for tool in tools]
    assert len({*names}) == len(tools)
    for tool, name in zip(tools, names, strict=True):
        assert OF_MODELS.fullmatch(OF_CLIENTS + name), name
        assert split_endpoint_name(name, servers, tools) == tool
        # Whatever else there is: a name is a matter of its own tool.
        assert split_endpoint_name(name, servers, [tool]) == tool
        # A client that writes the full name means the same, unless it is the name of another.
        if full_name(*tool) not in names:
            assert split_endpoint_name(full_name(*tool), servers, tools) == tool


@given(server_names, st.text("abcXYZ019_-", min_size=1, max_size=60))
def test_a_name_that_fits_is_the_full_one(server: str, tool: str) -> None:
    full = full_name(server, tool)
    fits = len(OF_CLIENTS + full) <= 64 and not re.search(r"__[0-9a-f]{10}\Z", full)
    assert (endpoint_name(server, tool) == full) == fits
