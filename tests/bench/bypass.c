/* SPDX-License-Identifier: MIT */
/*
 * Preloaded in front of the recorder, it takes what PyTorch reports of its blocks, and hands it to
 * the recorder, or past it to PyTorch's own function, as it is told (training_turns.py): so the
 * steps of one process can be compared.
 */
#include <stddef.h>
#include <stdint.h>

/* c10::Device, as it is passed. */
struct device {
	int8_t type, index;
};

typedef void report(void *address, int64_t size_bytes, size_t allocated_bytes,
	size_t reserved_bytes, struct device device);

static report *reports_to;

void bench_report_to(report *function)
{
	reports_to = function;
}

report bench_report __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

/* A jump when compiled with -O2: who is called sees PyTorch as its caller. */
void bench_report(void *address, int64_t size_bytes, size_t allocated_bytes, size_t reserved_bytes,
	struct device device)
{
	if (reports_to)
		reports_to(address, size_bytes, allocated_bytes, reserved_bytes, device);
}
