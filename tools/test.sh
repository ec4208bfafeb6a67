#!/bin/sh
extras='[dev]'; self=$(readlink -f -- "$0") && . "${self%/*}/_venv.sh" && cd "$repo" && exec "$venv/bin/python" -m pytest "$@"
