"""What the published rules decide about tools that were never compiled.

In: a bundle and annotations of further tools. Out: their rows of the decision matrix. Open `onboarding.py`
first.
"""
