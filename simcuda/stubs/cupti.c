/* SPDX-License-Identifier: MIT */
#include "stub.h"

/* 26: the version in CUDA 12.9. */
DEFINE_GET(cuptiGetVersion, 26)
