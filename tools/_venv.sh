# Sourced by the doors: makes .venv on first use and sets $pinproof to the command in it.
# Needs python3 >= 3.10 and nothing else; uv is used when present because it is quicker.
set -eu
repo=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
venv=$repo/.venv
pinproof=$venv/bin/pinproof
stamp=$venv/.ready${extras:+-dev}

make_venv() {
    printf 'pinproof: making %s (once)\n' "$venv" >&2
    log=$repo/.venv.lock/log
    if command -v uv >/dev/null 2>&1 && uv --version >/dev/null 2>&1; then
        [ -x "$venv/bin/python" ] || uv venv --quiet --python "$(find_python)" "$venv"
        uv pip install --quiet --python "$venv/bin/python" -e "$repo${extras:-}" >"$log" 2>&1
    else
        [ -x "$venv/bin/python" ] || "$(find_python)" -m venv "$venv"
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e "$repo${extras:-}" >"$log" 2>&1
    fi || { cat "$log" >&2; printf 'pinproof: could not make %s; run the same command again when the network is back\n' "$venv" >&2; return 1; }
    touch "$stamp"
}

find_python() {
    for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        if "$name" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
            command -v "$name"
            return
        fi
    done
    printf 'pinproof: needs Python 3.10 or newer (with venv) as python3\n' >&2
    return 1
}

# Two first runs at once: the second waits for the first. A holder that died leaves a dead pid.
if [ ! -e "$stamp" ] || [ "$repo/pyproject.toml" -nt "$stamp" ]; then
    until mkdir "$repo/.venv.lock" 2>/dev/null; do
        holder=$(cat "$repo/.venv.lock/pid" 2>/dev/null || echo '')
        if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
            rm -rf "$repo/.venv.lock"
        fi
        sleep 0.2
    done
    trap 'rm -rf "$repo/.venv.lock"' EXIT INT TERM
    echo $$ >"$repo/.venv.lock/pid"
    if [ ! -e "$stamp" ] || [ "$repo/pyproject.toml" -nt "$stamp" ]; then
        make_venv
    fi
    rm -rf "$repo/.venv.lock"
    trap - EXIT INT TERM
fi
