/*
 * The peer of the interop tests: one usrsctp association over UDP encapsulation. It sends verified messages
 * (message.h), receives and checks them, echoes what comes, and ends the association in one of several ways. One
 * JSON line on stdout tells what happened.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "extras.h"
#include "message.h"
#include "sctp.h"

enum { VERIFIED = 0, FAULTY = 1, USAGE = 2, NO_ASSOCIATION = 3, TIMED_OUT = 4 };

enum ending { WAIT, SHUTDOWN, ABORT, VANISH };

static struct options {
	bool server, echo, unordered, immediate, partial, skips;
	uint64_t send, expect;
	uint32_t delay_ms; /* between messages */
	enum ending ending;
	unsigned timeout_s;
	uint32_t linger_ms; /* to answer a peer that missed the end */
	struct plan plan;
	struct stack stack;
	struct extras extras;
} options = { .expect = 0, .timeout_s = 60, .plan = { .seed = 1, .streams = 1 } };

static struct state {
	struct socket *socket;
	pthread_mutex_t lock; /* of what follows, but for the ledger: only the receiving thread has that */
	_Atomic uint64_t sent;
	bool all_sent, all_received, ended;
	struct ledger ledger;
	const char *closed;
	unsigned restarts, confirmed, unreachable;
	unsigned streams_in, streams_out;
	struct changes changes;
	char peer_addresses[1024];
	struct timespec begin;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .closed = "no" };

static double
seconds_since(const struct timespec *begin)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begin->tv_sec) + (double)(now.tv_nsec - begin->tv_nsec) / 1e9;
}

/* ---- results ---- */

static bool
is_verified(void)
{
	const struct ledger *ledger = &state.ledger;
	bool complete = ledger->received == ledger->count && state.sent >= options.send;

	return ledger->faults == 0 && (complete || options.partial);
}

static void
print_result(void)
{
	const struct ledger *ledger = &state.ledger;
	struct sctpstat stat;

	usrsctp_get_stat(&stat);
	printf("{\"role\":\"%s\",\"verified\":%s,\"closed\":\"%s\",\"sent\":%" PRIu64 ",\"received\":%" PRIu64
	       ",\"bytes\":%" PRIu64 ",\"faults\":%" PRIu64 ",\"first_fault\":\"%s\"",
	       options.server ? "server" : "client", is_verified() ? "true" : "false", state.closed, state.sent,
	       ledger->received, ledger->bytes, ledger->faults, ledger->first_fault);
	printf(",\"restarts\":%u,\"streams_in\":%u,\"streams_out\":%u,\"peer_addresses\":[%s],\"confirmed\":%u"
	       ",\"unreachable\":%u,\"seconds\":%.3f",
	       state.restarts, state.streams_in, state.streams_out, state.peer_addresses, state.confirmed,
	       state.unreachable, seconds_since(&state.begin));
	printf(",\"resets_in\":%u,\"resets_out\":%u,\"refused\":%u,\"streams_added\":%u,\"abandoned\":%u",
	       state.changes.resets_in, state.changes.resets_out, state.changes.resets_failed, state.changes.streams_added,
	       state.changes.abandoned);
	printf(",\"retransmitted\":%u,\"fast_retransmitted\":%u,\"timeouts\":%u,\"duplicates\":%u"
	       ",\"bad_checksums\":%u,\"bad_tags\":%u,\"out_of_the_blue\":%u}\n",
	       stat.sctps_sendretransdata, stat.sctps_sendfastretrans, stat.sctps_timodata, stat.sctps_recvdupdata,
	       stat.sctps_badsum, stat.sctps_badvtag, stat.sctps_outoftheblue);
	fflush(stdout);
}

static _Noreturn void
leave(int code)
{
	print_result();
	fflush(stderr);
	_exit(code);
}

static void *
watch_clock(void *unused)
{
	(void)unused;
	sleep(options.timeout_s);
	fprintf(stderr, "nothing came of it within %u s\n", options.timeout_s);
	leave(TIMED_OUT);
}

