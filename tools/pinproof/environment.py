"""The environment that a tree's own code is given: the person's, less what it must not take along."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|CREDENTIAL|(?:^|_)KEY$", re.IGNORECASE)


def without_secrets(env: Mapping[str, str]) -> dict[str, str]:
    """`env` without the variables whose names say that they hold a token, password or key."""
    return {name: value for name, value in env.items() if not _SECRET.search(name)}
