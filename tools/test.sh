#!/bin/sh
extras='[dev]'; . "$(dirname -- "$0")/_venv.sh" && cd "$repo" && exec "$venv/bin/python" -m pytest "$@"
