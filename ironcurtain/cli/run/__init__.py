"""Commands that put agents behind a policy: one file a command, named like it.

`proxy.py` turns its options into `ProxyOptions` and hands over to `ironcurtain.enforcement.proxy`; open it
first. `approvals_screen.py` draws `approvals --watch`; `fetching.py` is `servers fetch`.
"""
