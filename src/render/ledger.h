/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_LEDGER_H
#define GMT_RENDER_LEDGER_H

/* The ledger of analysis/ledger/ledger.h, in the report (docs/ledger.md). */

#include <stdio.h>

#include "analysis/ledger/ledger.h"
#include "render/json.h"
#include "render/plain.h"

/* A paragraph for a device, at the end and at its peak; nothing for one without entries. */
void gmt_ledger_text(const struct gmt_ledger *ledger, int32_t device, const struct gmt_plain *plain);

/*
 * Of a failed request: who held what the process had not got itself (", contexts 500 MiB, other processes
 * 1.00 GiB"). Says whether there was anything to tell.
 */
bool gmt_ledger_text_refusal(const struct gmt_ledger *ledger, int32_t device, size_t oom, FILE *file);

/* The key "ledger" and its array: a row for each device, with "at_peak" inside. */
void gmt_ledger_json(const struct gmt_ledger *ledger, struct gmt_json *json);

/* The key "ledger" of a failed request, and its object; null where there is none. */
void gmt_ledger_json_refusal(const struct gmt_ledger *ledger, int32_t device, size_t oom, struct gmt_json *json);

#endif
