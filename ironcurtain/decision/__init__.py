"""One tool call to one decision, in seven steps (specification 2).

In: a `Call`, a `LoadedPolicy` and a function that asks the engine. Out: a `Decision`; every input yields
one, and any failure is a deny. Open `decide.py` first: its functions are the steps, in their order.
`agent_view.py` is what the agent may be told of the outcome.
"""
