/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DATABASE_NSIGHT_VIEWS_H
#define GMT_TOOLS_DATABASE_NSIGHT_VIEWS_H

/*
 * Views with the table names and columns of Nsight Systems' SQLite export (schema 3.16), so that
 * statements and scripts for that export also run here. Columns that recordings cannot fill are
 * null. There are no views of kernels, copies and calls of the CUDA API.
 */

/* The statements of SQL that create the views. They read the views of library/tables/tables.def. */
extern const char gmt_nsight_views[];

#endif
