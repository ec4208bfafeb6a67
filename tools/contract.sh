#!/bin/sh
. "$(dirname -- "$0")/_venv.sh" && exec "$pinproof" contract "$@"
