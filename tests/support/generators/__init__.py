"""Random tools, policies, worlds and calls, for properties and fuzzing."""
