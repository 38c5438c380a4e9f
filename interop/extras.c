#include "extras.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sctp.h"

/* usrsctp 0.9.5 has it, its header does not. */
#ifndef SCTP_INTERLEAVING_SUPPORTED
#define SCTP_INTERLEAVING_SUPPORTED 0x00001206
#endif

static bool
set_key(struct socket *socket, const char *text)
{
	size_t length = strlen(text);
	struct sctp_authkey *key = calloc(1, sizeof(*key) + length);
	struct sctp_authkeyid active = { .scact_assoc_id = SCTP_FUTURE_ASSOC, .scact_keynumber = EXTRAS_KEY };
	bool good;

	key->sca_assoc_id = SCTP_FUTURE_ASSOC;
	key->sca_keynumber = EXTRAS_KEY;
	key->sca_keylength = (uint16_t)length;
	memcpy(key->sca_key, text, length);
	good = set_option(socket, SCTP_AUTH_KEY, key, sizeof(*key) + length, "SCTP_AUTH_KEY");
	free(key);
	return good && set_option(socket, SCTP_AUTH_ACTIVE_KEY, &active, sizeof(active), "SCTP_AUTH_ACTIVE_KEY");
}

/* An association takes its keys from the socket, but not always the choice among them. */
bool
extras_choose_key(const struct extras *extras, struct socket *socket)
{
	struct sctp_authkeyid active = { .scact_keynumber = EXTRAS_KEY };

	return extras->key == NULL ||
	       set_option(socket, SCTP_AUTH_ACTIVE_KEY, &active, sizeof(active), "SCTP_AUTH_ACTIVE_KEY");
}

static bool
demand_auth(struct socket *socket, const char *list)
{
	char *copy = strdup(list), *rest = copy, *word;
	bool good = true;

	while (good && (word = strsep(&rest, ",")) != NULL) {
		struct sctp_authchunk chunk = { .sauth_chunk = (uint8_t)atoi(word) };

		good = set_option(socket, SCTP_AUTH_CHUNK, &chunk, sizeof(chunk), "SCTP_AUTH_CHUNK");
	}
	free(copy);
	return good;
}

static bool
interleave(struct socket *socket)
{
	struct sctp_assoc_value on = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 1 };
	const int level = 2; /* RFC 8260 section 4.3.1: messages of all streams may mix */

	return set_option(socket, SCTP_FRAGMENT_INTERLEAVE, &level, sizeof(level), "SCTP_FRAGMENT_INTERLEAVE") &&
	       set_option(socket, SCTP_INTERLEAVING_SUPPORTED, &on, sizeof(on), "SCTP_INTERLEAVING_SUPPORTED");
}

static bool
subscribe(struct socket *socket)
{
	const uint16_t types[] = { SCTP_STREAM_RESET_EVENT, SCTP_STREAM_CHANGE_EVENT, SCTP_SEND_FAILED_EVENT };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct sctp_event event = { .se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = types[i], .se_on = 1 };

		if (!set_option(socket, SCTP_EVENT, &event, sizeof(event), "SCTP_EVENT"))
			return false;
	}
	return true;
}

bool
extras_prepare(const struct extras *extras, struct socket *socket)
{
	struct sctp_assoc_value allow = { .assoc_id = SCTP_FUTURE_ASSOC };

	allow.assoc_value = SCTP_ENABLE_RESET_STREAM_REQ | SCTP_ENABLE_RESET_ASSOC_REQ | SCTP_ENABLE_CHANGE_ASSOC_REQ;
	if (!set_option(socket, SCTP_ENABLE_STREAM_RESET, &allow, sizeof(allow), "SCTP_ENABLE_STREAM_RESET"))
		return false;
	if (extras->key != NULL && !set_key(socket, extras->key))
		return false;
	if (extras->auth_chunks != NULL && !demand_auth(socket, extras->auth_chunks))
		return false;
	return (!extras->i_data || interleave(socket)) && subscribe(socket);
}

/* Until a counter moves, five seconds at most. */
static bool
wait_for(const char *what, _Atomic unsigned *counter, unsigned before)
{
	for (int i = 0; i < 5000 && *counter == before; i++)
		usleep(1000);
	if (*counter == before)
		fprintf(stderr, "%s: no answer within 5 s\n", what);
	return *counter != before;
}

