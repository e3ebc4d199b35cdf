/* SPDX-License-Identifier: MIT */
#include "analysis/compare/diff.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"

/* Lists differences between two recordings that make their comparison less reliable. */

/* Collects the texts. */
struct lister {
	struct gmt_diff *diff;
	const struct gmt_recording *base, *now; /* `now`: the new recording */
	bool failed; /* memory is exhausted */
};

static void add(struct lister *lister, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct lister *lister, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);

	char *text = gmt_arena_vprint(&lister->diff->arena, format, arguments);

	va_end(arguments);

	const char **slot = text ? gmt_vec_push(&lister->diff->uncertainties) : NULL;
	if (slot)
		*slot = text;
	else
		lister->failed = true;
}

static void check_completeness(struct lister *lister)
{
	if (!gmt_recording_complete(lister->base))
		add(lister, "the base recording is incomplete: its missing memory shows as new or grown");
	if (!gmt_recording_complete(lister->now))
		add(lister, "the new recording is incomplete: its missing memory shows as gone or shrunk");
}

static const char *argument(const struct gmt_recording *recording, size_t index)
{
	return index < recording->command.count ? recording->command.items[index] : NULL;
}

/* Reports only the first differing argument. The user can compare the two commands. */
static void check_command(struct lister *lister)
{
	const struct gmt_recording *base = lister->base, *now = lister->now;
	const char *left, *right;

	/* An import has no command. */
	if (gmt_recording_is_imported(base) || gmt_recording_is_imported(now))
		return;
	for (size_t i = 0; (left = argument(base, i), right = argument(now, i), left || right); i++)
		if (!left || !right || strcmp(left, right) != 0) {
			add(lister, "the commands differ; the first difference is `%.200s` and `%.200s`",
				left ? left : "(nothing)", right ? right : "(nothing)");
			return;
		}
	if (!base->command.count && strcmp(base->executable, now->executable) != 0)
		add(lister, "the programs differ: %.300s and %.300s", base->executable, now->executable);
}

static bool has_key(const struct gmt_option *option, const struct gmt_slice *key)
{
	return option->key.length == key->length &&
		memcmp(option->key.text, key->text, key->length) == 0;
}

static const struct gmt_option *find_option(const struct gmt_recording *recording,
	const struct gmt_slice *key)
{
	for (size_t i = 0; i < recording->options.count; i++)
		if (has_key(&recording->options.items[i], key))
			return &recording->options.items[i];
	return NULL;
}

/*
 * Reports options of the recorder that change what it records. An option that only one recorder has
 * is ignored: it comes from a different version.
 */
static void check_options(struct lister *lister)
{
	static const char *const options_without_effect[] = { "output", "verbosity", "help", "overflow",
		"exports" };

	for (size_t i = 0; i < lister->base->options.count; i++) {
		const struct gmt_option *left = &lister->base->options.items[i];
		const struct gmt_option *right = find_option(lister->now, &left->key);
		bool matters = right &&
			(left->value.length != right->value.length ||
				memcmp(left->value.text, right->value.text, left->value.length) != 0);

		for (size_t h = 0;
			matters && h < sizeof(options_without_effect) / sizeof(*options_without_effect); h++)
			matters = strcmp(left->key.text, options_without_effect[h]) != 0;
		if (matters)
			add(lister, "the recorder's options differ: %.60s is `%.100s` and `%.100s`",
				left->key.text, left->value.text, right->value.text);
	}
}

static void check_devices(struct lister *lister)
{
	const struct gmt_recording *base = lister->base, *now = lister->now;

	/* An import may know only the numbers of the GPUs. */
	if (base->devices.count != now->devices.count && !gmt_recording_is_imported(base) &&
		!gmt_recording_is_imported(now))
		add(lister, "the base recording has %zu GPUs, the new recording %zu", base->devices.count,
			now->devices.count);
	for (size_t i = 0; i < base->devices.count; i++) {
		const struct gmt_device *left = &base->devices.items[i];
		const struct gmt_device *right = gmt_recording_device(now, left->ordinal);

		if (right &&
			(strcmp(left->name.text, right->name.text) != 0 ||
				left->total_bytes != right->total_bytes))
			add(lister, "GPU %u differs: %.100s with %s and %.100s with %s", left->ordinal,
				left->name.text, gmt_text_size(left->total_bytes).text, right->name.text,
				gmt_text_size(right->total_bytes).text);
	}
}

