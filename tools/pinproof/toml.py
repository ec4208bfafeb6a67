"""The TOML reader: the standard library's, and on Python 3.10 its backport under the same name."""

import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["tomllib"]
