"""Who permitted a call: the sentence, and the commit of the constitution, that first did.

In: a call, the project's bundle, and the git history around it. Out: a `Blame`. Open `blame.py` first. Called
by `ironcurtain blame`.
"""
