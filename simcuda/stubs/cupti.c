/* SPDX-License-Identifier: MIT */
#include "stub.h"

/* 26: CUDA 12.9's. */
ANSWERS(cuptiGetVersion, 26)
