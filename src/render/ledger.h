/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_LEDGER_H
#define GMT_RENDER_LEDGER_H

/*
 * The ledger of analysis/ledger/ledger.h in the report (docs/ledger.md): text/ledger_text.c and
 * json/ledger_json.c.
 */

#include <stdio.h>

#include "analysis/ledger/ledger.h"
#include "render/json.h"
#include "render/console.h"

/*
 * Writes the ledger of a device: one column for the end of the recording, one for the device's
 * peak. Writes nothing if the device has no entries.
 */
void gmt_ledger_write_text(const struct gmt_ledger *ledger, int32_t device,
	const struct gmt_console *console);

/*
 * Writes, for a failed request, what held the memory that the process did not allocate itself:
 * "contexts, as measured 500 MiB, other processes, by NVML 1.00 GiB". Returns whether it wrote
 * anything.
 */
bool gmt_ledger_write_refusal_text(const struct gmt_ledger *ledger, int32_t device,
	size_t oom_index, FILE *file);

/* Writes the key "ledger" and its array: a row for each device, with "at_peak" inside. */
void gmt_ledger_write_json(const struct gmt_ledger *ledger, struct gmt_json *json);

/* Writes the key "ledger" of a failed request and its object, or null if there is no ledger. */
void gmt_ledger_write_refusal_json(const struct gmt_ledger *ledger, int32_t device,
	size_t oom_index, struct gmt_json *json);

#endif
