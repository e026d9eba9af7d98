#!/usr/bin/env bash
# Ensure that Spark finds Java 17 or newer: in JAVA_HOME, otherwise on the PATH, otherwise from the package manager.
set -euo pipefail

needed=17

# Print the major version of a java binary, or 0 if it does not run.
major() {
  local line
  line=$("$1" -version 2>&1 | grep -m 1 ' version "') || { echo 0; return; }
  line=${line#*\"}
  echo "${line%%[!0-9]*}"
}

fail() {
  echo "$1" >&2
  exit 1
}

install_from_apt() {
  echo "Java $needed was not found: installing it with apt-get." >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq || true
  local package
  for package in openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless; do
    apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 && return
  done
  return 1
}

# Spark prefers JAVA_HOME to the PATH, so a wrong one must not be ignored silently.
if [[ -n "${JAVA_HOME:-}" ]]; then
  (($(major "$JAVA_HOME/bin/java") >= needed)) && exit 0
  fail "Windrow needs Java $needed or newer, and JAVA_HOME ($JAVA_HOME) has none: set it to one, or unset it."
fi

if command -v java >/dev/null && (($(major java) >= needed)); then
  exit 0
fi

if [[ $(id -u) == 0 ]] && [[ -e /etc/debian_version ]] && command -v apt-get >/dev/null; then
  install_from_apt && command -v java >/dev/null && (($(major java) >= needed)) && exit 0
fi

fail "Windrow needs Java $needed or newer: install it (Debian, Ubuntu: openjdk-17-jre-headless; elsewhere any OpenJDK 17 or 21) and put it on the PATH or in JAVA_HOME."