static void
note_peer_addresses(void)
{
	struct sockaddr *addresses, *address;
	int count = usrsctp_getpaddrs(state.socket, 0, &addresses);
	size_t length = 0;

	if (count <= 0)
		return;
	address = addresses;
	for (int i = 0; i < count && length < sizeof(state.peer_addresses) - 64; i++) {
		char text[INET6_ADDRSTRLEN];
		bool ipv6 = address->sa_family == AF_INET6;
		const void *raw = ipv6 ? (void *)&((struct sockaddr_in6 *)address)->sin6_addr
		                       : (void *)&((struct sockaddr_in *)address)->sin_addr;

		inet_ntop(address->sa_family, raw, text, sizeof(text));
		length += (size_t)sprintf(state.peer_addresses + length, "%s\"%s\"", i == 0 ? "" : ",", text);
		address = (struct sockaddr *)((uint8_t *)address + address_size(address));
	}
	usrsctp_freepaddrs(addresses);
}

/* ---- sending ---- */

static bool
send_message(const void *data, size_t length, uint16_t stream, uint32_t number, uint16_t flags)
{
	struct sctp_sndinfo info = { .snd_sid = stream, .snd_ppid = htonl(number), .snd_flags = flags };
	struct sctp_sendv_spa all = { .sendv_flags = SCTP_SEND_SNDINFO_VALID | SCTP_SEND_PRINFO_VALID };

	if (options.extras.pr_policy == SCTP_PR_SCTP_NONE)
		return usrsctp_sendv(state.socket, data, length, NULL, 0, &info, sizeof(info), SCTP_SENDV_SNDINFO, 0) >= 0;
	all.sendv_sndinfo = info;
	all.sendv_prinfo.pr_policy = options.extras.pr_policy;
	all.sendv_prinfo.pr_value = options.extras.pr_value;
	return usrsctp_sendv(state.socket, data, length, NULL, 0, &all, sizeof(all), SCTP_SENDV_SPA, 0) >= 0;
}

/* Once all is sent and received; whichever thread comes last gets here. */
static void
end_association(void)
{
	switch (options.ending) {
	case SHUTDOWN:
		usrsctp_shutdown(state.socket, SHUT_WR);
		break;
	case ABORT:
		state.closed = "own abort";
		if (!send_message("", 0, 0, 0, SCTP_ABORT))
			fprintf(stderr, "abort: %s\n", strerror(errno));
		break;
	case VANISH:
		state.closed = "vanished";
		/* The stack's own threads go on meanwhile. */
		usleep(options.linger_ms * 1000);
		leave(is_verified() ? VERIFIED : FAULTY);
	case WAIT:
		break;
	}
}

static void
done(bool *part)
{
	bool last;

	pthread_mutex_lock(&state.lock);
	*part = true;
	last = state.all_sent && state.all_received && !state.ended;
	state.ended |= last;
	pthread_mutex_unlock(&state.lock);
	if (last)
		end_association();
}

static void *
send_all(void *unused)
{
	const struct plan *plan = &options.plan;
	uint16_t flags = (uint16_t)((options.unordered ? SCTP_UNORDERED : 0) | (options.immediate ? SCTP_SACK_IMMEDIATELY : 0));
	uint8_t *data = malloc(plan_largest(plan));

	(void)unused;
	for (uint64_t k = 0; k < options.send; k++) {
		size_t length = message_length(plan, k);

		message_fill(plan, k, data, length);
		bool sent = send_message(data, length, (uint16_t)(k % plan->streams), (uint32_t)(k / plan->streams), flags);

		/* A stream that is being reset takes none for the time being. */
		for (int i = 0; !sent && errno == EAGAIN && i < 5000; i++) {
			usleep(1000);
			sent = send_message(data, length, (uint16_t)(k % plan->streams), (uint32_t)(k / plan->streams), flags);
		}
		if (!sent) {
			fprintf(stderr, "send of message %" PRIu64 ": %s\n", k, strerror(errno));
			break;
		}
		state.sent++;
		if (!extras_act(&options.extras, &state.changes, state.socket, state.sent, options.stack.port))
			break;
		usleep(options.delay_ms * 1000);
	}
	free(data);
	done(&state.all_sent);
	return NULL;
}

