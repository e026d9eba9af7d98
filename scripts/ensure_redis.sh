#!/usr/bin/env bash
# Find redis-server, which the tests of `redis_streams` start, or install it; without it those tests are skipped.
set -euo pipefail

install_from_apt() {
  echo "redis-server was not found: installing it with apt-get." >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq || true
  apt-get install -y -qq --no-install-recommends redis-server >/dev/null 2>&1
}

command -v redis-server >/dev/null && exit 0

if [[ $(id -u) == 0 ]] && [[ -e /etc/debian_version ]] && command -v apt-get >/dev/null; then
  install_from_apt && command -v redis-server >/dev/null && exit 0
fi

echo "redis-server was not found and could not be installed: the tests of redis_streams will be skipped." >&2