/*
 * Returns whether some account has both a new row and a row that is gone. The two may be one line
 * under two names.
 */
static bool can_be_renamed(const struct gmt_diff *diff)
{
	for (size_t i = 0; i < diff->accounts.count; i++)
		if (diff->accounts.items[i].changes[GMT_DIFF_ADDED] &&
			diff->accounts.items[i].changes[GMT_DIFF_GONE])
			return true;
	return false;
}

static void check_processes(struct lister *lister)
{
	const struct gmt_recording *base = lister->base, *now = lister->now;
	const char *left = strrchr(base->directory, '/'), *right = strrchr(now->directory, '/');

	if (base->process.rank != now->process.rank)
		add(lister, "the ranks differ: %d and %d", base->process.rank, now->process.rank);
	if (gmt_recording_is_imported(base) != gmt_recording_is_imported(now))
		add(lister,
			"the %s recording was imported from %.100s, which may lack memory and stacks that a "
			"recorder sees",
			gmt_recording_is_imported(base) ? "base" : "new",
			gmt_recording_is_imported(base) ? base->imported_from : now->imported_from);
	if (strcmp(base->recorder_version, now->recorder_version) != 0)
		add(lister, "the recorders differ: versions %.60s and %.60s", base->recorder_version,
			now->recorder_version);
	if (*base->directory && *now->directory && strcmp(left ? left : "", right ? right : "") != 0 &&
		can_be_renamed(lister->diff))
		add(lister,
			"the working directories differ, %.200s and %.200s: one source file can have two names",
			base->directory, now->directory);
	if (base->process.start_time_ns > now->process.start_time_ns)
		add(lister,
			"the base recording is newer than the new recording: check the order of the two files");
}

/* If one run is twice as long, totals and counts cannot be compared. Peaks still can. */
static void check_lengths(struct lister *lister)
{
	uint64_t left = lister->base->seen_events, right = lister->now->seen_events;

	if (left > right * 2 || right > left * 2)
		add(lister, "one recording is much longer (%s and %s events): compare peaks, not totals",
			gmt_text_count(left).text, gmt_text_count(right).text);
}

/* Returns how many tenths of the distinct native addresses have names. */
static unsigned named_tenths(const struct gmt_traces *traces)
{
	return traces->addresses ? (unsigned)(traces->named * 10 / traces->addresses) : 10;
}

static void check_names(struct lister *lister)
{
	const struct gmt_traces *left = lister->diff->sides[GMT_DIFF_BASE].traces;
	const struct gmt_traces *right = lister->diff->sides[GMT_DIFF_NEW].traces;
	unsigned from = named_tenths(left), to = named_tenths(right);

	if (from > to + 1 || to > from + 1)
		add(lister,
			"%s of %s native addresses of the base have names, and %s of %s of the new recording: "
			"one native line can have two names (use --symbol-path)",
			gmt_text_count(left->named).text, gmt_text_count(left->addresses).text,
			gmt_text_count(right->named).text, gmt_text_count(right->addresses).text);
}

bool gmt_diff_list_uncertain(struct gmt_diff *diff)
{
	struct lister lister = {
		.diff = diff,
		.base = diff->sides[GMT_DIFF_BASE].recording,
		.now = diff->sides[GMT_DIFF_NEW].recording,
	};

	check_completeness(&lister);
	check_command(&lister);
	check_options(&lister);
	check_devices(&lister);
	check_processes(&lister);
	check_lengths(&lister);
	check_names(&lister);
	return !lister.failed;
}
