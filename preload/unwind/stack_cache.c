/* SPDX-License-Identifier: MIT */
#include "unwind/stack_cache.h"

#include <stddef.h>
#include <string.h>

#include "unwind/walk_slots.h"

/*
 * A part of a stack: frames that a walk put before a remembered frame, the joint. The rows of the
 * part's frames follow the header, innermost first, as in gmt_walk. Then come the frame pointers
 * that matter in these frames and in the joint, the outermost first. Equal parts have equal bytes
 * from `outer` on.
 */
struct part {
	uint32_t id, map_generation; /* as in gmt_walk, when this part was last on the stack */
	/* The parts that followed this part, the last first; 0: none. */
	uint32_t next[GMT_STACK_CACHE_GUESSES];
	uint32_t outer;         /* frames from the joint outwards */
	uint64_t outer_hash;    /* hash of the stack from the joint outwards */
	uint64_t joint_address;
	uint64_t joint_fp, fp;  /* of the joint and of the innermost frame, if they matter; else 0 */
	uint32_t joint_slot;
	uint16_t joint_fp_mark; /* as in gmt_walk::fp_marks */
	uint16_t words;         /* size of the whole part */
	uint16_t count, fps;    /* number of frames; number of frame pointers that were read */
	uint16_t recorder_frames; /* frames before gmt_walk::host_begin */
	uint16_t stack_end;       /* as gmt_walk::stack_end */
	uint64_t addresses[];
};

enum {
	WORD = sizeof(uint64_t),
	HEADER_WORDS = sizeof(struct part) / WORD,
	UNCOMPARED_BYTES = offsetof(struct part, outer),
};

_Static_assert(sizeof(struct part) == 4 * WORD + 7 * sizeof(uint32_t) + 6 * sizeof(uint16_t),
	"bytes of parts are compared: none is padding");

/* The arrays that follow the header of a part. */
struct rows {
	uint64_t *addresses, *hashes, *fp_values;
	uint32_t *slots, *fp_slots;
	uint16_t *fp_marks;
};

static inline struct rows rows_of(struct part *part)
{
	uint64_t *hashes = part->addresses + part->count, *fp_values = hashes + part->count;
	uint32_t *slots = (uint32_t *)(void *)(fp_values + part->fps), *fp_slots = slots + part->count;

	return (struct rows){ part->addresses, hashes, fp_values, slots, fp_slots,
		(uint16_t *)(void *)(fp_slots + part->fps) };
}

#define WORDS_OF(count, fps) \
	(HEADER_WORDS + (count) * 2u + (fps) + ((count) * 6u + (fps) * 4u + WORD - 1) / WORD)

static inline struct part *part_at(struct gmt_stack_cache *stack_cache, uint32_t at)
{
	return (struct part *)(void *)&stack_cache->words[at];
}

uint32_t gmt_stack_cache_guess(struct gmt_stack_cache *stack_cache, unsigned rank)
{
	return stack_cache->last ? part_at(stack_cache, stack_cache->last)->next[rank] : 0;
}

/* Makes part `current` the first guess after the last part. */
static void promote_guess(struct gmt_stack_cache *stack_cache, uint32_t current)
{
	uint32_t *next = part_at(stack_cache, stack_cache->last)->next, pushed = current;

	for (unsigned rank = 0; stack_cache->last && rank < GMT_STACK_CACHE_GUESSES; rank++) {
		uint32_t previous = next[rank];

		next[rank] = pushed;
		if (previous == current)
			break;
		pushed = previous;
	}
	stack_cache->last = stack_cache->current = current;
}

void gmt_stack_cache_clear(struct gmt_stack_cache *stack_cache)
{
	/* An unused cache is not written, so that it takes no memory. */
	if (stack_cache->used)
		memset(stack_cache->parts_by_hash, 0, sizeof(stack_cache->parts_by_hash));
	stack_cache->used = stack_cache->last = stack_cache->current = 0;
}

/*
 * Returns whether a walk from `start` would begin with the part and then reach frame `at`. A
 * guessed part has followed the remembered frames before, so the joint is probably unchanged. This
 * check is cheap.
 */
