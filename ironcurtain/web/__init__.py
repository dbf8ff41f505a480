"""Pages for people, served to the browsers of this machine: `ironcurtain web`.

In: what other programs wrote (requests that wait, audit logs). Out: HTML, and the answers of people. A page
calls the library function that the command of the same name calls; it decides and words nothing itself. Open
`app.py` first (the routes), then `guard.py` (what every request has to pass) and `access.py` (who is let in).
"""
