#!/bin/sh
# Makes a virtual environment from tools/ci/requirements/NAME.txt, every hash checked and no package's own code run,
# and adds this checkout to it. $PYTHON names the interpreter.   tools/ci/install.sh [dev|run] [VENV]
set -eu
cd "$(dirname -- "$0")/../.."
name=${1:-dev}
venv=${2:-.venv}
"${PYTHON:-python3}" -m venv "$venv"
if uv --version >/dev/null 2>&1; then # the same with either, quicker with uv
    install() { uv pip install --quiet --python "$venv/bin/python" --no-deps "$@"; }
else
    install() { "$venv/bin/python" -I -m pip install --quiet --disable-pip-version-check --no-deps "$@"; }
fi
install --require-hashes --only-binary :all: --requirement "tools/ci/requirements/$name.txt"
install --no-build-isolation --no-index --editable .
# tools/_venv.sh makes .venv anew when these stamps are missing or older than pyproject.toml
touch "$venv/.ready"
if [ "$name" = dev ]; then touch "$venv/.ready-dev"; fi