static inline bool ends_match(const struct gmt_walk *walk, const struct gmt_walk_start *start,
	const struct part *part, const struct rows *rows, size_t at, uint64_t origin)
{
	if (rows->addresses[0] != start->ip ||
		gmt_walk_slot_address(origin, rows->slots[0]) != start->sp ||
		(gmt_walk_fp_matters(rows->fp_marks[0]) && part->fp != start->fp))
		return false;
	return walk->slots[at] == part->joint_slot && walk->addresses[at] == part->joint_address &&
		walk->fp_marks[at] == part->joint_fp_mark &&
		gmt_walk_is_return(origin, part->joint_slot, part->joint_address) &&
		(!gmt_walk_fp_matters(part->joint_fp_mark) ||
			gmt_walk_fp_of(walk, (uint32_t)at) == part->joint_fp);
}

/*
 * Returns whether the stack still holds the words from which the part was read. All these words lie
 * between the ends of the part.
 */
static inline bool words_match(const struct part *part, const struct rows *rows, uint64_t origin)
{
	/* A plain loop, because the words are few. */
	for (size_t i = 1, count = part->count; i < count; i++)
		if (!gmt_walk_is_return(origin, rows->slots[i], rows->addresses[i]))
			return false;
	return gmt_walk_words_match(rows->fp_slots, rows->fp_values, part->fps, origin);
}

/*
 * Puts the part before frame `at`. The hash from `at` outwards equals the part's, so the hashes of
 * all frames of the part are correct too.
 */
static inline void put_part(struct gmt_walk *walk, const struct part *part, const struct rows *rows,
	size_t at)
{
	const size_t begin = at - part->count, fp_words = gmt_walk_fp_words(part->joint_fp_mark);

	/* Copies word by word: the words are few, and six calls would cost more. */
	for (size_t i = 0, count = part->count; i < count; i++) {
		walk->addresses[begin + i] = rows->addresses[i];
		walk->hashes[begin + i] = rows->hashes[i];
		walk->slots[begin + i] = rows->slots[i];
		walk->fp_marks[begin + i] = rows->fp_marks[i];
	}
	for (size_t i = 0, count = part->fps; i < count; i++) {
		walk->fp_values[fp_words + i] = rows->fp_values[i];
		walk->fp_slots[fp_words + i] = rows->fp_slots[i];
	}
	walk->begin = (uint32_t)begin;
	walk->host_begin = (uint32_t)begin + part->recorder_frames;
	walk->fp = part->fp;
}

/*
 * Takes the id of the stack that had this part before. The frames outwards of the part are equal
 * too, because their 64-bit hash is equal.
 */
static void copy_id(struct gmt_walk *walk, const struct part *part)
{
	walk->is_known = part->id;
	walk->id = part->id;
	walk->map_generation = part->map_generation;
}

static bool try_part(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t from,
	uint32_t limit, struct part *part)
{
	const struct rows rows = rows_of(part);
	const size_t at = GMT_WALK_FRAMES - part->outer;
	uint64_t origin = gmt_walk_origin(walk);

	/* Keeps `origin` in one register. */
	__asm__("" : "+r"(origin));
	if (at < from || part->count >= at || part->outer_hash != walk->hashes[at] ||
		part->stack_end != walk->stack_end ||
		(walk->stack_end == GMT_STACK_CUT &&
			part->outer + part->count - part->recorder_frames < limit) ||
		!ends_match(walk, start, part, &rows, at, origin) || !words_match(part, &rows, origin))
		return false;
	copy_id(walk, part);
	put_part(walk, part, &rows, at);
	return true;
}

bool gmt_stack_cache_try(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t from,
	uint32_t limit)
{
	for (unsigned rank = 0; rank < GMT_STACK_CACHE_GUESSES; rank++) {
		uint32_t guess = gmt_stack_cache_guess(&walk->stack_cache, rank);

		if (!guess)
			return false;
		if (try_part(walk, start, from, limit, part_at(&walk->stack_cache, guess))) {
			promote_guess(&walk->stack_cache, guess);
			return true;
		}
	}
	return false;
}

