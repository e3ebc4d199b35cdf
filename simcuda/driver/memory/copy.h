/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_COPY_H
#define SIMCUDA_COPY_H

#include "driver.h"

/* Returns whether the whole range is memory that the driver knows. Takes the lock itself. */
bool sim_is_device_memory(CUdeviceptr address, size_t size_bytes);

#endif
