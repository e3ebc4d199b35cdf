/* SPDX-License-Identifier: MIT */
/*
 * A thread's copies of rules are the rules, in whatever order they are asked for, however many, and
 * after they have changed.
 */
#include "made_up_stack.h"

#include "unwind/rule_cache.h"

enum { ADDRESSES = 3 * GMT_RULE_CACHE_NODES, PATHS = 400, LONGEST = 60, FIRST = 0x400000 };

static struct gmt_rule_cache rule_cache;
static uint64_t addresses[ADDRESSES];
static uint32_t at;

/* Some do not fit into a node, and some are of no simple kind. */
static void make_addresses(void)
{
	for (uint32_t i = 0; i < ADDRESSES; i++) {
		struct gmt_unwind_rule rule = {
			.kind = (uint8_t)(any(8) ? GMT_UNWIND_BY_SP + any(2) : GMT_UNWIND_BY_SP + any(6)),
			.saved_words = (uint8_t)any(16),
			.cfa_words = 1 + any(127),
		};

		addresses[i] = make_ip(rule, FIRST + 8 * i);
	}
}

static void assert_found(uint64_t ip)
{
	struct gmt_unwind_rule expected = gmt_rules_read_tables(ip),
						   found = gmt_rule_cache_find(&rule_cache, &at, ip);

	assert_int_equal(found.kind, expected.kind);
	/* What else the rule of an outermost frame says is of no interest. */
	if (expected.kind == GMT_UNWIND_END)
		return;
	assert_int_equal(found.saved_words, expected.saved_words);
	assert_int_equal(found.cfa_words, expected.cfa_words);
}

static void rules_of_a_trail_are_the_rules(void **state)
{
	(void)state;
	srand(1);
	make_addresses();
	for (uint32_t distinct = 10; distinct <= ADDRESSES; distinct *= 10)
		for (int path = 0; path < PATHS; path++) {
			at = 0;

			uint32_t next = any(distinct), length = 1 + any(LONGEST);

			for (uint32_t i = 0; i < length; i++, next = any(6) ? next + 1 : any(distinct))
				assert_found(addresses[next % distinct]);
		}
	/* All of them, so that the trail has begun anew more than once. */
	for (uint32_t i = 0; i < ADDRESSES; i++)
		assert_found(addresses[i]);
}

static void nothing_is_left_of_a_trail_that_was_cleared(void **state)
{
	(void)state;
	gmt_rule_cache_clear(&rule_cache);
	at = 0;
	for (uint32_t i = 0; i <= GMT_RULE_CACHE_NODES; i++)
		assert_int_equal(rule_cache.nodes[i], 0);
	assert_found(addresses[0]);
	assert_found(addresses[1]);
	gmt_rule_cache_clear(&rule_cache);
	at = 0;
	for (uint32_t i = 0; i <= GMT_RULE_CACHE_NODES; i++)
		assert_int_equal(rule_cache.nodes[i], 0);
}

static void what_is_no_address_of_a_program_is_not_mistaken_for_one(void **state)
{
	(void)state;
	const uint64_t ip =
		make_ip((struct gmt_unwind_rule){ .kind = GMT_UNWIND_BY_SP, .cfa_words = 5 }, FIRST);

	assert_found(ip);
	assert_found(ip);
	for (int bit = GMT_RULES_ADDRESS_BITS; bit < 64; bit++)
		assert_int_equal(gmt_rule_cache_find(&rule_cache, &at, ip | (uint64_t)1 << bit).kind,
			GMT_UNWIND_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_of_a_trail_are_the_rules),
		cmocka_unit_test(nothing_is_left_of_a_trail_that_was_cleared),
		cmocka_unit_test(what_is_no_address_of_a_program_is_not_mistaken_for_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
