"""Git repositories and remotes: what git would contact, asked of git itself.

In: the directory of a repository and a remote as the call names it. Out: the canonical URL or path that git
would use, or why that cannot be told. Open `remotes.py` first (what is decided), then `repository.py` (what
is read), `config.py` (how git rewrites addresses) and `process.py` (how git is run); the form of a URL is
`../urls.py`.
"""
