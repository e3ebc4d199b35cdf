/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_EXPORT_EXPORT_REPLAY_H
#define GMT_RENDER_EXPORT_EXPORT_REPLAY_H

/* What the formats of events share: the replay with the observer that writes. */

#include "render/export/export.h"

/* Replays the recording up to the end of the export, with one observer. Fails as gmt_replay_run. */
enum gmt_status gmt_export_replay(const struct gmt_export *export,
	const struct gmt_replay_observer *observer, struct gmt_error *error);

/* Returns whether the export includes the memory of a site. */
bool gmt_export_includes_site(const struct gmt_export *export, const struct gmt_replay *replay,
	uint32_t site);

#endif