static bool
reset_streams(struct changes *changes, struct socket *socket)
{
	struct sctp_reset_streams reset = { .srs_flags = SCTP_STREAM_RESET_OUTGOING }; /* of all streams */
	unsigned before = changes->resets_out;

	return set_option(socket, SCTP_RESET_STREAMS, &reset, sizeof(reset), "SCTP_RESET_STREAMS") &&
	       wait_for("SCTP_RESET_STREAMS", &changes->resets_out, before);
}

static bool
add_streams(const struct extras *extras, struct changes *changes, struct socket *socket)
{
	struct sctp_add_streams add = { .sas_outstrms = extras->add_streams };
	unsigned before = changes->streams_added;

	return set_option(socket, SCTP_ADD_STREAMS, &add, sizeof(add), "SCTP_ADD_STREAMS") &&
	       wait_for("SCTP_ADD_STREAMS", &changes->streams_added, before);
}

static bool
change_address(struct socket *socket, const char *text, uint16_t port, int how)
{
	struct addresses address;

	if (!addresses_parse(&address, text, port))
		return false;
	if (usrsctp_bindx(socket, &address.first, address.count, how) == 0)
		return true;
	fprintf(stderr, "bindx %s: %s\n", text, strerror(errno));
	return false;
}

/* Messages wait while the association is set up; changes to it are refused until then. */
static bool
wait_until_open(struct socket *socket)
{
	struct sctp_status status = { 0 };
	socklen_t length = sizeof(status);

	for (int i = 0; i < 5000; i++) {
		if (usrsctp_getsockopt(socket, IPPROTO_SCTP, SCTP_STATUS, &status, &length) == 0 &&
		    status.sstat_state == SCTP_ESTABLISHED)
			return true;
		usleep(1000);
	}
	fprintf(stderr, "not established within 5 s\n");
	return false;
}

static bool
is_due(const struct extras *extras, uint64_t sent)
{
	return sent == extras->add_address_after || sent == extras->drop_address_after || sent == extras->reset_after ||
	       sent == extras->add_streams_after;
}

bool
extras_act(const struct extras *extras, struct changes *changes, struct socket *socket, uint64_t sent, uint16_t port)
{
	bool good = true;

	if (sent == 0 || !is_due(extras, sent))
		return true;
	if (!wait_until_open(socket))
		return false;
	if (sent == extras->add_address_after)
		good &= change_address(socket, extras->add_address, port, SCTP_BINDX_ADD_ADDR);
	if (sent == extras->drop_address_after)
		good &= change_address(socket, extras->drop_address, port, SCTP_BINDX_REM_ADDR);
	if (sent == extras->reset_after)
		good &= reset_streams(changes, socket);
	if (sent == extras->add_streams_after)
		good &= add_streams(extras, changes, socket);
	return good;
}

static void
note_reset(struct changes *changes, const struct sctp_stream_reset_event *event)
{
	const uint16_t refused = SCTP_STREAM_RESET_DENIED | SCTP_STREAM_RESET_FAILED;

	changes->resets_failed += (event->strreset_flags & refused) != 0;
	changes->resets_in += (event->strreset_flags & SCTP_STREAM_RESET_INCOMING_SSN) != 0;
	changes->resets_out += (event->strreset_flags & SCTP_STREAM_RESET_OUTGOING_SSN) != 0;
}

static void
note_change(struct changes *changes, const struct sctp_stream_change_event *event)
{
	const uint16_t refused = SCTP_STREAM_CHANGE_DENIED | SCTP_STREAM_CHANGE_FAILED;

	if ((event->strchange_flags & refused) != 0)
		changes->resets_failed++;
	else
		changes->streams_added++;
}

void
extras_note(struct changes *changes, const union sctp_notification *notification)
{
	switch (notification->sn_header.sn_type) {
	case SCTP_STREAM_RESET_EVENT:
		note_reset(changes, &notification->sn_strreset_event);
		break;
	case SCTP_STREAM_CHANGE_EVENT:
		note_change(changes, &notification->sn_strchange_event);
		break;
	case SCTP_SEND_FAILED_EVENT:
		changes->abandoned++;
		break;
	}
}
