/* SPDX-License-Identifier: MIT */
/*
 * Opens files with the fastest inflater of this machine. Separate from source.c, because the
 * recorder links only source.c: it must never load another library into its host.
 */
#include "format/encoding/inflate.h"
#include "source/source.h"

enum gmt_status gmt_source_open_descriptor(int fd, const char *path,
	struct gmt_shared_recording *shared_recording, struct gmt_source **ret_source,
	struct gmt_error *error)
{
	const struct gmt_inflater *isal = gmt_inflater_isal();

	return gmt_source_open_file(isal ? isal : &gmt_inflater_zlib, fd, path, shared_recording,
		ret_source, error);
}

enum gmt_status gmt_source_open_with(const char *path,
	struct gmt_shared_recording *shared_recording, struct gmt_source **ret_source,
	struct gmt_error *error)
{
	return gmt_source_open_descriptor(-1, path, shared_recording, ret_source, error);
}

enum gmt_status gmt_source_open(const char *path, struct gmt_source **ret_source,
	struct gmt_error *error)
{
	return gmt_source_open_with(path, NULL, ret_source, error);
}
