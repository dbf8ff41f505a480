"""The name of the directory, below a home, that holds the user's own configuration, keys and approvals.

No tool may touch it under any policy, so whoever describes a machine or contains a server names it.
"""

from __future__ import annotations

CONFIGURATION_DIRECTORY = ".ironcurtain"
