/* SPDX-License-Identifier: MIT */
#include "analysis/leaks/rise.h"

#include <math.h>

#include "analysis/leaks/slope.h"
#include "containers/vec.h"

enum {
	MIN_RISES = 3,     /* fewer rises have no meaning */
	FEW_RISES = 8,       /* at most this many rises are judged by their distances */
	MANY_RISES = 12,     /* with this many rises, each quarter of the steps has a rate */
	LATE_SAMPLES = 10,   /* least length of a rise that begins late */
	/* A curve with teeth rises if it has this many bottoms, each above the previous bottom. */
	MIN_BOTTOMS = 5,
};

static const double SURE = 0.9999; /* least confidence that a curve with ups and downs rises */
/* Standard deviations. Evenly spaced rises exceed this once in a thousand times. */
static const double MIN_RARER_DEVIATIONS = 3.1;
static const double MAX_FLATTENING_EXPONENT =
	0.75;     /* largest exponent of a curve that becomes flat */

struct search {
	const struct gmt_rise_curve *curve;
	GMT_VEC(uint64_t) kept; /* by sample: the least that is held from there on */
	GMT_VEC(size_t) rises;  /* samples of the range that kept more than the sample before */
	size_t first, last;     /* the range that is judged */
	bool is_from_start;     /* it rises from the end of the warm-up on */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool find_kept(struct search *search, uint64_t later_bytes)
{
	const struct gmt_rise_curve *curve = search->curve;
	uint64_t min = later_bytes;

	if (!gmt_vec_reserve(&search->kept, curve->count + 1) ||
		!gmt_vec_reserve(&search->rises, curve->count + 1))
		return false;
	search->kept.count = curve->count;
	for (size_t i = curve->count; i-- > 0;) {
		min = smaller(min, curve->held[i]);
		search->kept.items[i] = min;
		min = smaller(min, curve->low[i]);
	}
	return true;
}

static void find_rises(struct search *search)
{
	search->rises.count = 0;
	for (size_t i = search->first + 1; i <= search->last; i++)
		if (search->kept.items[i] > search->kept.items[i - 1])
			search->rises.items[search->rises.count++] = i;
}

static uint64_t rise_between(const struct search *search, size_t from, size_t to)
{
	return search->kept.items[to] - search->kept.items[from];
}

/* Returns the largest amount held above what was kept. */
static uint64_t max_bytes_above_kept(const struct search *search)
{
	uint64_t max = 0;

	for (size_t i = search->first; i <= search->last; i++) {
		uint64_t above = search->curve->held[i] - search->kept.items[i];

		max = above > max ? above : max;
	}
	return max;
}

/*
 * Returns the last sample where the curve fell by about as much as it has risen since. Returns
 * `first` if there is no such sample.
 */
static size_t last_large_fall(const struct search *search)
{
	const struct gmt_rise_curve *curve = search->curve;

	for (size_t i = search->last; i > search->first; i--) {
		uint64_t before = curve->held[i - 1], low = smaller(curve->low[i], curve->held[i]);
		uint64_t since =
			search->kept.items[search->last] > low ? search->kept.items[search->last] - low : 0;

		if (before > low && before - low >= since - since / 4 && since)
			return i;
	}
	return search->first;
}

static bool is_geometric(const struct search *search)
{
	const size_t *rises = search->rises.items;

	for (size_t i = 1; i < search->rises.count; i++)
		if (rise_between(search, rises[i] - 1, rises[i]) * 4 <
			rise_between(search, rises[i - 1] - 1, rises[i - 1]) * 5)
			return false;
	return search->rises.count <= FEW_RISES;
}

/*
 * Returns whether the rises are even. No gap is more than twice another, no rise is more than twice
 * another, and the next rise is not overdue.
 */
static bool is_even(const struct search *search)
{
	const size_t *rises = search->rises.items;
	size_t count = search->rises.count, shortest = SIZE_MAX, longest = 0;
	uint64_t min = UINT64_MAX, max = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = rise_between(search, rises[i] - 1, rises[i]);
		size_t gap = i ? rises[i] - rises[i - 1] : rises[1] - rises[0];

		shortest = gap < shortest ? gap : shortest;
		longest = gap > longest ? gap : longest;
		min = smaller(bytes, min);
		max = bytes > max ? bytes : max;
	}
	return longest <= 2 * shortest && max <= 2 * min &&
		search->last - rises[count - 1] <= longest + longest / 2;
}