/* ---- receiving ---- */

static void
handle_change(const struct sctp_assoc_change *change)
{
	switch (change->sac_state) {
	case SCTP_COMM_UP:
		state.streams_in = change->sac_inbound_streams;
		state.streams_out = change->sac_outbound_streams;
		break;
	case SCTP_RESTART:
		state.restarts++;
		state.streams_in = change->sac_inbound_streams;
		state.streams_out = change->sac_outbound_streams;
		ledger_reset(&state.ledger);
		break;
	case SCTP_COMM_LOST:
		if (strcmp(state.closed, "no") == 0)
			state.closed = change->sac_error == 0 ? "lost" : "abort";
		break;
	case SCTP_SHUTDOWN_COMP:
		state.closed = "shutdown";
		break;
	case SCTP_CANT_STR_ASSOC:
		state.closed = "refused";
		break;
	}
}

static void
handle_notification(const union sctp_notification *notification)
{
	extras_note(&state.changes, notification);
	switch (notification->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		handle_change(&notification->sn_assoc_change);
		break;
	case SCTP_PEER_ADDR_CHANGE:
		state.confirmed += notification->sn_paddr_change.spc_state == SCTP_ADDR_CONFIRMED;
		state.unreachable += notification->sn_paddr_change.spc_state == SCTP_ADDR_UNREACHABLE;
		break;
	}
}

static void
handle_message(const struct sctp_rcvinfo *info, const uint8_t *data, size_t length)
{
	uint16_t flags = info->rcv_flags & SCTP_UNORDERED;

	if (options.echo && !send_message(data, length, info->rcv_sid, ntohl(info->rcv_ppid), flags))
		ledger_fault(&state.ledger, "echo: %s", strerror(errno));
	if (options.echo)
		state.sent++;
	if (state.ledger.count > 0)
		ledger_enter(&state.ledger, info->rcv_sid, ntohl(info->rcv_ppid), data, length);
	if (state.ledger.count > 0 && state.ledger.received == state.ledger.count)
		done(&state.all_received);
}

/* Until the association is over. A message may come in several parts. */
static void
receive_all(void)
{
	size_t room = (size_t)plan_largest(&options.plan) + 4096, length = 0;
	uint8_t *data = malloc(room);

	for (;;) {
		struct sctp_rcvinfo info = { 0 };
		socklen_t info_length = sizeof(info);
		unsigned int type = 0;
		int flags = 0;
		ssize_t got = usrsctp_recvv(state.socket, data + length, room - length, NULL, NULL, &info, &info_length,
		                            &type, &flags);

		if (got == 0 && room == length) {
			ledger_fault(&state.ledger, "stream %u: a message longer than any that was sent", info.rcv_sid);
			break;
		}
		if (got <= 0)
			break;
		if (flags & MSG_NOTIFICATION) {
			handle_notification((const union sctp_notification *)(data + length));
			continue;
		}
		length += (size_t)got;
		if (flags & MSG_EOR) {
			handle_message(&info, data, length);
			length = 0;
		}
	}
	if (length > 0)
		ledger_fault(&state.ledger, "%zu bytes of a message without its end", length);
	free(data);
}

/* ---- the two roles ---- */

static void
subscribe(struct socket *socket)
{
	const uint16_t types[] = { SCTP_ASSOC_CHANGE, SCTP_PEER_ADDR_CHANGE };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct sctp_event event = { .se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = types[i], .se_on = 1 };

		set_option(socket, SCTP_EVENT, &event, sizeof(event), "SCTP_EVENT");
	}
}

static bool
associate(void)
{
	struct socket *socket = stack_socket(&options.stack, NULL, NULL);

	if (socket == NULL || !extras_prepare(&options.extras, socket))
		exit(USAGE);
	subscribe(socket);
	if (!options.server) {
		state.socket = socket;
		return stack_connect(&options.stack, socket) && extras_choose_key(&options.extras, socket);
	}
	if (usrsctp_listen(socket, 1) != 0) {
		fprintf(stderr, "listen: %s\n", strerror(errno));
		return false;
	}
	fprintf(stderr, "listening\n");
	state.socket = usrsctp_accept(socket, NULL, NULL);
	return state.socket != NULL;
}

