/* SPDX-License-Identifier: MIT */
#include "runtime.h"

struct sim_driver_calls sim_driver_calls;
