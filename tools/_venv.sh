# Sourced by the doors: makes .venv on first use and sets $pinproof to the command in it.
# Needs python3 >= 3.10 and nothing else; uv is used when present because it is quicker.
# Every failure leaves by `exit` with its own code: `set -e` is off on the left of the doors' `&&`.
# $self is the door, with links followed: one may stand in ~/bin.
repo=${self%/*/*}
newline='
'
case $repo in
*"$newline"* | *:*)
    printf 'pinproof: cannot run from %s: the path holds a newline or a colon, which no venv can; move the checkout\n' "$repo" >&2
    exit 2
    ;;
esac
venv=$repo/.venv
lock=$repo/.venv.lock
pinproof=$venv/bin/pinproof
stamp=$venv/.ready${extras:+-dev}
# There from before the first file until the last: a .venv that holds it was never finished.
making=$venv/.making

# A checkout that was moved or whose Python has gone holds a .venv that cannot run.
is_ready() {
    [ -e "$stamp" ] && ! [ -e "$making" ] && [ -x "$venv/bin/python" ] && ! [ "$repo/pyproject.toml" -nt "$stamp" ] || return 1
    [ -L "$venv" ] && return # somebody else's
    made_at=
    IFS= read -r made_at <"$stamp" || :
    [ "${made_at:-$repo}" = "$repo" ]
}

make_venv() {
    printf 'pinproof: making %s (once)\n' "$venv" >&2
    python=$(find_python) || return 1
    install_venv >"$lock/log" 2>&1 && printf '%s\n' "$repo" >"$stamp" && rm -f "$making" && return
    cat "$lock/log" >&2
    printf 'pinproof: could not make %s; see above, and run the same command again\n' "$venv" >&2
    return 1
}

install_venv() (
    cd "$repo" || return # a path given to -e must hold no brackets: they would name extras
    if command -v uv >/dev/null 2>&1 && uv --version >/dev/null 2>&1; then
        is_whole || { begin_anew && uv venv --quiet --allow-existing --python "$python" "$venv"; } || return
        uv pip install --quiet --python "$venv/bin/python" -e ".${extras:-}"
    else
        is_whole || { begin_anew && "$python" -m venv "$venv"; } || return
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e ".${extras:-}"
    fi
)

# A .venv that runs is never cleared, whoever made it, but for one of ours that was never finished.
is_whole() {
    [ -L "$venv" ] || { ! [ -e "$making" ] && "$venv/bin/python" -c '' 2>/dev/null; }
}

begin_anew() {
    rm -rf "$venv" && mkdir "$venv" && : >"$making"
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

# Two first runs at once: the second waits for the first. A holder that died leaves a dead pid, or none.
take_lock() {
    nameless=0 waits=0
    until mkdir "$lock" 2>/dev/null; do
        if ! [ -d "$lock" ] && ! [ -w "$repo" ]; then
            printf 'pinproof: cannot write %s, where .venv is to be made; use a copy that is yours\n' "$repo" >&2
            return 1
        fi
        holder=$(cat "$lock/pid" 2>/dev/null || echo '')
        [ -n "$holder" ] && nameless=0 || nameless=$((nameless + 1))
        if [ "$nameless" -ge 25 ] || { [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; }; then
            # Looked at again: the holder may have ended well, and the lock be another's by now.
            [ "$(cat "$lock/pid" 2>/dev/null || echo '')" = "$holder" ] && rm -rf "$lock"
        elif [ "$waits" -eq 10 ]; then
            printf 'pinproof: waiting for process %s, which makes .venv (it ended? rm -rf %s)\n' "$holder" "$lock" >&2
        fi
        waits=$((waits + 1))
        sleep 0.2
    done
    trap 'rm -rf "$lock"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    echo $$ >"$lock/pid"
}

if ! is_ready; then
    take_lock || exit 5
    is_ready || make_venv || exit 5
    rm -rf "$lock"
    trap - EXIT INT TERM
fi
