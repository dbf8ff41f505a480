"""The decision service: one resident process that decides for clients which carry out calls themselves.

In: events of a client's hooks and evaluations of OpenID AuthZEN, over a private Unix socket. Out: verdicts in
the asker's own form, and records of them. Open `run.py` first; `sessions.py` holds an enforcer for each
session, `client_call.py` is a call that its client carries out, `claude_code.py` and `authzen.py` are the two
forms, `application.py` serves them. `hook_program.py` is what a client runs: it needs nothing of ours.
"""