/* How it ended where no notification told: the end of the peer's data comes before the last chunks are exchanged. */
static void
note_closed(int error)
{
	struct sctp_status status;
	struct sctpstat stat;
	socklen_t length = sizeof(status);

	while (usrsctp_getsockopt(state.socket, IPPROTO_SCTP, SCTP_STATUS, &status, &length) == 0)
		usleep(1000);
	usrsctp_get_stat(&stat);
	if (strcmp(state.closed, "no") == 0)
		state.closed = error == ECONNRESET || stat.sctps_aborted > 0 ? "abort" : "shutdown";
}

static int
run(void)
{
	pthread_t clock, sender;

	stack_open(&options.stack);
	if (!ledger_open(&state.ledger, &options.plan, options.expect, options.unordered, options.skips))
		return USAGE;
	pthread_create(&clock, NULL, watch_clock, NULL);
	clock_gettime(CLOCK_MONOTONIC, &state.begin);
	if (!associate()) {
		print_result();
		return NO_ASSOCIATION;
	}
	clock_gettime(CLOCK_MONOTONIC, &state.begin);
	note_peer_addresses();
	state.all_received = options.expect == 0;
	pthread_create(&sender, NULL, send_all, NULL);
	receive_all();
	note_closed(errno);
	print_result();
	usrsctp_close(state.socket);
	usleep(options.linger_ms * 1000);
	stack_close();
	return is_verified() ? VERIFIED : FAULTY;
}

/* ---- command line ---- */

static const char usage[] =
	"usage: peer server|client --local ADDR[,ADDR...] [--remote ADDR[,ADDR...]] [OPTION...]\n"
	"  --port N --remote-port N   SCTP ports (5001)\n"
	"  --udp N --remote-udp N     UDP ports that packets are encapsulated with (9899)\n"
	"  --raw                      no UDP: SCTP over IP itself\n"
	"  --send N                   messages to send (0)\n"
	"  --expect N                 messages to receive and check (0: receive any, check none)\n"
	"  --partial                  fewer than that are no fault\n"
	"  --skips                    nor is a message left out, as long as order is kept\n"
	"  --echo                     send back what comes\n"
	"  --sizes A,B,... | A-B      message sizes, in turn or drawn from a range (100)\n"
	"  --streams N --seed N       (1, 1)\n"
	"  --unordered                U bit\n"
	"  --immediate                I bit\n"
	"  --delay MS                 between messages (0)\n"
	"  --end wait|shutdown|abort|vanish   once all is sent and received (wait: for the peer to end it)\n"
	"  --linger MS                stay after the end, for a peer that missed it, or before vanishing (0)\n"
	"  --timeout S                (60)\n"
	"  --buffer BYTES             send and receive buffer (4194304: holds the largest message)\n"
	"  --fragment BYTES           largest fragment (path MTU)\n"
	"  --mtu BYTES                path MTU\n"
	"  --cmt N                    0 off, 1 CMT, 2 CMT/RPv1, 3 CMT/RPv2, 4 like MPTCP (0)\n"
	"  --dac --nr-sack --split    DAC, NR-SACK, buffer splitting\n"
	"  --heartbeat MS             HB.interval (30000)\n"
	"  --rto MIN,INITIAL,MAX      ms (1000,1000,60000)\n"
	"  --sack-delay MS            (200)\n"
	"  --key TEXT                 shared key 1 of AUTH, in use (the empty key 0)\n"
	"  --auth-chunks N,...        chunk types that the peer has to authenticate beside ASCONF\n"
	"  --i-data                   I-DATA\n"
	"  --ttl MS | --rtx N | --priority N   messages may be given up: by age, by retransmissions, for others\n"
	"  --reset-after N            outgoing streams are reset after N messages\n"
	"  --add-streams N@K          N more outgoing streams after K messages\n"
	"  --add-address A@K --drop-address A@K   our addresses change after K messages\n"
	"prints one JSON line; exit code 0 verified, 1 not, 2 usage, 3 no association, 4 timed out\n"
	"example: peer server --local 10.0.0.2 --expect 100 &\n"
	"         peer client --local 10.0.0.1 --remote 10.0.0.2 --send 100 --end shutdown\n";

