"""The servers' side of the proxy: started, watched, restarted, and asked.

In: the configured servers and permitted requests. Out: their answers, as they came, and what servers ask
of the client, decided like calls. Open `upstream.py` first (one server), then `upstream_manager.py` (all).
"""
