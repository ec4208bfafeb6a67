#!/bin/sh
self=$(readlink -f -- "$0") && . "${self%/*}/_venv.sh" && exec "$pinproof" smoke "$@"
