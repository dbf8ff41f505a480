"""Ways to have a session with somebody: at a terminal, or with a program over JSON lines.

In: a session that is open. Out: what its person or program sees, and their words as turns and answers. A
transport knows no MCP and no policy; a session knows no terminal. Open `transport.py` first.
"""
