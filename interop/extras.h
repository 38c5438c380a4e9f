/* Extensions of RFC 9260 that a conversation uses, and what is done in the middle of it. */
#ifndef EXTRAS_H
#define EXTRAS_H

#include <stdbool.h>
#include <stdint.h>
#include <usrsctp.h>

enum { EXTRAS_KEY = 1 }; /* number of the shared key */

struct extras {
	const char *key;         /* shared key 1 of RFC 4895; NULL: the empty key 0 */
	const char *auth_chunks; /* types that the peer has to authenticate, with commas between */
	bool i_data;
	uint16_t pr_policy; /* SCTP_PR_SCTP_NONE: all is reliable */
	uint32_t pr_value;
	/* After so many sent messages, 0: not at all */
	uint32_t reset_after, add_streams_after, add_address_after, drop_address_after;
	uint16_t add_streams; /* outgoing ones */
	const char *add_address, *drop_address;
};

/* What the notifications told. */
struct changes {
	_Atomic unsigned resets_in, resets_out, resets_failed, streams_added, abandoned;
};

/* Before the association: false and a line on stderr where it fails. */
bool extras_prepare(const struct extras *extras, struct socket *socket);
/* Once there is an association. */
bool extras_choose_key(const struct extras *extras, struct socket *socket);
/* Between two messages, `sent` of which have been sent. */
bool extras_act(const struct extras *extras, struct changes *changes, struct socket *socket, uint64_t sent,
                uint16_t port);
void extras_note(struct changes *changes, const union sctp_notification *notification);

#endif
