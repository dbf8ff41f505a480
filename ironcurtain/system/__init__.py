"""The operating system and text: each mechanism once, without knowledge of policies.

In and out: files, private directories, locks, programs, work in the background, keys, JSON and YAML text.
Open `files.py` (how a document enters the program) and `json_text.py` (strict JSON) first; `frozen.py` and
`structs.py` have the bases of all our data. Everything else in the package may import this one.
"""
