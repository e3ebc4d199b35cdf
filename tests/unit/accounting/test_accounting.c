/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "accounting/accounting.h"

enum {
	CUDA = GMT_LAYER_CUDA,
	TORCH = GMT_LAYER_TORCH,
	DEVICE = GMT_SPACE_DEVICE,
	PINNED = GMT_SPACE_PINNED
};

static int accounting_setup(void **state)
{
	*state = calloc(1, sizeof(struct gmt_accounting));
	return *state == NULL;
}

static int accounting_teardown(void **state)
{
	gmt_accounting_fini(*state);
	free(*state);
	return 0;
}

static uint32_t add_site(struct gmt_accounting *accounting, uint8_t layer, int16_t device,
	uint8_t space)
{
	uint32_t site;

	assert_true(gmt_accounting_add_site(accounting, layer, device, space, &site));
	return site;
}

static void the_bytes_of_a_site_at_the_peak_are_those_of_that_moment(void **state)
{
	struct gmt_accounting *accounting = *state;
	uint32_t a = add_site(accounting, CUDA, 0, DEVICE), b = add_site(accounting, CUDA, 0, DEVICE);

	gmt_accounting_alloc(accounting, a, 0x1000, 100, 1);
	gmt_accounting_alloc(accounting, b, 0x2000, 50, 2); /* the peak: 150 */
	gmt_accounting_free(accounting, CUDA, DEVICE, 0x1000, 0);
	gmt_accounting_alloc(accounting, b, 0x3000, 60, 3); /* 110 */
	assert_int_equal(gmt_account_site_peak(accounting, a).bytes, 100);
	assert_int_equal(gmt_account_site_peak(accounting, b).bytes, 50);
	assert_int_equal(gmt_account_site_peak(accounting, b).blocks, 1);
	assert_int_equal(accounting->sites.items[b].max_live_bytes, 110);

	gmt_accounting_alloc(accounting, b, 0x4000, 41, 4); /* 151: a new peak, without bytes of a */
	assert_int_equal(gmt_account_site_peak(accounting, a).bytes, 0);
	assert_int_equal(gmt_account_site_peak(accounting, b).bytes, 151);

	const struct gmt_account *account = gmt_accounting_find_account(accounting, CUDA, 0);
	assert_int_equal(account->peak_bytes, 151);
	assert_int_equal(account->peak_stamp, 4);
	assert_int_equal(account->peak_blocks, 3);
	assert_int_equal(account->total_bytes, 251);
}

static void the_first_of_two_equal_peaks_counts(void **state)
{
	struct gmt_accounting *accounting = *state;
	uint32_t a = add_site(accounting, CUDA, 0, DEVICE), b = add_site(accounting, CUDA, 0, DEVICE);

	gmt_accounting_alloc(accounting, a, 0x1000, 100, 1);
	gmt_accounting_free(accounting, CUDA, DEVICE, 0x1000, 0);
	gmt_accounting_alloc(accounting, b, 0x1000, 100, 3);
	assert_int_equal(gmt_accounting_find_account(accounting, CUDA, 0)->peak_stamp, 1);
	assert_int_equal(gmt_account_site_peak(accounting, a).bytes, 100);
	assert_int_equal(gmt_account_site_peak(accounting, b).bytes, 0);
}

