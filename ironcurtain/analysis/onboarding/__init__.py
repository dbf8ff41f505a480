"""What tools that nobody compiled yet would be decided by the published rules.

In go a bundle and annotations of further tools; out come their rows of the decision matrix.
Begin with `onboarding.py`.
"""
