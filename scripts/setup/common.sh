# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# Functions and variables for the setup scripts, which source this file. Progress goes to stderr, results to stdout.

setup_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_folder=$(cd "$setup_folder/../.." && pwd)
cache_folder=${GPUMEMTRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpumemtrace}

say() { printf '%s\n' "$*" >&2; }

die() {
  say "$(basename "$0"): $*"
  exit 1
}

# Prints the Python to use: GPUMEMTRACE_PYTHON, else Debian's, else the first in PATH. Debian's has venv and headers,
# because scripts/setup/packages installs them. A Python of pyenv or conda may lack them.
find_python() {
  if [ -n "${GPUMEMTRACE_PYTHON:-}" ]; then
    command -v "$GPUMEMTRACE_PYTHON" || die "GPUMEMTRACE_PYTHON=$GPUMEMTRACE_PYTHON: no such program"
  elif [ -x /usr/bin/python3 ]; then
    echo /usr/bin/python3
  else
    command -v python3 || die 'no python3: run scripts/setup/packages'
  fi
}

# Locks a folder until this script ends. Waits until no other run holds the lock.
lock_folder() {
  mkdir -p "$(dirname "$1")"
  exec 9>"$1.lock"
  if ! flock --nonblock 9; then
    say "waiting for another setup of $1"
    flock 9
  fi
}