static void a_heap_has_its_own_peak_and_the_bytes_of_its_sites_then(void **state)
{
	struct gmt_accounting *accounting = *state;
	enum { CUSTOM = GMT_LAYER_CUSTOM, HEAP = GMT_SPACE_HEAP };
	uint32_t a = add_site(accounting, CUSTOM, 0, HEAP), b = add_site(accounting, CUSTOM, 0, HEAP);
	uint32_t other = add_site(accounting, CUSTOM, 0, HEAP), first, second;

	assert_true(gmt_accounting_add_heap(accounting, &first) &&
		gmt_accounting_add_heap(accounting, &second));
	gmt_accounting_put_in_heap(accounting, a, first);
	gmt_accounting_put_in_heap(accounting, b, first);
	gmt_accounting_put_in_heap(accounting, other, second);
	gmt_accounting_alloc(accounting, a, 1, 100, 1);
	gmt_accounting_alloc(accounting, b, 2, 50, 2); /* the first heap's peak: 150 */
	gmt_accounting_free(accounting, CUSTOM, HEAP, 1, 0);
	gmt_accounting_alloc(accounting, other, 3, 500, 3); /* the layer's peak: 550 */
	gmt_accounting_alloc(accounting, b, 4, 10, 4);

	assert_int_equal(accounting->heaps.items[first].peak_bytes, 150);
	assert_int_equal(accounting->heaps.items[first].peak_stamp, 2);
	assert_int_equal(accounting->heaps.items[first].peak_blocks, 2);
	assert_int_equal(accounting->heaps.items[first].live_bytes, 60);
	assert_int_equal(accounting->heaps.items[first].free_count, 1);
	assert_int_equal(accounting->heaps.items[second].peak_bytes, 500);
	assert_int_equal(gmt_account_site_heap_peak(accounting, a).bytes, 100);
	assert_int_equal(gmt_account_site_heap_peak(accounting, b).bytes, 50);
	assert_int_equal(gmt_account_site_heap_peak(accounting, other).bytes, 500);
	/* The layer has its peak at another moment. */
	assert_int_equal(gmt_accounting_find_account(accounting, CUSTOM, 0)->peak_bytes, 560);
	assert_int_equal(gmt_account_site_peak(accounting, a).bytes, 0);
	assert_int_equal(
		gmt_account_site_heap_peak(accounting, add_site(accounting, CUDA, 0, DEVICE)).bytes, 0);
}

static void one_address_may_be_a_block_in_each_layer(void **state)
{
	struct gmt_accounting *accounting = *state;
	uint32_t cuda = add_site(accounting, CUDA, 0, DEVICE),
			 torch = add_site(accounting, TORCH, 0, DEVICE);
	uint32_t custom = add_site(accounting, GMT_LAYER_CUSTOM, 0, GMT_SPACE_HEAP);

	gmt_accounting_alloc(accounting, cuda, 0x1000, 1, 1);
	gmt_accounting_alloc(accounting, torch, 0x1000, 2, 2);
	gmt_accounting_alloc(accounting, custom, 0x1000, 3, 3);
	assert_int_equal(gmt_accounting_block_count(accounting), 3);
	assert_int_equal(gmt_accounting_free(accounting, GMT_LAYER_CUSTOM, GMT_SPACE_HEAP, 0x1000, 0),
		custom);
	assert_int_equal(gmt_accounting_find(accounting, TORCH, DEVICE, 0x1000)->size_bytes, 2);
	assert_int_equal(gmt_accounting_find(accounting, CUDA, DEVICE, 0x1000)->size_bytes, 1);
	assert_int_equal(accounting->anomalies.missed_frees + accounting->anomalies.unknown_frees, 0);
}

enum { SITES = 40, BLOCKS = 300, STEPS = 200000 };

/* The same accounting in the slow and obvious way: it copies everything at each new peak. */
struct simple_accounting {
	struct {
		uint64_t size_bytes;
		uint32_t site;
		bool is_live;
	} blocks[BLOCKS];
	uint64_t live[SITES], max_live[SITES], total[SITES], at_peak[SITES];
	uint64_t all, peak;
};

static void compare(struct gmt_accounting *accounting, const struct simple_accounting *plain)
{
	uint64_t sum = 0;

	for (uint32_t site = 0; site < SITES; site++) {
		assert_int_equal(accounting->sites.items[site].live_bytes, plain->live[site]);
		assert_int_equal(accounting->sites.items[site].max_live_bytes, plain->max_live[site]);
		assert_int_equal(accounting->sites.items[site].total_bytes, plain->total[site]);
		assert_int_equal(gmt_account_site_peak(accounting, site).bytes, plain->at_peak[site]);
		sum += gmt_account_site_peak(accounting, site).bytes;
	}
	assert_int_equal(gmt_accounting_find_account(accounting, CUDA, 0)->live_bytes, plain->all);
	assert_int_equal(gmt_accounting_find_account(accounting, CUDA, 0)->peak_bytes, plain->peak);
	assert_int_equal(sum, plain->peak);
}

