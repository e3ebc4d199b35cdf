# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# What the setup scripts share; they source it. Progress goes to stderr: stdout is for the answer.

setup_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_folder=$(cd "$setup_folder/../.." && pwd)
cache_folder=${GPUMEMTRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpumemtrace}

say() { printf '%s\n' "$*" >&2; }

die() {
  say "$(basename "$0"): $*"
  exit 1
}

# Debian's own Python where there is one, because scripts/setup/packages gives it venv and headers;
# a pyenv or conda Python first in PATH may lack either. GPUMEMTRACE_PYTHON overrides.
find_python() {
  if [ -n "${GPUMEMTRACE_PYTHON:-}" ]; then
    command -v "$GPUMEMTRACE_PYTHON" || die "GPUMEMTRACE_PYTHON=$GPUMEMTRACE_PYTHON: no such program"
  elif [ -x /usr/bin/python3 ]; then
    echo /usr/bin/python3
  else
    command -v python3 || die 'no python3: run scripts/setup/packages'
  fi
}

# Waits for other runs that fill the same folder, and keeps them out until this script ends.
lock_folder() {
  mkdir -p "$(dirname "$1")"
  exec 9>"$1.lock"
  if ! flock --nonblock 9; then
    say "waiting for another setup of $1"
    flock 9
  fi
}
