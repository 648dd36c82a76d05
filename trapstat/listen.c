// SPDX-License-Identifier: GPL-2.0
/*
 * trapstat export --listen: gives the last text of export.c to each client that asks for /metrics.
 * libmicrohttpd speaks HTTP, in a thread of its own. A binary without libraries has none of this.
 */
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listen.h"

#ifdef NO_LISTEN
int listen_open(const char *where)
{
	(void)where;
	fputs("trapstat: --listen: this binary has no HTTP server, see -o\n", stderr);
	return 1;
}

int listen_start(void)
{
	return -1;
}

void listen_give(char *text, size_t size)
{
	(void)size;
	free(text);
}

void listen_stop(void)
{
}
#else
#include <microhttpd.h>

/* Others wait until one of these has got its answer, or has said nothing for so many seconds */
enum { CLIENTS = 16, PATIENCE = 5 };

static struct MHD_Daemon *server;
static int sock = -1;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *page;
static size_t page_size;

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **state)
{
	static const char only[] = "GET /metrics\n";
	struct MHD_Response *response;
	unsigned int status = MHD_HTTP_OK;
	enum MHD_Result result;

	(void)data;
	(void)version;
	(void)upload;
	(void)upload_size;
	(void)state;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		status = MHD_HTTP_METHOD_NOT_ALLOWED;
	else if (strcmp(path, "/metrics"))
		status = MHD_HTTP_NOT_FOUND;
	pthread_mutex_lock(&lock);
	if (status == MHD_HTTP_OK)
		response = MHD_create_response_from_buffer(page_size, page, MHD_RESPMEM_MUST_COPY);
	else
		response = MHD_create_response_from_buffer(sizeof(only) - 1, (void *)only,
							   MHD_RESPMEM_PERSISTENT);
	pthread_mutex_unlock(&lock);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				"text/plain; version=0.0.4; charset=utf-8");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static int bind_to(const char *where, const char *host, const char *port)
{
	struct addrinfo want = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *found;
	int error = getaddrinfo(host, port, &want, &found), one = 1;

	if (error) {
		fprintf(stderr, "trapstat: --listen %s: %s\n", where, gai_strerror(error));
		return 1;
	}
	sock = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock >= 0)
		setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (sock < 0 || bind(sock, found->ai_addr, found->ai_addrlen) || listen(sock, CLIENTS)) {
		fprintf(stderr, "trapstat: --listen %s: %s\n", where, strerror(errno));
		error = 1;
	}
	freeaddrinfo(found);
	return error;
}

/**
 * listen_open - Take the address of --listen, before anything else is done
 * @where:	PORT, which is on loopback, ADDRESS:PORT or [ADDRESS]:PORT
 *
 * Return: 0, or the exit status, with a message
 */
int listen_open(const char *where)
{
	char host[256] = "127.0.0.1", port[6], extra;

	if (sscanf(where, "%5[0-9]%c", port, &extra) != 1 &&
	    sscanf(where, "[%255[0-9a-fA-F:.]]:%5[0-9]%c", host, port, &extra) != 2 &&
	    sscanf(where, "%255[^][:]:%5[0-9]%c", host, port, &extra) != 2)
		port[0] = '\0';
	if (atoi(port) < 1 || atoi(port) > 65535) {
		fprintf(stderr, "trapstat: --listen %s: not ADDRESS:PORT, such as 127.0.0.1:9876\n",
			where);
		return 2;
	}
	return bind_to(where, host, port);
}

/**
 * listen_start - Begin to answer; listen_give() has been called
 *
 * Return: 0, or -1 with a message
 */
int listen_start(void)
{
	sigset_t all, before;

	/* A signal is for the thread that waits for the end of an interval */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	server = MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, on_request, NULL,
				  MHD_OPTION_LISTEN_SOCKET, sock,
				  MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CLIENTS,
				  MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)PATIENCE,
				  MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (server)
		return 0;
	fputs("trapstat: --listen: the HTTP server does not start\n", stderr);
	return -1;
}

/**
 * listen_give - The text that clients get from now on
 * @text:	the text, which this takes
 * @size:	its length
 */
void listen_give(char *text, size_t size)
{
	char *last;

	pthread_mutex_lock(&lock);
	last = page;
	page = text;
	page_size = size;
	pthread_mutex_unlock(&lock);
	free(last);
}

/**
 * listen_stop - End all connections
 */
void listen_stop(void)
{
	if (server)
		MHD_stop_daemon(server);
	listen_give(NULL, 0);
}
#endif