/*
 * Returns whether the rises are those of a doubling buffer. Its gaps grow as its rises do, and the
 * next rise is not overdue.
 */
static bool grows_geometrically(const struct search *search)
{
	const size_t *rises = search->rises.items;
	size_t count = search->rises.count, last_gap = rises[count - 1] - rises[count - 2];
	double larger = (double)rise_between(search, rises[count - 1] - 1, rises[count - 1]) /
		(double)rise_between(search, rises[0] - 1, rises[0]);

	return is_geometric(search) &&
		(double)last_gap <= 1.5 * larger * (double)(rises[1] - rises[0]) &&
		(double)(search->last - rises[count - 1]) <= 2.2 * (double)last_gap;
}

static bool are_regular(const struct search *search)
{
	return is_even(search) || grows_geometrically(search);
}

/*
 * Returns whether rises occur in only some of the steps, and the later half of the rises took much
 * longer than the first half.
 */
static bool come_slower(const struct search *search)
{
	const size_t *rises = search->rises.items;
	size_t count = search->rises.count, middle = rises[count / 2];

	return count * 5 < (search->last - search->first) * 3 &&
		search->last - middle > 2 * (middle - rises[0] + 1);
}

/*
 * Tests whether rises become rarer from the first step on. Examples are new words of a text, or
 * classes that appear late. The model is a power of time: bytes until t = a * t^b. Evenly spaced
 * rises have b = 1. Then the mean of log(last / t) over the rises is 1, with a variance of 1 /
 * rises. This is Crow's test of growing reliability, with each rise weighted by its bytes. The
 * warm-up counts here, because a cache fills fastest at its beginning.
 */
static bool come_rarer(const struct search *search, const uint64_t *quarters)
{
	double bytes = 0, squares = 0, logs = 0, mean;

	if (quarters[3] > quarters[0] || quarters[3] > quarters[1] || quarters[3] > quarters[2] ||
		3 * (quarters[2] + quarters[3]) > 2 * (quarters[0] + quarters[1]))
		return false;
	for (size_t i = 1; i <= search->last; i++) {
		double rise = (double)rise_between(search, i - 1, i);

		if (rise <= 0)
			continue;
		bytes += rise;
		squares += rise * rise;
		logs += rise * log((double)search->last / ((double)i - 0.5));
	}
	mean = logs / bytes;
	return mean * MAX_FLATTENING_EXPONENT >= 1 &&
		(mean - 1) * bytes / sqrt(squares) >= MIN_RARER_DEVIATIONS;
}

/*
 * Returns whether many rises become smaller: the last quarter of the steps brought much less than
 * an earlier quarter, and the second half less than the first. False if the last three quarters
 * brought about the same. Then something filled up next to a growth that continues.
 */
static bool tails_off(const struct search *search)
{
	size_t length = search->last - search->first;
	uint64_t quarters[4], max = 0, min = UINT64_MAX;
	size_t later_rises = 0;

	for (size_t i = 0; i < search->rises.count; i++)
		later_rises += search->rises.items[i] > search->first + length / 4;
	for (size_t q = 0; q < 4; q++)
		quarters[q] = rise_between(search, search->first + length * q / 4,
			search->first + length * (q + 1) / 4);
	for (size_t q = 1; q < 4; q++) {
		max = quarters[q] > max ? quarters[q] : max;
		min = smaller(quarters[q], min);
	}
	if (later_rises >= MANY_RISES && min && max <= min + min / 3)
		return false;
	max = quarters[0] > max ? quarters[0] : max;
	return come_slower(search) || come_rarer(search, quarters) ||
		((double)quarters[3] < 0.35 * (double)max &&
			quarters[2] + quarters[3] < quarters[0] + quarters[1]);
}

