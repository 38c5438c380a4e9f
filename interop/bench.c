/*
 * The speed of stacks that others wrote, as a yardstick: one association or connection, saturated for some seconds,
 * from a source process to a sink process. usrsctp in its fastest style (sending from the upcall, receiving by
 * callback), the kernel's TCP, the kernel's MPTCP. Each end prints one JSON line: goodput, and CPU seconds per GB, those
 * that the kernel spent for the process included.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "sctp.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static struct options {
	const char *protocol;
	bool source;
	uint32_t size; /* bytes of a message, or of a write */
	unsigned seconds;
	uint32_t socket_buffer; /* of TCP and MPTCP; 0: as the kernel adapts it */
	bool unordered;
	struct stack stack;
} options = { .size = 1444, .seconds = 5 };

static struct run {
	uint64_t bytes, messages;
	double begin, end, cpu_begin; /* seconds; begin is the first byte */
	uint8_t *data;
	volatile bool over;
} run;

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double
cpu(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
	       (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
}

static void
count(size_t bytes)
{
	if (run.bytes == 0) {
		run.begin = now();
		run.cpu_begin = cpu();
	}
	run.bytes += bytes;
	run.messages++;
}

static void
print_result(void)
{
	double used = cpu() - run.cpu_begin, seconds = run.end - run.begin, gigabytes = (double)run.bytes / 1e9;

	printf("{\"protocol\":\"%s\",\"role\":\"%s\",\"size\":%u,\"bytes\":%" PRIu64 ",\"calls\":%" PRIu64
	       ",\"seconds\":%.3f,\"goodput_mbit\":%.1f,\"cpu_seconds\":%.3f,\"cpu_per_gb\":%.2f}\n",
	       options.protocol, options.source ? "source" : "sink", options.size, run.bytes, run.messages, seconds,
	       seconds > 0 ? (double)run.bytes * 8 / seconds / 1e6 : 0, used, gigabytes > 0 ? used / gigabytes : 0);
	fflush(stdout);
}

static bool
fail(const char *what)
{
	fprintf(stderr, "%s %s: %s\n", options.protocol, what, strerror(errno));
	return false;
}

/* ---- usrsctp ---- */

static int
receive(struct socket *socket, union sctp_sockstore from, void *data, size_t length, struct sctp_rcvinfo info, int flags,
        void *argument)
{
	(void)socket, (void)from, (void)info, (void)argument;
	if (data == NULL) {
		run.over = true;
		return 1;
	}
	if (!(flags & MSG_NOTIFICATION)) {
		count(length);
		run.end = now();
	}
	free(data);
	return 1;
}

static void
send_while_writable(struct socket *socket, void *argument, int flags)
{
	struct sctp_sndinfo info = { .snd_flags = options.unordered ? SCTP_UNORDERED : 0 };
	int events = usrsctp_get_events(socket);

	(void)argument, (void)flags;
	run.over |= (events & SCTP_EVENT_ERROR) != 0;
	while (!run.over && (usrsctp_get_events(socket) & SCTP_EVENT_WRITE)) {
		if (usrsctp_sendv(socket, run.data, options.size, NULL, 0, &info, sizeof(info), SCTP_SENDV_SNDINFO, 0) < 0) {
			run.over |= errno != EWOULDBLOCK && errno != EAGAIN;
			return;
		}
		count(options.size);
		run.over |= run.end > 0;
	}
}

static bool
sctp_source(struct socket *socket)
{
	usrsctp_set_non_blocking(socket, 1);
	usrsctp_set_upcall(socket, send_while_writable, NULL);
	if (!stack_connect(&options.stack, socket))
		return false;
	for (int i = 0; i < 100 && run.bytes == 0; i++)
		usleep(50000);
	if (run.bytes == 0) {
		errno = ETIMEDOUT;
		return fail("connect");
	}
	sleep(options.seconds);
	run.end = now();
	usleep(200000);
	usrsctp_shutdown(socket, SHUT_WR);
	return true;
}

static bool
sctp_sink(struct socket *socket)
{
	double last = 0;

	if (usrsctp_listen(socket, 1) != 0)
		return fail("listen");
	fprintf(stderr, "listening\n");
	if (usrsctp_accept(socket, NULL, NULL) == NULL)
		return fail("accept");
	while (!run.over && (run.end == 0 || run.end != last)) {
		last = run.end;
		sleep(1);
	}
	return true;
}

static bool
sctp(void)
{
	struct socket *socket;
	bool good;

	stack_open(&options.stack);
	socket = stack_socket(&options.stack, options.source ? NULL : receive, NULL);
	good = socket != NULL && (options.source ? sctp_source(socket) : sctp_sink(socket));
	if (good)
		print_result();
	return good;
}

/* ---- the kernel's ---- */

static int
stream_socket(void)
{
	int domain = options.stack.local != NULL && strchr(options.stack.local, ':') != NULL ? AF_INET6 : AF_INET;
	int fd = socket(domain, SOCK_STREAM, strcmp(options.protocol, "mptcp") == 0 ? IPPROTO_MPTCP : 0);
	const int on = 1;

	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (options.socket_buffer > 0) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &options.socket_buffer, sizeof(options.socket_buffer));
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &options.socket_buffer, sizeof(options.socket_buffer));
	}
	return fd;
}

