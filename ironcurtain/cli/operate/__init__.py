"""Commands for whoever runs IronCurtain: logs, keys, distribution, diagnosis; one file a command.

Each turns its options into calls of a library package (`ironcurtain.enforcement.audit`,
`ironcurtain.bundle`, `ironcurtain.integrations.doctor`) and prints what comes back. Open `audit.py` first.
"""
