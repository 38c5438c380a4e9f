#include "sctp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct stack stack_defaults = {
	.port = 5001,
	.remote_port = 5001,
	.udp = 9899,
	.remote_udp = 9899,
	.streams = 1,
	.buffer = 256 << 10,
	.heartbeat_ms = 30000,
	.rto_min_ms = 1000,
	.rto_initial_ms = 1000,
	.rto_max_ms = 60000,
	.sack_delay_ms = 200,
	.no_delay = true,
};

size_t
address_size(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static bool
address_append(struct addresses *addresses, const char *text, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	const void *address = &v4;
	size_t length = sizeof(v4);

	if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) {
		address = &v6;
		length = sizeof(v6);
		addresses->ipv6 = true;
	} else if (inet_pton(AF_INET, text, &v4.sin_addr) != 1) {
		return false;
	}
	if (addresses->count == MAX_ADDRESSES)
		return false;
	memcpy(addresses->bytes + addresses->length, address, length);
	addresses->length += length;
	addresses->count++;
	return true;
}

bool
addresses_parse(struct addresses *addresses, const char *text, uint16_t port)
{
	char *copy = strdup(text), *rest = copy, *word;
	bool good = true;

	memset(addresses, 0, sizeof(*addresses));
	while (good && (word = strsep(&rest, ",")) != NULL)
		good = address_append(addresses, word, port);
	free(copy);
	if (!good)
		fprintf(stderr, "addresses %s: IPv4 or IPv6 with commas between, %d at most\n", text, MAX_ADDRESSES);
	return good;
}

void
stack_open(const struct stack *stack)
{
	usrsctp_init(stack->udp, NULL, NULL);
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	usrsctp_sysctl_set_sctp_enable_sack_immediately(1);
	usrsctp_sysctl_set_sctp_sendspace(stack->buffer);
	usrsctp_sysctl_set_sctp_recvspace(stack->buffer);
	usrsctp_sysctl_set_sctp_nr_outgoing_streams_default(stack->streams);
	usrsctp_sysctl_set_sctp_heartbeat_interval_default(stack->heartbeat_ms);
	usrsctp_sysctl_set_sctp_rto_min_default(stack->rto_min_ms);
	usrsctp_sysctl_set_sctp_rto_initial_default(stack->rto_initial_ms);
	usrsctp_sysctl_set_sctp_init_rto_max_default(stack->rto_max_ms);
	usrsctp_sysctl_set_sctp_rto_max_default(stack->rto_max_ms);
	usrsctp_sysctl_set_sctp_delayed_sack_time_default(stack->sack_delay_ms);
	usrsctp_sysctl_set_sctp_cmt_on_off((uint32_t)stack->cmt);
	usrsctp_sysctl_set_sctp_cmt_use_dac(stack->dac);
	usrsctp_sysctl_set_sctp_nrsack_enable(stack->nr_sack);
	usrsctp_sysctl_set_sctp_buffer_splitting(stack->buffer_splitting ? 3 : 0);
}

void
stack_close(void)
{
	for (int i = 0; i < 20 && usrsctp_finish() != 0; i++)
		usleep(50000);
}

bool
set_option(struct socket *socket, int option, const void *value, size_t length, const char *name)
{
	if (usrsctp_setsockopt(socket, IPPROTO_SCTP, option, value, (socklen_t)length) == 0)
		return true;
	fprintf(stderr, "%s: %s\n", name, strerror(errno));
	return false;
}

/* The peer's UDP port, for addresses of `family` that have none of their own yet. */
static bool
set_remote_udp(struct socket *socket, sa_family_t family, uint16_t port)
{
	struct sctp_udpencaps encaps = { .sue_port = htons(port) };

	encaps.sue_address.ss_family = family;
	return set_option(socket, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof(encaps), "SCTP_REMOTE_UDP_ENCAPS_PORT");
}

static bool
set_path_mtu(struct socket *socket, uint32_t path_mtu)
{
	struct sctp_paddrparams params = { .spp_pathmtu = path_mtu, .spp_flags = SPP_PMTUD_DISABLE };

	params.spp_address.ss_family = AF_INET;
	return set_option(socket, SCTP_PEER_ADDR_PARAMS, &params, sizeof(params), "SCTP_PEER_ADDR_PARAMS");
}

static bool
set_up(struct socket *socket, const struct stack *stack, const struct addresses *local)
{
	struct sctp_initmsg init = { .sinit_num_ostreams = stack->streams, .sinit_max_instreams = 65535 };
	struct sctp_assoc_value fragment = { .assoc_value = stack->fragment };
	const int on = 1, no_delay = stack->no_delay;

	if (!set_option(socket, SCTP_INITMSG, &init, sizeof(init), "SCTP_INITMSG") ||
	    !set_option(socket, SCTP_RECVRCVINFO, &on, sizeof(on), "SCTP_RECVRCVINFO") ||
	    !set_option(socket, SCTP_NODELAY, &no_delay, sizeof(no_delay), "SCTP_NODELAY") ||
	    !set_remote_udp(socket, local->ipv6 ? AF_INET6 : AF_INET, stack->remote_udp))
		return false;
	if (stack->fragment != 0 && !set_option(socket, SCTP_MAXSEG, &fragment, sizeof(fragment), "SCTP_MAXSEG"))
		return false;
	return stack->path_mtu == 0 || set_path_mtu(socket, stack->path_mtu);
}

struct socket *
stack_socket(const struct stack *stack, receive_callback receive, void *argument)
{
	struct addresses local;
	struct socket *socket;

	if (!addresses_parse(&local, stack->local, stack->port))
		return NULL;
	socket = usrsctp_socket(local.ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM, IPPROTO_SCTP, receive, NULL, 0, argument);
	if (socket == NULL) {
		fprintf(stderr, "socket: %s\n", strerror(errno));
		return NULL;
	}
	if (!set_up(socket, stack, &local))
		return NULL;
	if (usrsctp_bindx(socket, &local.first, local.count, SCTP_BINDX_ADD_ADDR) != 0) {
		fprintf(stderr, "bind %s port %u: %s\n", stack->local, stack->port, strerror(errno));
		return NULL;
	}
	return socket;
}

bool
stack_connect(const struct stack *stack, struct socket *socket)
{
	struct addresses remote;

	if (!addresses_parse(&remote, stack->remote, stack->remote_port))
		return false;
	if (usrsctp_connectx(socket, &remote.first, remote.count, NULL) != 0 && errno != EINPROGRESS) {
		fprintf(stderr, "connect %s port %u: %s\n", stack->remote, stack->remote_port, strerror(errno));
		return false;
	}
	return true;
}
