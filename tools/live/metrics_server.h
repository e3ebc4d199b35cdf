/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_LIVE_METRICS_SERVER_H
#define GMT_TOOLS_LIVE_METRICS_SERVER_H

/*
 * A small HTTP server for Prometheus: it answers GET /metrics with a text that its owner sets. It
 * never waits, neither for a client that is slow to ask nor for one that is slow to read. A few
 * clients at a time; others wait in the kernel. For one thread.
 */

#include <stdbool.h>
#include <stddef.h>

struct gmt_metrics_server;

/*
 * Listens on `address`: "PORT", "HOST:PORT" or "[IPv6]:PORT". Without a host, only this machine can
 * connect (127.0.0.1). Port 0 takes a free one. Returns NULL after an error message.
 */
struct gmt_metrics_server *gmt_metrics_server_open(const char *address);

/* Returns the address that it listens on, e.g. "127.0.0.1:9400". */
const char *gmt_metrics_server_address(const struct gmt_metrics_server *server);

/* Replaces the text. It is copied. Returns false when out of memory; the old text stays. */
bool gmt_metrics_server_set_text(struct gmt_metrics_server *server, const char *text,
	size_t length);

/*
 * Serves clients for at most `wait_ms`. `other_fd`: returns at once when this descriptor can be
 * read; -1: there is none.
 */
void gmt_metrics_server_run(struct gmt_metrics_server *server, int other_fd, int wait_ms);

/* Closes all connections. `server` may be NULL. */
void gmt_metrics_server_close(struct gmt_metrics_server *server);

#endif
