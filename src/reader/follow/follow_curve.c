/* SPDX-License-Identifier: MIT */
#include "reader/follow/follow_curve.h"

void gmt_follow_curve_set(struct gmt_follow_curve *curve, uint32_t second, uint64_t live_bytes)
{
	uint64_t *value = &curve->max_bytes[second % GMT_FOLLOW_CURVE_SECONDS];

	if (second > curve->second) {
		uint32_t missing = second - curve->second;

		if (missing > GMT_FOLLOW_CURVE_SECONDS)
			missing = GMT_FOLLOW_CURVE_SECONDS;
		/* Nothing changed in the seconds between; the new second begins with what was live. */
		for (uint32_t i = 0; i < missing; i++)
			curve->max_bytes[(second - i) % GMT_FOLLOW_CURVE_SECONDS] = curve->live_bytes;
		curve->second = second;
	}
	if (*value < live_bytes)
		*value = live_bytes;
	curve->live_bytes = live_bytes;
}

uint64_t gmt_follow_curve_at(const struct gmt_follow_curve *curve, uint32_t second, uint32_t now)
{
	if (second > now || now - second >= GMT_FOLLOW_CURVE_SECONDS)
		return 0;
	if (second > curve->second)
		return curve->live_bytes;
	return curve->second - second < GMT_FOLLOW_CURVE_SECONDS
		? curve->max_bytes[second % GMT_FOLLOW_CURVE_SECONDS]
		: 0;
}