static void random_events_give_the_numbers_of_a_simple_model(void **state)
{
	struct gmt_accounting *accounting = *state;
	static struct simple_accounting plain;
	uint64_t random = 5;

	for (int i = 0; i < SITES; i++)
		add_site(accounting, CUDA, 0, i % 2 ? DEVICE : GMT_SPACE_MANAGED);
	for (int step = 0; step < STEPS; step++) {
		random = gmt_hash_u64(random);

		uint64_t block = random % BLOCKS, address = 0x1000 * (block + 1);
		uint64_t size = random >> 20 & 0xffff;
		uint32_t site = (uint32_t)(random >> 50) % SITES;
		if (plain.blocks[block].is_live) {
			site = plain.blocks[block].site;
			size = plain.blocks[block].size_bytes;
			assert_int_equal(gmt_accounting_free(accounting, CUDA, DEVICE, address, size), site);
			plain.live[site] -= size;
			plain.all -= size;
		} else {
			assert_true(gmt_accounting_alloc(accounting, site, address, size, (uint64_t)step));
			plain.blocks[block].site = site;
			plain.blocks[block].size_bytes = size;
			plain.live[site] += size;
			plain.total[site] += size;
			plain.all += size;
			if (plain.live[site] > plain.max_live[site])
				plain.max_live[site] = plain.live[site];
			if (plain.all > plain.peak) {
				plain.peak = plain.all;
				memcpy(plain.at_peak, plain.live, sizeof(plain.live));
			}
		}
		plain.blocks[block].is_live = !plain.blocks[block].is_live;
		if (step % 997 == 0)
			compare(accounting, &plain);
	}
	compare(accounting, &plain);
	/* The table reuses the places of freed blocks. */
	assert_true(accounting->block_table.count <= BLOCKS);
}

static void layers_and_devices_are_never_added_up(void **state)
{
	struct gmt_accounting *accounting = *state;

	gmt_accounting_alloc(accounting, add_site(accounting, CUDA, 0, DEVICE), 0x1000, 10, 1);
	gmt_accounting_alloc(accounting, add_site(accounting, TORCH, 0, DEVICE), 0x1000, 4, 2);
	gmt_accounting_alloc(accounting, add_site(accounting, CUDA, 1, DEVICE), 0x2000, 7, 3);
	assert_int_equal(gmt_accounting_find_account(accounting, CUDA, 0)->live_bytes, 10);
	assert_int_equal(gmt_accounting_find_account(accounting, TORCH, 0)->live_bytes, 4);
	assert_int_equal(gmt_accounting_find_account(accounting, CUDA, 1)->live_bytes, 7);
	assert_int_equal(accounting->anomalies.missed_frees, 0);
	assert_null(gmt_accounting_find_account(accounting, TORCH, 1));
}

static void host_memory_has_no_device_even_if_the_event_names_one(void **state)
{
	struct gmt_accounting *accounting = *state;

	gmt_accounting_alloc(accounting, add_site(accounting, CUDA, 3, PINNED), 0x1000, 10, 1);
	assert_null(gmt_accounting_find_account(accounting, CUDA, 3));
	assert_int_equal(gmt_accounting_find_account(accounting, CUDA, GMT_DEVICE_HOST)->live_bytes,
		10);
}

static void a_second_allocation_at_an_address_ends_the_older_block(void **state)
{
	struct gmt_accounting *accounting = *state;
	uint32_t a = add_site(accounting, CUDA, 0, DEVICE), b = add_site(accounting, CUDA, 0, DEVICE);

	gmt_accounting_alloc(accounting, a, 0x1000, 100, 1);
	gmt_accounting_alloc(accounting, b, 0x1000, 30, 2);
	assert_int_equal(accounting->anomalies.missed_frees, 1);
	assert_int_equal(accounting->sites.items[a].live_bytes, 0);
	assert_int_equal(accounting->sites.items[a].free_count, 0);
	assert_int_equal(accounting->sites.items[b].live_bytes, 30);
	assert_int_equal(gmt_accounting_free(accounting, CUDA, DEVICE, 0x1000, 0), b);
}

static void frees_of_unknown_addresses_are_counted_and_change_nothing(void **state)
{
	struct gmt_accounting *accounting = *state;
	uint32_t a = add_site(accounting, CUDA, 0, DEVICE);

	gmt_accounting_alloc(accounting, a, 0x1000, 100, 1);
	assert_int_equal(gmt_accounting_free(accounting, CUDA, DEVICE, 0x2000, 0), UINT32_MAX);
	assert_int_equal(gmt_accounting_free(accounting, TORCH, DEVICE, 0x1000, 0), UINT32_MAX);
	assert_int_equal(gmt_accounting_free(accounting, CUDA, DEVICE, 0, 0), UINT32_MAX);
	assert_int_equal(accounting->anomalies.unknown_frees, 2);
	assert_int_equal(gmt_accounting_find_account(accounting, CUDA, 0)->live_bytes, 100);
	gmt_accounting_free(accounting, CUDA, DEVICE, 0x1000, 99);
	assert_int_equal(accounting->anomalies.size_mismatches, 1);
	assert_int_equal(gmt_accounting_find_account(accounting, CUDA, 0)->live_bytes, 0);
}

