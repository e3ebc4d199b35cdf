#!/bin/sh
# SPDX-License-Identifier: MIT
# The command `gpumemtrace` of the wheel. It starts the program in the package of the same version, which is in a folder
# of Python's packages below the same prefix. Python itself would start ten times more slowly.
version=@VERSION@
self=$0
if [ -h "$self" ]; then
  self=$(readlink -f "$self")
fi
case $self in
*/*) bin=${self%/*} ;;
*) bin=. ;;
esac

for place in "$bin"/../lib*/python3*/*-packages "$bin"/../lib*/pypy3*/*-packages "$bin"/..; do
  if [ -d "$place/gpumemtrace-$version.dist-info" ] && [ -x "$place/gpumemtrace/bin/gpumemtrace" ]; then
    if [ ! -e @LOADER@ ]; then
      echo "gpumemtrace: cannot start: it needs 64-bit Linux with glibc; this system has no @LOADER@ (musl?)" >&2
      exit 1
    fi
    exec "$place/gpumemtrace/bin/gpumemtrace" "$@"
  fi
done
echo "gpumemtrace: its Python package, version $version, was not found near $bin: install it again, or try python -m gpumemtrace" >&2
exit 1