/* Returns whether each bottom of a curve with teeth lies above the previous bottom. */
static bool do_local_minima_rise(const struct search *search)
{
	const struct gmt_rise_curve *curve = search->curve;
	uint64_t before = 0;
	size_t bottoms = 0;

	for (size_t i = search->first + 1; i < search->last; i++) {
		uint64_t low = smaller(curve->low[i], curve->held[i]);

		if (curve->held[i - 1] <= low || curve->held[i + 1] <= low)
			continue;
		if (bottoms && low <= before)
			return false;
		before = low;
		bottoms++;
	}
	return bottoms >= MIN_BOTTOMS;
}

/*
 * Sets *ret_sure if ups and downs cannot have made the rise. Compares the rise with the height of
 * the teeth. False when out of memory.
 */
static bool is_sure(const struct search *search, uint64_t bytes, struct gmt_slope *ret_slope,
	bool *ret_sure)
{
	uint64_t height = max_bytes_above_kept(search);

	if (!gmt_slope_of(search->curve->held + search->first, search->last - search->first + 1,
			ret_slope))
		return false;
	*ret_sure = !height || (ret_slope->confidence >= SURE && bytes >= height / 2) ||
		do_local_minima_rise(search);
	return true;
}

/* Removes from the range a beginning in which nothing was kept. */
static void begin_late(struct search *search)
{
	size_t first = search->rises.items[0] - 1;

	if (first > search->first) {
		search->first = first;
		find_rises(search);
	}
}

static double rate_between(const struct search *search, size_t from, size_t to)
{
	return (double)rise_between(search, from, to) / (double)(to - from);
}

static bool are_alike(double a, double b, double tolerance)
{
	return a - b <= tolerance * a && b - a <= tolerance * a;
}

/*
 * Returns the growth per sample. It is measured from the first rise to the last one, so the times
 * before and after do not count. If the curve rose faster at the beginning and evenly later, a
 * window filled at the same time: then only the even part counts. If it rises faster and faster,
 * the whole run counts.
 */
static double rate_of(const struct search *search)
{
	const size_t *rises = search->rises.items;
	size_t count = search->rises.count, last = rises[count - 1], third, fourth;
	double mean = rate_between(search, rises[0], last), later;

	/*
	 * A doubling buffer already has room for later data. So the rate is its total divided by the
	 * samples until now.
	 */
	if (is_geometric(search))
		return (double)search->kept.items[last] / (double)(search->last + 1);
	if (count < MANY_RISES)
		return mean;
	third = rises[count / 2];
	fourth = rises[count * 3 / 4];
	later = rate_between(search, third, last);
	if (are_alike(mean, later, 0.005) ||
		!are_alike(rate_between(search, third, fourth), rate_between(search, fourth, last), 0.05))
		return later > 1.2 * mean && search->is_from_start
			? rate_between(search, 0, search->curve->count - 1)
			: mean;
	return later;
}

/*
 * Returns the rate if nearly every sample rises, by different amounts, and both halves bring the
 * same. The range may begin or end anywhere between a small rise and a large one, so the mean can
 * be wrong by one rise. The median of all slopes is not.
 */
static double dense_rate_of(const struct search *search, double mean, double median)
{
	size_t middle = search->first + (search->last - search->first) / 2;
	double half_samples = (double)(middle - search->first), max = 0;

	for (size_t i = search->first + 1; i <= search->last; i++)
		max = fmax(max, (double)rise_between(search, i - 1, i));
	return search->rises.count * 4 >= (search->last - search->first) * 3 &&
			fabs(median - mean) * 2 * half_samples <= max &&
			fabs(rate_between(search, search->first, middle) -
				rate_between(search, middle, search->last)) *
					half_samples <=
				max
		? median
		: mean;
}

/*
 * Returns whether there are few regular rises, some of them in the warm-up: a doubling buffer, or
 * one copy for each epoch.
 */
static bool is_regular_from_start(struct search *search)
{
	search->first = 0;
	find_rises(search);
	return search->rises.count >= MIN_RISES && search->rises.count <= FEW_RISES &&
		are_regular(search);
}