static void sums_cannot_overflow(void **state)
{
	struct gmt_accounting *accounting = *state;
	uint32_t a = add_site(accounting, CUDA, 0, DEVICE);

	gmt_accounting_alloc(accounting, a, 0x1000, UINT64_MAX, 1);
	gmt_accounting_alloc(accounting, a, 0, 5, 2);
	assert_int_equal(accounting->anomalies.impossible_sizes, 2);
	for (uint64_t i = 1; i < 5; i++) {
		gmt_accounting_alloc(accounting, a, i * 0x1000, GMT_ACCOUNTING_MAX_BYTES, i);
		gmt_accounting_alloc(accounting, a, 0x9000, 1, i);
		gmt_accounting_free(accounting, CUDA, DEVICE, i * 0x1000, 0);
	}
	assert_int_equal(accounting->anomalies.impossible_sizes, 6);
	assert_int_equal(gmt_accounting_find_account(accounting, CUDA, 0)->peak_bytes,
		GMT_ACCOUNTING_MAX_BYTES);
	assert_int_equal(gmt_accounting_find_account(accounting, CUDA, 0)->total_bytes, INT64_MAX);
}

static void totals_of_pytorch_are_compared_with_our_own(void **state)
{
	struct gmt_accounting *accounting = *state;
	uint32_t a = add_site(accounting, TORCH, 0, DEVICE);
	const struct gmt_account *account;

	gmt_accounting_alloc(accounting, a, 0x1000, 100, 1);
	gmt_accounting_set_reported_totals(accounting, TORCH, 0, 100, 2048);
	account = gmt_accounting_find_account(accounting, TORCH, 0);
	assert_int_equal(account->unseen_bytes, 0);
	assert_int_equal(account->reported_disagreements, 0);

	gmt_accounting_alloc(accounting, a, 0x2000, 10, 2);
	gmt_accounting_set_reported_totals(accounting, TORCH, 0, 160, 4096);
	gmt_accounting_free(accounting, TORCH, DEVICE, 0x2000, 10);
	gmt_accounting_set_reported_totals(accounting, TORCH, 0, 150, 1024);
	account = gmt_accounting_find_account(accounting, TORCH, 0);
	assert_int_equal(account->unseen_bytes, 50);
	assert_int_equal(account->reported_disagreements, 1);
	assert_int_equal(account->reported_reserved_bytes, 1024);
	assert_int_equal(account->reported_reserved_peak_bytes, 4096);
	assert_int_equal(account->reported_allocated_peak_bytes, 160);
}

static void a_refused_request_changes_no_sum(void **state)
{
	struct gmt_accounting *accounting = *state;
	uint32_t a = add_site(accounting, CUDA, 0, DEVICE);

	gmt_accounting_refuse(accounting, a);
	assert_int_equal(gmt_accounting_find_account(accounting, CUDA, 0)->refused_count, 1);
	assert_int_equal(gmt_accounting_find_account(accounting, CUDA, 0)->alloc_count, 0);
	assert_int_equal(accounting->sites.items[a].refused_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ACCOUNTING_TEST(name) \
	cmocka_unit_test_setup_teardown(name, accounting_setup, accounting_teardown)
		ACCOUNTING_TEST(the_bytes_of_a_site_at_the_peak_are_those_of_that_moment),
		ACCOUNTING_TEST(the_first_of_two_equal_peaks_counts),
		ACCOUNTING_TEST(a_heap_has_its_own_peak_and_the_bytes_of_its_sites_then),
		ACCOUNTING_TEST(one_address_may_be_a_block_in_each_layer),
		ACCOUNTING_TEST(random_events_give_the_numbers_of_a_simple_model),
		ACCOUNTING_TEST(layers_and_devices_are_never_added_up),
		ACCOUNTING_TEST(host_memory_has_no_device_even_if_the_event_names_one),
		ACCOUNTING_TEST(a_second_allocation_at_an_address_ends_the_older_block),
		ACCOUNTING_TEST(frees_of_unknown_addresses_are_counted_and_change_nothing),
		ACCOUNTING_TEST(sums_cannot_overflow),
		ACCOUNTING_TEST(totals_of_pytorch_are_compared_with_our_own),
		ACCOUNTING_TEST(a_refused_request_changes_no_sum),
#undef ACCOUNTING_TEST
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
