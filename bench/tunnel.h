/* Shared declarations of the load generator and its origin. Linux only: epoll. */
#ifndef TUNNEL_H
#define TUNNEL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Every answer is a part of one endless pattern that repeats after a prime number of bytes. A lost, doubled or moved
 * piece, and an answer of another tunnel, all differ from the expected bytes.
 */
enum { PATTERN_PERIOD = 65521, PIECE = 256 * 1024, ANSWER_HEAD = 96 };

/* Fills the pattern; must be called first. */
void make_pattern(void);

/* The address of byte number `at` of the pattern. At least PIECE bytes may be read from there. */
const char *pattern_at(uint64_t at);

/* Writes the head of every answer of this length. Returns its length. */
int write_answer_head(char *out, uint64_t length, int stays_open);

/* Raises the limit of descriptors to its maximum. */
void raise_descriptor_limit(void);

/* Serves on a free loopback port, which is printed, until standard input ends. */
int run_origin(void);

_Noreturn void stop_with(const char *what);

#endif
