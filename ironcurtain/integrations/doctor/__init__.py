"""Checks of an installation: programs, project, policy, servers, clients and running proxies.

In: an `Installation`, which says what to look at. Out: one `Diagnosis` a check, with what helps. Open
`checks.py` first, the list of all checks; every other module looks at one thing.
"""
