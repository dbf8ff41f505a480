"""Bundles in OCI registries.

In: a bundle and a registry's reference. Out: an artifact that OPA and conftest can pull, or the bundle
that was pulled. Open `client.py` first; `layout.py` is the artifact's form, `access.py` the credentials.
"""
