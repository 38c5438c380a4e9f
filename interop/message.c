#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t
split_mix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static uint64_t
message_state(const struct plan *plan, uint64_t k)
{
	uint64_t number = k + 1;

	return plan->seed ^ split_mix(&number);
}

bool
plan_sizes(struct plan *plan, const char *text)
{
	char *end;

	plan->size_count = 0;
	plan->range = strchr(text, '-') != NULL;
	for (;; text = end + 1) {
		unsigned long size = strtoul(text, &end, 10);

		if (end == text || size == 0 || size > (16UL << 20) || plan->size_count == MAX_SIZES)
			return false;
		plan->sizes[plan->size_count++] = (uint32_t)size;
		if (*end == '\0')
			break;
		if (*end != (plan->range ? '-' : ','))
			return false;
	}
	return !plan->range || (plan->size_count == 2 && plan->sizes[0] <= plan->sizes[1]);
}

uint32_t
plan_largest(const struct plan *plan)
{
	uint32_t largest = 0;

	for (uint32_t i = 0; i < plan->size_count; i++)
		if (plan->sizes[i] > largest)
			largest = plan->sizes[i];
	return largest;
}

static uint32_t
bits(uint32_t value)
{
	return 32 - (uint32_t)__builtin_clz(value);
}

/* In a range every order of magnitude is as likely as every other. */
uint32_t
message_length(const struct plan *plan, uint64_t k)
{
	if (!plan->range)
		return plan->sizes[k % plan->size_count];

	uint64_t state = message_state(plan, k);
	uint32_t least = plan->sizes[0], greatest = plan->sizes[1];
	uint32_t width = bits(least) + split_mix(&state) % (bits(greatest) - bits(least) + 1);
	uint32_t floor = 1U << (width - 1);
	uint32_t length = floor + (uint32_t)(split_mix(&state) % floor);

	return length < least ? least : length > greatest ? greatest : length;
}

void
message_fill(const struct plan *plan, uint64_t k, uint8_t *data, size_t length)
{
	uint64_t state = message_state(plan, k) ^ length;

	for (size_t at = 0; at < length; at += 8) {
		uint64_t word = split_mix(&state);

		for (size_t i = 0; i < 8 && at + i < length; i++)
			data[at + i] = (uint8_t)(word >> (8 * i));
	}
}

bool
ledger_open(struct ledger *ledger, const struct plan *plan, uint64_t count, bool unordered, bool skips)
{
	*ledger = (struct ledger){ .plan = plan, .count = count, .unordered = unordered, .skips = skips };
	ledger->next = calloc(plan->streams, sizeof(*ledger->next));
	ledger->seen = calloc(count + 1, 1);
	ledger->expect = malloc(plan_largest(plan));
	return ledger->next != NULL && ledger->seen != NULL && ledger->expect != NULL;
}

void
ledger_reset(struct ledger *ledger)
{
	ledger->received = 0;
	memset(ledger->next, 0, ledger->plan->streams * sizeof(*ledger->next));
	memset(ledger->seen, 0, ledger->count);
}

void
ledger_fault(struct ledger *ledger, const char *format, ...)
{
	va_list arguments;

	if (ledger->faults++ > 0)
		return;
	va_start(arguments, format);
	vsnprintf(ledger->first_fault, sizeof(ledger->first_fault), format, arguments);
	va_end(arguments);
}

void
ledger_enter(struct ledger *ledger, uint16_t stream, uint32_t number, const uint8_t *data, size_t length)
{
	const struct plan *plan = ledger->plan;
	uint64_t k = (uint64_t)number * plan->streams + stream;

	ledger->bytes += length;
	if (stream >= plan->streams || k >= ledger->count) {
		ledger_fault(ledger, "stream %u number %u: never sent", stream, number);
		return;
	}
	if (ledger->seen[k]) {
		ledger_fault(ledger, "stream %u number %u: delivered twice", stream, number);
		return;
	}
	ledger->seen[k] = 1;
	ledger->received++;
	if (!ledger->unordered && (ledger->skips ? number < ledger->next[stream] : number != ledger->next[stream]))
		ledger_fault(ledger, "stream %u number %u: number %u was due", stream, number, ledger->next[stream]);
	ledger->next[stream] = number + 1;
	if (length != message_length(plan, k)) {
		ledger_fault(ledger, "stream %u number %u: %zu bytes, sent were %u", stream, number, length,
		             message_length(plan, k));
		return;
	}
	message_fill(plan, k, ledger->expect, length);
	if (memcmp(ledger->expect, data, length) != 0)
		ledger_fault(ledger, "stream %u number %u: other content than was sent", stream, number);
}
