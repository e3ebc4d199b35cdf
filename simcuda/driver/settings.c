/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_identity.h"

static const uint64_t MINIMUM_BYTES = (uint64_t)2 << 20;
static const uint64_t MAXIMUM_BYTES = (uint64_t)1 << 46; /* half of a process's address space */
static const uint64_t DEFAULT_BYTES = (uint64_t)80 << 30;
static const uint64_t MAXIMUM_PROCESS_ID = 1 << 22; /* the highest process id of Linux */

/* Reads digits and, if `allow_suffix`, one of K, M, G, T (powers of 1024). Returns 0 on success. */
static int parse_number(const char *text, bool allow_suffix, uint64_t *ret_value)
{
	static const char suffixes[] = "KMGT";
	char *end;

	/* strtoull accepts "-1" and " 1", but a setting must begin with a digit. */
	if (!isdigit((unsigned char)text[0]))
		return -1;
	errno = 0;
	uint64_t value = strtoull(text, &end, 10);
	if (errno)
		return -1;
	if (allow_suffix && *end) {
		const char *suffix = strchr(suffixes, toupper((unsigned char)*end));
		if (!suffix)
			return -1;
		unsigned int shift = 10 * (unsigned int)(suffix - suffixes + 1);
		if (value > UINT64_MAX >> shift)
			return -1;
		value <<= shift;
		end++;
	}
	if (*end)
		return -1;
	*ret_value = value;
	return 0;
}

static uint64_t read_setting(const char *name, bool allow_suffix, uint64_t minimum,
	uint64_t maximum, uint64_t fallback)
{
	const char *text = getenv(name);
	uint64_t value;

	if (!text || !*text)
		return fallback;
	if (parse_number(text, allow_suffix, &value) == 0 && value >= minimum && value <= maximum)
		return value;
	fprintf(stderr, "simcuda: %s=%s is not a number from %llu to %llu%s: using %llu\n", name, text,
		(unsigned long long)minimum, (unsigned long long)maximum,
		allow_suffix ? " (K, M, G, T allowed)" : "", (unsigned long long)fallback);
	return fallback;
}

void sim_settings_read(struct sim_settings *ret_settings)
{
	ret_settings->device_count = (int)read_setting("SIMCUDA_DEVICES", false, 0, SIM_MAX_DEVICES, 1);
	ret_settings->capacity_bytes =
		read_setting("SIMCUDA_MEMORY", true, MINIMUM_BYTES, MAXIMUM_BYTES, DEFAULT_BYTES);
	ret_settings->driver_version =
		(int)read_setting("SIMCUDA_DRIVER_VERSION", false, 11030, 99990, 13020);
	ret_settings->context_bytes = read_setting("SIMCUDA_CONTEXT_MEMORY", true, 0, MAXIMUM_BYTES, 0);
	ret_settings->module_bytes = read_setting("SIMCUDA_MODULE_MEMORY", true, 0, MAXIMUM_BYTES, 0);
	ret_settings->is_module_lazy = read_setting("SIMCUDA_LAZY_MODULES", false, 0, 1, 0) != 0;
	ret_settings->is_unbacked = read_setting("SIMCUDA_HOLLOW", false, 0, 1, 0) != 0;
	ret_settings->is_limit_charged = read_setting("SIMCUDA_LIMIT_MEMORY", false, 0, 1, 0) != 0;
	/* At most the capacity, so that the free memory is never negative. */
	ret_settings->others_bytes =
		read_setting("SIMCUDA_OTHERS_MEMORY", true, 0, ret_settings->capacity_bytes, 0);
	ret_settings->process_id =
		(int)read_setting("SIMCUDA_PROCESS_ID", false, 0, MAXIMUM_PROCESS_ID, 0);
}
