#!/usr/bin/env bash
# Print the path of a Python of this version, as in `find_python.sh 3.13`: on the PATH, or installed by pyenv.
set -euo pipefail

version=$1

for python in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
  # pyenv puts commands on the PATH that fail unless their version is selected.
  if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    command -v "$python"
    exit
  fi
done
echo "Python $version was not found: install it, or name its command in PYTHON_NEWEST." >&2
exit 1
