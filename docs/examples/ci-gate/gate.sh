#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# usage: gate.sh [OPTION OF gpumemtrace check...]
#
# Records the training script and judges what it did; what CI keeps lies in gate/ then. The first run,
# and each change that is meant to need more, is accepted with: gate.sh --update-baseline
set -euo pipefail

rm -rf gate
mkdir gate
gpumemtrace run -q -o 'gate/%e.%h.%p.gmt.gz' -- "${PYTHON:-python}" train.py
gpumemtrace check --limits gpumemtrace.limits --baseline gpumemtrace.baseline \
  --junit gate/gpu-memory.xml --sarif gate/gpu-memory.sarif "$@" gate/*.gmt.gz