static bool are_few(const struct search *search)
{
	return search->rises.count <= FEW_RISES &&
		search->rises.count * 2 < search->last - search->first;
}

static enum gmt_rise_kind kind_of(struct search *search)
{
	bool is_late;

	find_rises(search);
	if (search->rises.count < MIN_RISES)
		return search->rises.count && is_regular_from_start(search) ? GMT_RISE_GROWS
																	: GMT_RISE_NONE;
	is_late = search->rises.items[0] - 1 - search->first > (search->last - search->first) / 4;
	search->is_from_start = search->rises.items[0] == search->first + 1;
	begin_late(search);
	if (is_late && search->last - search->first < LATE_SAMPLES)
		return GMT_RISE_NONE;
	if (are_few(search))
		return are_regular(search) ? GMT_RISE_GROWS : GMT_RISE_FILLS;
	return tails_off(search) ? GMT_RISE_FILLS : GMT_RISE_GROWS;
}

/*
 * Judges the range from first to last. Leaves out an unfinished tooth at its end. False when out of
 * memory.
 */
static bool judge(struct search *search, struct gmt_rise *ret_rise)
{
	struct gmt_slope slope;
	bool sure = false, had_tooth;
	size_t bottom = last_large_fall(search);

	had_tooth = bottom > search->first;
	if (had_tooth)
		search->last = bottom;
	ret_rise->kind = kind_of(search);
	if (ret_rise->kind == GMT_RISE_GROWS || ret_rise->kind == GMT_RISE_FILLS) {
		ret_rise->first = search->first;
		while (!search->kept.items[ret_rise->onset] && ret_rise->onset < search->last)
			ret_rise->onset++;
		ret_rise->last = search->last;
		ret_rise->last_rise = search->rises.items[search->rises.count - 1];
		ret_rise->rises = search->rises.count;
		ret_rise->are_few = are_few(search);
		ret_rise->is_geometric = is_geometric(search);
		ret_rise->bytes = rise_between(search, search->first, search->last);
		ret_rise->per_sample = rate_of(search);
		if (!is_sure(search, ret_rise->bytes, &slope, &sure))
			return false;
		if (!max_bytes_above_kept(search))
			ret_rise->per_sample = dense_rate_of(search, ret_rise->per_sample, slope.per_step);
		if (!sure && ret_rise->kind == GMT_RISE_GROWS)
			ret_rise->kind = GMT_RISE_NONE;
	}
	if (had_tooth && ret_rise->kind == GMT_RISE_NONE)
		ret_rise->kind = GMT_RISE_ENDS;
	return true;
}

static bool judge_with(struct search *search, uint64_t later_bytes, struct gmt_rise *ret_rise)
{
	const struct gmt_rise_curve *curve = search->curve;

	*ret_rise = (struct gmt_rise){ 0 };
	search->first = curve->first;
	search->last = curve->count - 1 - curve->margin;
	return find_kept(search, later_bytes) && judge(search, ret_rise);
}

bool gmt_rise_of(const struct gmt_rise_curve *curve, struct gmt_rise *ret_rise)
{
	struct search search = { .curve = curve };
	struct gmt_rise without_later_frees;
	bool done = true;

	*ret_rise = (struct gmt_rise){ 0 };
	if (curve->count < curve->first + curve->margin + MIN_RISES + 1)
		return true;
	done = judge_with(&search, curve->later_bytes, ret_rise);
	/* It would have been growth if the program had not freed it. */
	if (done && ret_rise->kind == GMT_RISE_NONE &&
		curve->later_bytes < curve->held[curve->count - 1]) {
		done = judge_with(&search, UINT64_MAX, &without_later_frees);
		if (done && without_later_frees.kind == GMT_RISE_GROWS) {
			*ret_rise = without_later_frees;
			ret_rise->kind = GMT_RISE_ENDS;
		}
	}
	gmt_vec_fini(&search.kept);
	gmt_vec_fini(&search.rises);
	return done;
}
