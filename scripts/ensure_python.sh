#!/usr/bin/env bash
# Report in one line what is missing if this Python cannot create the virtual environment.
set -euo pipefail

python=${1:-python3}

fail() {
  echo "$1" >&2
  exit 1
}

command -v "$python" >/dev/null || fail "Windrow needs Python 3.11 or newer: '$python' was not found (make PYTHON=... names another)."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "Windrow needs Python 3.11 or newer: '$python' is $("$python" -V 2>&1) (make PYTHON=... names another)."
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  fail "'$python' cannot make virtual environments: install its venv module (Debian, Ubuntu: apt-get install python3-venv)."
