/* SPDX-License-Identifier: MIT */
#include "tools/live/metrics_server.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "render/live/live.h"
#include "system/monotonic_clock.h"
#include "tools/output/message.h"

enum { MAX_CLIENTS = 16, MAX_REQUEST_BYTES = 8192, CLIENT_MS = 10000, WAITING = 16 };

struct client {
	int fd; /* -1: free */
	uint64_t until_ms; /* when the connection is closed; CLOCK_MONOTONIC */
	size_t request_bytes;
	char *answer; /* NULL: the request is not complete */
	size_t answer_bytes, sent_bytes;
	char request[MAX_REQUEST_BYTES + 1];
};

struct gmt_metrics_server {
	int fd;
	char address[300];
	char *text;
	size_t length;
	struct client clients[MAX_CLIENTS];
};

static uint64_t now_ms(void)
{
	return gmt_monotonic_ns() / 1000000;
}

/* Splits an address into host and port. Returns false if it has no valid port. */
static bool split_address(const char *address, char ret_host[256], const char **ret_port)
{
	const char *colon = strrchr(address, ':');
	size_t length = colon ? (size_t)(colon - address) : 0;
	uint64_t port;

	*ret_port = colon ? colon + 1 : address;
	if (length >= 256 || !gmt_text_parse_u64(*ret_port, &port) || port > UINT16_MAX)
		return false;
	if (length > 1 && address[0] == '[' && address[length - 1] == ']') {
		address++;
		length -= 2;
	}
	snprintf(ret_host, 256, "%.*s", (int)length, address);
	if (!length)
		snprintf(ret_host, 256, "127.0.0.1");
	return true;
}

/* Returns the descriptor, or -1 with errno. */
static int listen_at(const struct addrinfo *place)
{
	int fd = socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, place->ai_addr, place->ai_addrlen) && !listen(fd, WAITING))
		return fd;

	int error_number = errno;

	close(fd);
	errno = error_number;
	return -1;
}

