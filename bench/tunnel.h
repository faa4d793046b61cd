/* What the load generator and its origin both know. Linux only: epoll. */
#ifndef TUNNEL_H
#define TUNNEL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Every answer is a stretch of one endless pattern that repeats after a prime number of bytes. A piece that is lost,
 * doubled or moved by any round number, and an answer that comes out of another's tunnel, all differ from what was
 * asked for.
 */
enum { PATTERN_PERIOD = 65521, PIECE = 256 * 1024, ANSWER_HEAD = 96 };

/* Fills the pattern; to be called first. */
void make_pattern(void);

/* Where the pattern has its byte number `at`. At least PIECE bytes may be read from there. */
const char *pattern_at(uint64_t at);

/* The answer's first lines, which are the same for every answer of this length. Returns how many bytes they are. */
int write_answer_head(char *out, uint64_t length, int stays_open);

/* As many descriptors as this process may have. */
void raise_descriptor_limit(void);

/* Answers on a free loopback port, which is printed, until standard input ends. */
int run_origin(void);

_Noreturn void stop_with(const char *what);

#endif
