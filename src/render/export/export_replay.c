/* SPDX-License-Identifier: MIT */
#include "render/export/export_replay.h"

enum gmt_status gmt_export_replay(const struct gmt_export *export,
	const struct gmt_replay_observer *observer, struct gmt_error *error)
{
	const struct gmt_replay_options options = {
		.until_ns = export->until_ns, .observers = observer, .observer_count = 1
	};
	struct gmt_replay replay = { 0 };
	enum gmt_status status =
		gmt_replay_run(&replay, export->recording, export->traces, &options, error);

	gmt_replay_fini(&replay);
	return status;
}

bool gmt_export_includes_site(const struct gmt_export *export, const struct gmt_replay *replay,
	uint32_t site)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	const struct gmt_account *account =
		&accounting->accounts.items[accounting->sites.items[site].account];

	return gmt_profile_includes(&export->choice, account->layer, account->device);
}
