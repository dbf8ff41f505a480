"""Records: what look-ups are asked with, what of their answers is a fact, and each made once for a call."""