/* Sets server->address to the address of the socket, with the port that the kernel chose. */
static void set_address(struct gmt_metrics_server *server)
{
	struct sockaddr_storage place;
	socklen_t bytes = sizeof(place);
	char host[256] = "?", port[16] = "?";

	if (!getsockname(server->fd, (struct sockaddr *)&place, &bytes))
		getnameinfo((struct sockaddr *)&place, bytes, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(server->address, sizeof(server->address), strchr(host, ':') ? "[%s]:%s" : "%s:%s",
		host, port);
}

struct gmt_metrics_server *gmt_metrics_server_open(const char *address)
{
	struct addrinfo wanted = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *places;
	struct gmt_metrics_server *server;
	char host[256];
	const char *port;
	int failure;

	if (!split_address(address, host, &port)) {
		gmt_message_error("top: --metrics-listen: `%s` is not valid: it takes HOST:PORT", address);
		return NULL;
	}
	failure = getaddrinfo(host, port, &wanted, &places);
	if (failure) {
		gmt_message_error("top: --metrics-listen: %s: %s", host, gai_strerror(failure));
		return NULL;
	}
	server = calloc(1, sizeof(*server));
	if (server) {
		server->fd = listen_at(places);
		for (size_t i = 0; i < MAX_CLIENTS; i++)
			server->clients[i].fd = -1;
	}
	freeaddrinfo(places);
	if (!server || server->fd < 0) {
		gmt_message_error("top: --metrics-listen: %s: cannot listen: %s", address, strerror(errno));
		free(server);
		return NULL;
	}
	set_address(server);
	return server;
}

const char *gmt_metrics_server_address(const struct gmt_metrics_server *server)
{
	return server->address;
}

bool gmt_metrics_server_set_text(struct gmt_metrics_server *server, const char *text, size_t length)
{
	char *copy = malloc(length + 1);

	if (!copy)
		return false;
	memcpy(copy, text, length);
	free(server->text);
	server->text = copy;
	server->length = length;
	return true;
}

static void end_client(struct client *client)
{
	close(client->fd);
	free(client->answer);
	client->fd = -1;
	client->answer = NULL;
}

static void accept_clients(struct gmt_metrics_server *server)
{
	for (size_t i = 0; i < MAX_CLIENTS; i++) {
		struct client *client = &server->clients[i];

		if (client->fd >= 0)
			continue;
		client->fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (client->fd < 0)
			return;
		client->until_ms = now_ms() + CLIENT_MS;
		client->request_bytes = client->sent_bytes = 0;
	}
}

/* Makes the answer of a client. Closes the connection when out of memory. */
static void set_answer(struct client *client, const char *status, const char *type,
	const char *body, size_t length, bool has_body)
{
	char head[400];
	int head_bytes = snprintf(head, sizeof(head),
		"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		"X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
		status, type, length);

	if (!has_body)
		length = 0;
	client->answer = malloc((size_t)head_bytes + length + 1);
	if (!client->answer) {
		end_client(client);
		return;
	}
	memcpy(client->answer, head, (size_t)head_bytes);
	if (length)
		memcpy(client->answer + head_bytes, body, length);
	client->answer_bytes = (size_t)head_bytes + length;
}

static void set_text(struct client *client, const char *status, const char *text)
{
	set_answer(client, status, "text/plain; charset=utf-8", text, strlen(text), true);
}

static void answer(const struct gmt_metrics_server *server, struct client *client)
{
	char method[16], path[256];

	if (sscanf(client->request, "%15s %255s", method, path) != 2)
		set_text(client, "400 Bad Request", "not a request\n");
	else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		set_text(client, "405 Method Not Allowed", "only GET\n");
	else if (strcmp(path, "/") == 0)
		set_text(client, "200 OK", "gpumemtrace top: the metrics are at /metrics\n");
	else if (strcmp(path, "/metrics") != 0)
		set_text(client, "404 Not Found", "the metrics are at /metrics\n");
	else
		set_answer(client, "200 OK", GMT_LIVE_METRICS_TYPE, server->text, server->length,
			*method == 'G');
}

static void receive(const struct gmt_metrics_server *server, struct client *client)
{
	ssize_t got = recv(client->fd, client->request + client->request_bytes,
		MAX_REQUEST_BYTES - client->request_bytes, 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		end_client(client);
		return;
	}
	client->request_bytes += (size_t)got;
	client->request[client->request_bytes] = 0;
	if (memmem(client->request, client->request_bytes, "\r\n\r\n", 4) ||
		memmem(client->request, client->request_bytes, "\n\n", 2))
		answer(server, client);
	else if (client->request_bytes == MAX_REQUEST_BYTES)
		set_text(client, "431 Request Header Fields Too Large", "the request is too long\n");
}

static void send_more(struct client *client)
{
	ssize_t sent = send(client->fd, client->answer + client->sent_bytes,
		client->answer_bytes - client->sent_bytes, MSG_NOSIGNAL);

	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	client->sent_bytes += sent > 0 ? (size_t)sent : 0;
	if (sent <= 0 || client->sent_bytes == client->answer_bytes)
		end_client(client);
}

static void serve(struct gmt_metrics_server *server, const struct pollfd *events)
{
	for (size_t i = 0; i < MAX_CLIENTS; i++) {
		struct client *client = &server->clients[i];

		if (client->fd < 0)
			continue;
		if (events[i].revents && !client->answer)
			receive(server, client);
		if (client->fd >= 0 && client->answer)
			send_more(client);
		if (client->fd >= 0 && now_ms() > client->until_ms)
			end_client(client);
	}
	accept_clients(server);
}

void gmt_metrics_server_run(struct gmt_metrics_server *server, int other_fd, int wait_ms)
{
	uint64_t until_ms = now_ms() + (uint64_t)(wait_ms > 0 ? wait_ms : 0), now;

	do {
		struct pollfd events[MAX_CLIENTS + 2];
		bool has_room = false;

		for (size_t i = 0; i < MAX_CLIENTS; i++) {
			const struct client *client = &server->clients[i];

			/* poll ignores a descriptor below 0. */
			events[i] =
				(struct pollfd){ .fd = client->fd, .events = client->answer ? POLLOUT : POLLIN };
			has_room |= client->fd < 0;
		}
		events[MAX_CLIENTS] = (struct pollfd){ .fd = has_room ? server->fd : -1, .events = POLLIN };
		events[MAX_CLIENTS + 1] = (struct pollfd){ .fd = other_fd, .events = POLLIN };
		now = now_ms();
		if (poll(events, MAX_CLIENTS + 2, now < until_ms ? (int)(until_ms - now) : 0) < 0)
			return;
		serve(server, events);
		if (events[MAX_CLIENTS + 1].revents)
			return;
		now = now_ms();
	} while (now < until_ms);
}

void gmt_metrics_server_close(struct gmt_metrics_server *server)
{
	if (!server)
		return;
	for (size_t i = 0; i < MAX_CLIENTS; i++)
		if (server->clients[i].fd >= 0)
			end_client(&server->clients[i]);
	close(server->fd);
	free(server->text);
	free(server);
}
