"""A policy in agent frameworks: middleware that decides calls of a program's own tools before they run.

In: an entered `Policy`, the name that the program's tools have in it, and calls as the framework hands them
over. Out: a call carried out with its canonical arguments, a refusal that the model reads, or the framework's
own question to a person. Open `decider.py` first; each other file is one framework's form of the three.
"""
