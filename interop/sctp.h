/* Setting up usrsctp over UDP encapsulation, for peer and bench. */
#ifndef SCTP_H
#define SCTP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <usrsctp.h>

#define MAX_ADDRESSES 16

/* One behind the other, each as long as its family wants it: the form that bindx and connectx take. */
struct addresses {
	union {
		struct sockaddr first;
		uint8_t bytes[MAX_ADDRESSES * sizeof(struct sockaddr_in6)];
	};
	size_t length;
	int count;
	bool ipv6;
};

struct stack {
	const char *local, *remote; /* addresses, with commas between */
	uint16_t port, remote_port; /* of SCTP */
	uint16_t udp, remote_udp; /* 0: over IP itself, protocol 132 */
	uint16_t streams;
	uint32_t buffer;   /* bytes, each of sending and receiving */
	uint32_t fragment; /* bytes of a DATA chunk at most; 0: what the path MTU admits */
	uint32_t path_mtu; /* 0: left to the stack */
	uint32_t heartbeat_ms;
	uint32_t rto_min_ms, rto_initial_ms, rto_max_ms;
	uint32_t sack_delay_ms;
	int cmt; /* 0 off, 1 CMT, 2 CMT/RPv1, 3 CMT/RPv2, 4 like MPTCP */
	bool dac, nr_sack, buffer_splitting;
	bool no_delay; /* Nagle's algorithm off */
};

extern const struct stack stack_defaults;

bool addresses_parse(struct addresses *addresses, const char *text, uint16_t port);
size_t address_size(const struct sockaddr *address);

void stack_open(const struct stack *stack);
/* Waits at most a second for associations to end. */
void stack_close(void);

typedef int (*receive_callback)(struct socket *, union sctp_sockstore, void *, size_t, struct sctp_rcvinfo, int,
                                void *);

/* A socket bound to the local addresses; NULL and a line on stderr where that fails. */
struct socket *stack_socket(const struct stack *stack, receive_callback receive, void *argument);
bool stack_connect(const struct stack *stack, struct socket *socket);
bool set_option(struct socket *socket, int option, const void *value, size_t length, const char *name);

#endif
