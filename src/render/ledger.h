/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_LEDGER_H
#define GMT_RENDER_LEDGER_H

/* The ledger of analysis/ledger/ledger.h in the report (docs/ledger.md). */

#include <stdio.h>

#include "analysis/ledger/ledger.h"
#include "render/json.h"
#include "render/console.h"

/*
 * Writes a paragraph for a device, at the end and at its peak. Writes nothing if the device has no
 * entries.
 */
void gmt_ledger_text(const struct gmt_ledger *ledger, int32_t device,
	const struct gmt_console *console);

/*
 * Writes, for a failed request, who held the memory that the process did not allocate itself:
 * "contexts, as measured 500 MiB, other processes, by NVML 1.00 GiB". Returns whether it wrote
 * anything.
 */
bool gmt_ledger_text_refusal(const struct gmt_ledger *ledger, int32_t device, size_t oom,
	FILE *file);

/* Writes the key "ledger" and its array: a row for each device, with "at_peak" inside. */
void gmt_ledger_json(const struct gmt_ledger *ledger, struct gmt_json *json);

/* Writes the key "ledger" of a failed request and its object, or null if there is no ledger. */
void gmt_ledger_json_refusal(const struct gmt_ledger *ledger, int32_t device, size_t oom,
	struct gmt_json *json);

#endif
