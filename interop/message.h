/*
 * Messages whose stream, number, length and content follow from one seed, so that a receiver can check order,
 * completeness and content although a message may be a single byte long. The Rust side computes the same
 * (interop/src/message.rs).
 *
 * Message k goes to stream k mod streams and is number k / streams of it. The number travels as payload protocol
 * identifier, in network byte order; nothing else is added.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_SIZES 64

struct plan {
	uint64_t seed;
	uint32_t streams;
	uint32_t sizes[MAX_SIZES]; /* taken in turn; a range has two: least and greatest */
	uint32_t size_count;
	bool range;
};

/* "1,100,1452" or "1-1048576". */
bool plan_sizes(struct plan *plan, const char *text);
uint32_t plan_largest(const struct plan *plan);
uint32_t message_length(const struct plan *plan, uint64_t k);
void message_fill(const struct plan *plan, uint64_t k, uint8_t *data, size_t length);

/* What arrived of messages 0 .. count-1. */
struct ledger {
	const struct plan *plan;
	uint64_t count;
	bool unordered;
	bool skips; /* messages may be left out, but not overtake each other */
	uint64_t received;
	uint64_t bytes;
	uint64_t faults;
	char first_fault[160];
	uint32_t *next;  /* by stream: number due, where order is kept */
	uint8_t *seen;   /* by message */
	uint8_t *expect; /* room for the largest message */
};

bool ledger_open(struct ledger *ledger, const struct plan *plan, uint64_t count, bool unordered,
                 bool skips);
void ledger_reset(struct ledger *ledger);
void ledger_fault(struct ledger *ledger, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ledger_enter(struct ledger *ledger, uint16_t stream, uint32_t number, const uint8_t *data, size_t length);

#endif
