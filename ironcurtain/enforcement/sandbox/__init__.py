"""The sandbox: each server runs in a container of the operating system, as wide as the policy could need.

In: what rules could let a server reach, and its configuration. Out: a started process, and what it was
seen to be refused. Open `profile.py` first (what one server may touch), then `launcher.py` (who starts it).
"""
