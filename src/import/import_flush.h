/* SPDX-License-Identifier: MIT */
#ifndef GMT_IMPORT_IMPORT_FLUSH_H
#define GMT_IMPORT_IMPORT_FLUSH_H

/* Writes the rows that wait for a full block. Internal to the import writer. */

#include "import/import_writer.h"

/* Writes all rows that wait. Returns false if the writer has failed. */
bool gmt_import_flush(struct gmt_import_writer *writer);

/* Writes all rows that wait if a kind has `waiting` rows, and these are enough for a block. */
bool gmt_import_make_room(struct gmt_import_writer *writer, size_t waiting);

#endif
