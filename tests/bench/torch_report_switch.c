/* SPDX-License-Identifier: MIT */
/*
 * This library is preloaded in front of the recorder. It receives PyTorch's reports of its blocks.
 * training_turns.py sets whether they go to the recorder, or directly to PyTorch's own function. So
 * recorded and unrecorded steps of one process can be compared.
 */
#include <stddef.h>
#include <stdint.h>

/* c10::Device, in the layout in which PyTorch passes it. */
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

/* With -O2 the call is a jump, so the called function sees PyTorch as its caller. */
void bench_report(void *address, int64_t size_bytes, size_t allocated_bytes, size_t reserved_bytes,
	struct device device)
{
	if (reports_to)
		reports_to(address, size_bytes, allocated_bytes, reserved_bytes, device);
}
