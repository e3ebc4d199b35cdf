/* SPDX-License-Identifier: MIT */
#include "capture/recall.h"

#include <stddef.h>
#include <string.h>

#include "capture/walk_places.h"

/*
 * A part of a stack: frames that were put before a remembered one, the joint. Behind it come the addresses of its frames,
 * innermost first; the values of frame pointers that matter, in the same order; the places of the frames; and where the
 * frame pointers were read. From `outer_hash` on, equal parts have equal bytes.
 */
struct part {
	uint32_t id, module_generation; /* of gmt_walk, when this part was on the stack last */
	uint32_t next[GMT_RECALL_GUESSES]; /* parts that came behind it, the last one first; 0: none */
	uint32_t words;                 /* of all this */
	uint64_t outer_hash;            /* of the stack from the joint outwards */
	uint64_t joint_address;
	uint64_t joint_fp;       /* if it matters; else 0 */
	uint32_t joint_place;    /* as gmt_walk::places */
	uint32_t joint_fp_place; /* where that frame pointer was read; 0: nowhere, or it does not matter */
	uint32_t outer;          /* frames from the joint outwards */
	uint16_t count, fps;     /* frames, and frame pointers that matter */
	uint32_t own;            /* frames before gmt_walk::first */
	uint32_t ends;           /* gmt_walk::ends */
	uint64_t addresses[];
};

enum {
	WORD = sizeof(uint64_t),
	HEAD_WORDS = sizeof(struct part) / WORD,
	NAME_WORDS = offsetof(struct part, outer_hash) / WORD,
};

_Static_assert(sizeof(struct part) == 3 * WORD + 12 * sizeof(uint32_t), "bytes of parts are compared: none is padding");

/* What lies behind the head of a part. */
struct rows {
	uint64_t *addresses, *fps;
	uint32_t *places, *fp_places;
};

static inline struct rows rows_of(struct part *part, uint32_t count, uint32_t fps)
{
	uint32_t *halves = (uint32_t *)(void *)(part->addresses + count + fps);

	return (struct rows){ part->addresses, part->addresses + count, halves, halves + count };
}

static inline struct part *part_at(struct gmt_recall *recall, uint32_t at)
{
	return (struct part *)(void *)&recall->words[at];
}

uint32_t gmt_recall_guess(struct gmt_recall *recall, unsigned rank)
{
	return recall->last ? part_at(recall, recall->last)->next[rank] : 0;
}

/* What came behind the last part is the first guess from now on. */
static void learn(struct gmt_recall *recall, uint32_t came)
{
	uint32_t *next = part_at(recall, recall->last)->next, pushed = came;

	for (unsigned rank = 0; recall->last && rank < GMT_RECALL_GUESSES; rank++) {
		uint32_t was = next[rank];

		next[rank] = pushed;
		if (was == came)
			break;
		pushed = was;
	}
	recall->last = recall->current = came;
}

void gmt_recall_clear(struct gmt_recall *recall)
{
	/* Memory that was never written stays so. */
	if (recall->used)
		memset(recall->starts, 0, sizeof(recall->starts));
	recall->used = recall->last = recall->current = 0;
}

/*
 * Whether a walk from `start` would begin with the part, and come to frame `at` behind it. What is guessed has followed
 * the frames that are remembered, so the joint should be as it was then; that it is takes little to see.
 */
static bool has_ends(const struct gmt_walk *walk, const struct gmt_walk_start *start, const struct part *part,
	const struct rows *rows, uint32_t at, uint64_t origin)
{
	uint32_t place = gmt_walk_place(origin, start->sp), joint_place = part->joint_place & ~GMT_WALK_BY_FP;

	if (rows->addresses[0] != start->ip || (rows->places[0] & ~GMT_WALK_BY_FP) != place ||
		(rows->places[0] & GMT_WALK_BY_FP && rows->fps[0] != start->fp))
		return false;
	if (walk->places[at] != part->joint_place || walk->addresses[at] != part->joint_address ||
		gmt_walk_returns_to(origin, joint_place) != part->joint_address)
		return false;
	return !(part->joint_place & GMT_WALK_BY_FP) || (walk->fps[at].value == part->joint_fp &&
		(!part->joint_fp_place || gmt_walk_word(gmt_walk_address(origin, part->joint_fp_place)) == part->joint_fp));
}

/* Whether what it was read from stands in the stack. The words lie between its ends. */
static bool stands(const struct part *part, const struct rows *rows, uint64_t origin)
{
	uint32_t fp = rows->places[0] & GMT_WALK_BY_FP ? 1 : 0;

	for (uint32_t i = 1; i < part->count; i++) {
		uint32_t place = rows->places[i];

		if (place & GMT_WALK_BY_FP) {
			uint32_t fp_place = rows->fp_places[fp];

			place &= ~GMT_WALK_BY_FP;
			if (fp_place && gmt_walk_word(gmt_walk_address(origin, fp_place)) != rows->fps[fp])
				return false;
			fp++;
		}
		if (gmt_walk_returns_to(origin, place) != rows->addresses[i])
			return false;
	}
	return true;
}

