"""OPA, the policy engine: found, installed, started, and asked for decisions.

In: a bundle and policy inputs. Out: decision objects of the expected revision; anything else is an error,
which callers turn into a deny (`ironcurtain.policy`, and the proxy's `active_policy.py`, beside which
`reload.py` starts another engine). Open `engine.py` first (our own OPA server; its header lists the
invariants), then `remote.py` (OPAs that others run) and `command.py` (checking and testing Rego).
"""