static bool
stream_source(int fd)
{
	struct addresses remote;
	double end;

	if (!addresses_parse(&remote, options.stack.remote, options.stack.remote_port))
		return false;
	if (connect(fd, &remote.first, (socklen_t)address_size(&remote.first)) != 0)
		return fail("connect");
	end = now() + options.seconds;
	while (now() < end) {
		ssize_t sent = write(fd, run.data, options.size);

		if (sent < 0)
			return fail("write");
		count((size_t)sent);
	}
	run.end = now();
	shutdown(fd, SHUT_WR);
	return true;
}

static bool
stream_sink(int listener)
{
	struct addresses local;
	size_t room = 256 << 10;
	uint8_t *data = malloc(room);
	ssize_t got;
	int fd;

	if (!addresses_parse(&local, options.stack.local, options.stack.port))
		return false;
	if (bind(listener, &local.first, (socklen_t)address_size(&local.first)) != 0 || listen(listener, 1) != 0)
		return fail("bind");
	fprintf(stderr, "listening\n");
	fd = accept(listener, NULL, NULL);
	while ((got = read(fd, data, room)) > 0)
		count((size_t)got);
	run.end = now();
	return got == 0;
}

static bool
stream(void)
{
	int fd = stream_socket();

	if (fd < 0)
		return fail("socket");
	if (!(options.source ? stream_source(fd) : stream_sink(fd)))
		return false;
	print_result();
	return true;
}

/* ---- command line ---- */

static const char usage[] =
	"usage: bench sctp|tcp|mptcp source|sink --local ADDR[,ADDR...] [--remote ADDR[,ADDR...]] [OPTION...]\n"
	"  --size BYTES      of a message, or of a write (1444: fills a packet of 1500)\n"
	"  --time S          (5)\n"
	"  --unordered       SCTP: U bit\n"
	"  --cmt N           SCTP: 0 off, 1 CMT, 2 CMT/RPv1, 3 CMT/RPv2, 4 like MPTCP (0)\n"
	"  --dac --nr-sack   SCTP: DAC, NR-SACK\n"
	"  --bundle          SCTP: wait for full packets (Nagle)\n"
	"  --buffer BYTES    of the sender and the receiver (SCTP 262144, else the kernel's choice)\n"
	"  --rto MIN         SCTP: RTO.Min, ms (1000)\n"
	"  --port N --udp N  SCTP or TCP port (5001), UDP port of the encapsulation (9899), at both ends\n"
	"TCP and MPTCP use the first address; MPTCP's further ones are the kernel's: see ip-mptcp(8).\n"
	"example: bench sctp sink --local 10.0.0.2 & bench sctp source --local 10.0.0.1 --remote 10.0.0.2\n";

static const struct option long_options[] = {
	{ "local", required_argument, NULL, 'l' },  { "remote", required_argument, NULL, 'r' },
	{ "size", required_argument, NULL, 's' },   { "time", required_argument, NULL, 't' },
	{ "unordered", no_argument, NULL, 'U' },    { "cmt", required_argument, NULL, 'c' },
	{ "bundle", no_argument, NULL, 'B' },       { "dac", no_argument, NULL, 'D' },
	{ "nr-sack", no_argument, NULL, 'N' },     { "buffer", required_argument, NULL, 'b' },
	{ "rto", required_argument, NULL, 'o' },    { "port", required_argument, NULL, 'p' },
	{ "udp", required_argument, NULL, 'u' },    { NULL, 0, NULL, 0 },
};

static void
option(int letter, const char *value)
{
	struct stack *stack = &options.stack;
	unsigned long number = value != NULL ? strtoul(value, NULL, 10) : 0;

	switch (letter) {
	case 'l': stack->local = value; break;
	case 'r': stack->remote = value; break;
	case 's': options.size = (uint32_t)number; break;
	case 't': options.seconds = (unsigned)number; break;
	case 'U': options.unordered = true; break;
	case 'c': stack->cmt = (int)number; break;
	case 'B': stack->no_delay = false; break;
	case 'D': stack->dac = true; break;
	case 'N': stack->nr_sack = true; break;
	case 'b': stack->buffer = options.socket_buffer = (uint32_t)number; break;
	case 'o': stack->rto_min_ms = (uint32_t)number; break;
	case 'p': stack->port = stack->remote_port = (uint16_t)number; break;
	case 'u': stack->udp = stack->remote_udp = (uint16_t)number; break;
	default: fputs(usage, stderr); exit(2);
	}
}

int
main(int argc, char **argv)
{
	int letter;
	bool good;

	options.stack = stack_defaults;
	while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		option(letter, optarg);
	if (optind != argc - 2 || options.stack.local == NULL || options.size == 0) {
		fputs(usage, stderr);
		return 2;
	}
	options.protocol = argv[optind];
	options.source = strcmp(argv[optind + 1], "source") == 0;
	if (options.source && options.stack.remote == NULL) {
		fputs(usage, stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	alarm(options.seconds + 60);
	run.data = calloc(1, options.size);
	good = strcmp(options.protocol, "sctp") == 0 ? sctp() : stream();
	fflush(NULL);
	_exit(good ? 0 : 1);
}
