/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_DEVICE_IDENTITY_H
#define SIMCUDA_DEVICE_IDENTITY_H

/* The identity of a device, which the driver and the management library both report. */

#include <string.h>

#define SIM_DEVICE_NAME "Simulated GPU"

enum {
	SIM_MAX_DEVICES = 16,
	SIM_UUID_BYTES = 16,
};

/* The UUIDs of two devices differ, and are the same in every run. The last byte is the ordinal. */
static inline void sim_uuid(int ordinal, unsigned char ret_bytes[static SIM_UUID_BYTES])
{
	memcpy(ret_bytes, "simulated-gpu-0", SIM_UUID_BYTES - 1);
	ret_bytes[SIM_UUID_BYTES - 1] = (unsigned char)ordinal;
}

#endif
