/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_COPY_H
#define SIMCUDA_COPY_H

#include "driver.h"

/* Whether all of the stretch is known memory. Takes the lock itself. */
bool sim_is_device_memory(CUdeviceptr address, size_t size_bytes);

#endif