static _Noreturn void
wrong(const char *name, const char *value)
{
	fprintf(stderr, "--%s %s: not understood\n%s", name, value, usage);
	exit(USAGE);
}

static uint32_t
number(const char *name, const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text == '\0' || *end != '\0' || value > UINT32_MAX)
		wrong(name, text);
	return (uint32_t)value;
}

static enum ending
ending(const char *text)
{
	const char *names[] = { "wait", "shutdown", "abort", "vanish" };

	for (int i = 0; i < 4; i++)
		if (strcmp(text, names[i]) == 0)
			return (enum ending)i;
	wrong("end", text);
}

static void
rto(const char *text)
{
	struct stack *stack = &options.stack;

	if (sscanf(text, "%u,%u,%u", &stack->rto_min_ms, &stack->rto_initial_ms, &stack->rto_max_ms) != 3)
		wrong("rto", text);
}

static const struct option long_options[] = {
	{ "local", required_argument, NULL, 'l' },
	{ "remote", required_argument, NULL, 'r' },
	{ "port", required_argument, NULL, 'p' },
	{ "remote-port", required_argument, NULL, 'q' },
	{ "udp", required_argument, NULL, 'u' },
	{ "remote-udp", required_argument, NULL, 'v' },
	{ "raw", no_argument, NULL, 'R' },
	{ "send", required_argument, NULL, 's' },
	{ "expect", required_argument, NULL, 'e' },
	{ "partial", no_argument, NULL, 'P' },
	{ "echo", no_argument, NULL, 'E' },
	{ "sizes", required_argument, NULL, 'z' },
	{ "streams", required_argument, NULL, 'n' },
	{ "seed", required_argument, NULL, 'x' },
	{ "unordered", no_argument, NULL, 'U' },
	{ "immediate", no_argument, NULL, 'I' },
	{ "delay", required_argument, NULL, 'd' },
	{ "end", required_argument, NULL, 'w' },
	{ "linger", required_argument, NULL, 'L' },
	{ "timeout", required_argument, NULL, 't' },
	{ "buffer", required_argument, NULL, 'b' },
	{ "fragment", required_argument, NULL, 'f' },
	{ "mtu", required_argument, NULL, 'm' },
	{ "cmt", required_argument, NULL, 'c' },
	{ "dac", no_argument, NULL, 'D' },
	{ "nr-sack", no_argument, NULL, 'N' },
	{ "split", no_argument, NULL, 'S' },
	{ "heartbeat", required_argument, NULL, 'h' },
	{ "rto", required_argument, NULL, 'o' },
	{ "sack-delay", required_argument, NULL, 'k' },
	{ "skips", no_argument, NULL, 'G' },
	{ "key", required_argument, NULL, 'K' },
	{ "auth-chunks", required_argument, NULL, 'A' },
	{ "i-data", no_argument, NULL, 'i' },
	{ "ttl", required_argument, NULL, 'T' },
	{ "rtx", required_argument, NULL, 'X' },
	{ "priority", required_argument, NULL, 'Y' },
	{ "reset-after", required_argument, NULL, 'Z' },
	{ "add-streams", required_argument, NULL, 'M' },
	{ "add-address", required_argument, NULL, 'a' },
	{ "drop-address", required_argument, NULL, 'B' },
	{ NULL, 0, NULL, 0 },
};

/* "WHAT@K": puts K into `after`, cuts it off. */
static const char *
what_after(const char *name, char *text, uint32_t *after)
{
	char *at = strchr(text, '@');

	if (at == NULL)
		wrong(name, text);
	*at = '\0';
	*after = number(name, at + 1);
	return text;
}