/* Writes the part behind all others, without an id. The caller has made room. */
static void write_part(struct gmt_walk *walk, uint32_t at, uint32_t count)
{
	struct part *part = part_at(&walk->stack_cache, walk->stack_cache.used);
	uint32_t begin = at - count, outer_fps = gmt_walk_fp_words(walk->fp_marks[at]);
	uint32_t fps = gmt_walk_fp_words(walk->fp_marks[begin]) - outer_fps,
			 words = WORDS_OF(count, fps);

	/* The part may not fill its last word. */
	((uint64_t *)(void *)part)[words - 1] = 0;
	*part = (struct part){
		.outer = GMT_WALK_FRAMES - at,
		.outer_hash = walk->hashes[at],
		.joint_address = walk->addresses[at],
		.joint_fp = gmt_walk_fp_matters(walk->fp_marks[at]) ? gmt_walk_fp_of(walk, at) : 0,
		.fp = gmt_walk_fp_matters(walk->fp_marks[begin]) ? walk->fp : 0,
		.joint_slot = walk->slots[at],
		.joint_fp_mark = walk->fp_marks[at],
		.words = (uint16_t)words,
		.count = (uint16_t)count,
		.fps = (uint16_t)fps,
		.recorder_frames = (uint16_t)(walk->host_begin - begin),
		.stack_end = walk->stack_end,
	};

	struct rows rows = rows_of(part);

	memcpy(rows.addresses, &walk->addresses[begin], count * sizeof(*rows.addresses));
	memcpy(rows.hashes, &walk->hashes[begin], count * sizeof(*rows.hashes));
	memcpy(rows.slots, &walk->slots[begin], count * sizeof(*rows.slots));
	memcpy(rows.fp_marks, &walk->fp_marks[begin], count * sizeof(*rows.fp_marks));
	memcpy(rows.fp_values, &walk->fp_values[outer_fps], fps * sizeof(*rows.fp_values));
	memcpy(rows.fp_slots, &walk->fp_slots[outer_fps], fps * sizeof(*rows.fp_slots));
}

/* Returns whether the two parts are equal. `other` may be any part. */
static bool is_same_part(const struct part *part, const struct part *other)
{
	return part->words == other->words && part->outer_hash == other->outer_hash &&
		memcmp(&part->outer, &other->outer, part->words * sizeof(uint64_t) - UNCOMPARED_BYTES) == 0;
}

void gmt_stack_cache_keep(struct gmt_walk *walk, uint32_t at, uint32_t count)
{
	/* At most as many frame pointers as frames, and that of the joint. */
	enum { MAX_WORDS = WORDS_OF(GMT_STACK_CACHE_FRAMES, GMT_STACK_CACHE_FRAMES + 1) };
	struct gmt_stack_cache *stack_cache = &walk->stack_cache;

	/* All new frames are the recorder's, so the next may be too, which a part cannot express. */
	if (!count || count > GMT_STACK_CACHE_FRAMES || walk->host_begin > at) {
		stack_cache->last = 0;
		return;
	}
	if (stack_cache->used > GMT_STACK_CACHE_WORDS - MAX_WORDS)
		gmt_stack_cache_clear(stack_cache);
	if (!stack_cache->used)
		stack_cache->used = 1;

	uint32_t *same_hash =
		&stack_cache->parts_by_hash[walk->hashes[walk->begin] >> (64 - GMT_STACK_CACHE_HASH_BITS)];

	write_part(walk, at, count);
	if (!*same_hash ||
		!is_same_part(part_at(stack_cache, stack_cache->used), part_at(stack_cache, *same_hash))) {
		*same_hash = stack_cache->used;
		stack_cache->used += part_at(stack_cache, stack_cache->used)->words;
	} else {
		copy_id(walk, part_at(stack_cache, *same_hash));
	}
	promote_guess(stack_cache, *same_hash);
}

void gmt_stack_cache_set_id(struct gmt_walk *walk)
{
	struct gmt_stack_cache *stack_cache = &walk->stack_cache;

	if (!stack_cache->current)
		return;

	struct part *part = part_at(stack_cache, stack_cache->current);

	part->id = walk->id;
	part->map_generation = walk->map_generation;
}