/* The part comes before frame `at`. */
static void put(struct gmt_walk *walk, const struct part *part, const struct rows *rows, uint32_t at)
{
	uint32_t begin = at - part->count, fp = part->fps;
	uint64_t hash = walk->hashes[at];

	if (part->joint_place & GMT_WALK_BY_FP)
		walk->fps[at].place = part->joint_fp_place;
	memcpy(&walk->addresses[begin], rows->addresses, part->count * sizeof(*rows->addresses));
	memcpy(&walk->places[begin], rows->places, part->count * sizeof(*rows->places));
	while (at-- > begin) {
		if (walk->places[at] & GMT_WALK_BY_FP) {
			fp--;
			walk->fps[at].value = rows->fps[fp];
			walk->fps[at].place = rows->fp_places[fp];
		}
		walk->hashes[at] = hash = gmt_walk_hash_on(hash, walk->addresses[at]);
	}
	walk->begin = begin;
	walk->first = begin + part->own;
}

/* The stack is the one that had this part before: that frames outwards of it are too is told by their hash, of 64 bits. */
static void take_name(struct gmt_walk *walk, const struct part *part)
{
	walk->is_known = part->id;
	walk->id = part->id;
	walk->module_generation = part->module_generation;
}

static bool take(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t from, uint32_t limit, uint32_t guess)
{
	const uint64_t origin = gmt_walk_origin(walk);
	struct part *part = part_at(&walk->recall, guess);
	struct rows rows = rows_of(part, part->count, part->fps);
	uint32_t at = GMT_WALK_FRAMES - part->outer;

	if (at < from || part->count >= at || part->outer_hash != walk->hashes[at] || part->ends != walk->ends ||
		(walk->ends == GMT_STACK_CUT && part->outer + part->count - part->own < limit) ||
		!has_ends(walk, start, part, &rows, at, origin) || !stands(part, &rows, origin))
		return false;
	take_name(walk, part);
	put(walk, part, &rows, at);
	return true;
}

bool gmt_recall_take(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t from, uint32_t limit)
{
	for (unsigned rank = 0; rank < GMT_RECALL_GUESSES; rank++) {
		uint32_t guess = gmt_recall_guess(&walk->recall, rank);

		if (!guess)
			return false;
		if (take(walk, start, from, limit, guess)) {
			learn(&walk->recall, guess);
			return true;
		}
	}
	return false;
}

/* Writes down the part behind all others, as not yet called anything; there is room. Returns its words. */
static uint32_t write_part(struct gmt_walk *walk, uint32_t at, uint32_t count)
{
	struct part *part = part_at(&walk->recall, walk->recall.used);
	uint32_t fps = 0, begin = at - count;
	bool matters = walk->places[at] & GMT_WALK_BY_FP;

	for (uint32_t i = begin; i < at; i++)
		fps += walk->places[i] >> 31;

	struct rows rows = rows_of(part, count, fps);
	uint32_t halves = count + fps;

	*part = (struct part){
		.outer_hash = walk->hashes[at], .joint_address = walk->addresses[at], .joint_place = walk->places[at],
		.joint_fp = matters ? walk->fps[at].value : 0, .joint_fp_place = matters ? walk->fps[at].place : 0,
		.outer = GMT_WALK_FRAMES - at, .words = HEAD_WORDS + halves + (halves + 1) / 2,
		.count = (uint16_t)count, .fps = (uint16_t)fps, .own = (uint16_t)(walk->first - begin), .ends = walk->ends,
	};
	memcpy(rows.addresses, &walk->addresses[begin], count * sizeof(*rows.addresses));
	memcpy(rows.places, &walk->places[begin], count * sizeof(*rows.places));
	for (uint32_t i = begin, fp = 0; fp < fps; i++) {
		if (!(walk->places[i] & GMT_WALK_BY_FP))
			continue;
		rows.fps[fp] = walk->fps[i].value;
		rows.fp_places[fp++] = walk->fps[i].place;
	}
	if (halves % 2)
		rows.fp_places[fps] = 0;
	return part->words;
}

/* Whether they are the same part; `other` may be anything. */
static bool is_same_part(const struct part *part, const struct part *other)
{
	return part->words == other->words && part->outer_hash == other->outer_hash &&
		memcmp(&part->outer_hash, &other->outer_hash, (part->words - NAME_WORDS) * sizeof(uint64_t)) == 0;
}

void gmt_recall_keep(struct gmt_walk *walk, uint32_t at, uint32_t count)
{
	/* As many frame pointers as frames, at most. */
	enum { MOST_WORDS = HEAD_WORDS + 3 * GMT_RECALL_FRAMES + 1 };
	struct gmt_recall *recall = &walk->recall;

	/* Where all that is new is our own, what is our own of the rest is not the part's to say. */
	if (!count || count > GMT_RECALL_FRAMES || walk->first > at) {
		recall->last = 0;
		return;
	}
	if (recall->used > GMT_RECALL_WORDS - MOST_WORDS)
		gmt_recall_clear(recall);
	if (!recall->used)
		recall->used = 1;

	uint32_t *start = &recall->starts[walk->hashes[walk->begin] >> (64 - GMT_RECALL_START_BITS)];
	uint32_t words = write_part(walk, at, count);

	if (!*start || !is_same_part(part_at(recall, recall->used), part_at(recall, *start))) {
		*start = recall->used;
		recall->used += words;
	} else {
		take_name(walk, part_at(recall, *start));
	}
	learn(recall, *start);
}

void gmt_recall_name(struct gmt_walk *walk)
{
	struct gmt_recall *recall = &walk->recall;

	if (!recall->current)
		return;

	struct part *part = part_at(recall, recall->current);

	part->id = walk->id;
	part->module_generation = walk->module_generation;
}
