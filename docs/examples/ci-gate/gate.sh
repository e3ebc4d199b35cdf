#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# usage: gate.sh [OPTION OF gpumemtrace check...]
#
# Records and checks the training script, and writes the files for CI into gate/. Accept the first run,
# and each change that needs more memory on purpose, with: gate.sh --update-baseline
set -euo pipefail

rm -rf gate
mkdir gate
gpumemtrace run -q -o 'gate/%e.%h.%p.gmt.gz' -- "${PYTHON:-python}" train.py
gpumemtrace check --limits gpumemtrace.limits --baseline gpumemtrace.baseline \
  --junit gate/gpu-memory.xml --sarif gate/gpu-memory.sarif "$@" gate/*.gmt.gz