static void
reliability(uint16_t policy, uint32_t value)
{
	options.extras.pr_policy = policy;
	options.extras.pr_value = value;
}

/* False: not one of these. */
static bool
extra_option(int letter, const char *name, char *value)
{
	struct extras *extras = &options.extras;

	switch (letter) {
	case 'K': extras->key = value; break;
	case 'A': extras->auth_chunks = value; break;
	case 'i': extras->i_data = true; break;
	case 'T': reliability(SCTP_PR_SCTP_TTL, number(name, value)); break;
	case 'X': reliability(SCTP_PR_SCTP_RTX, number(name, value)); break;
	case 'Y': reliability(SCTP_PR_SCTP_BUF, number(name, value)); break;
	case 'Z': extras->reset_after = number(name, value); break;
	case 'M': extras->add_streams = (uint16_t)atoi(what_after(name, value, &extras->add_streams_after)); break;
	case 'a': extras->add_address = what_after(name, value, &extras->add_address_after); break;
	case 'B': extras->drop_address = what_after(name, value, &extras->drop_address_after); break;
	default: return false;
	}
	return true;
}

static void
option(int letter, const char *name, char *value)
{
	struct stack *stack = &options.stack;

	if (extra_option(letter, name, value))
		return;
	switch (letter) {
	case 'l': stack->local = value; break;
	case 'r': stack->remote = value; break;
	case 'p': stack->port = (uint16_t)number(name, value); break;
	case 'q': stack->remote_port = (uint16_t)number(name, value); break;
	case 'u': stack->udp = (uint16_t)number(name, value); break;
	case 'v': stack->remote_udp = (uint16_t)number(name, value); break;
	case 'R': stack->udp = stack->remote_udp = 0; break;
	case 's': options.send = number(name, value); break;
	case 'e': options.expect = number(name, value); break;
	case 'P': options.partial = true; break;
	case 'G': options.skips = true; break;
	case 'E': options.echo = true; break;
	case 'z': if (!plan_sizes(&options.plan, value)) wrong(name, value); break;
	case 'n': options.plan.streams = number(name, value); break;
	case 'x': options.plan.seed = number(name, value); break;
	case 'U': options.unordered = true; break;
	case 'I': options.immediate = true; break;
	case 'd': options.delay_ms = number(name, value); break;
	case 'w': options.ending = ending(value); break;
	case 'L': options.linger_ms = number(name, value); break;
	case 't': options.timeout_s = number(name, value); break;
	case 'b': stack->buffer = number(name, value); break;
	case 'f': stack->fragment = number(name, value); break;
	case 'm': stack->path_mtu = number(name, value); break;
	case 'c': stack->cmt = (int)number(name, value); break;
	case 'D': stack->dac = true; break;
	case 'N': stack->nr_sack = true; break;
	case 'S': stack->buffer_splitting = true; break;
	case 'h': stack->heartbeat_ms = number(name, value); break;
	case 'o': rto(value); break;
	case 'k': stack->sack_delay_ms = number(name, value); break;
	default: fputs(usage, stderr); exit(USAGE);
	}
}

int
main(int argc, char **argv)
{
	int letter, index = 0;

	options.stack = stack_defaults;
	options.stack.buffer = 4 << 20;
	plan_sizes(&options.plan, "100");
	while ((letter = getopt_long(argc, argv, "", long_options, &index)) != -1)
		option(letter, letter == '?' ? "" : long_options[index].name, optarg);
	if (optind != argc - 1 || (strcmp(argv[optind], "server") != 0 && strcmp(argv[optind], "client") != 0)) {
		fputs(usage, stderr);
		return USAGE;
	}
	options.server = strcmp(argv[optind], "server") == 0;
	if (options.stack.local == NULL || (!options.server && options.stack.remote == NULL))
		wrong(options.stack.local == NULL ? "local" : "remote", "");
	if (options.plan.streams == 0 || options.plan.streams > 65535)
		wrong("streams", "");
	options.stack.streams = (uint16_t)options.plan.streams;
	signal(SIGPIPE, SIG_IGN);
	return run();
}
