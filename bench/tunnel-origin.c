/*
 * The origin: a single-threaded HTTP server that generates its answers. `GET /LENGTH/START/KEEP` answers LENGTH bytes of
 * the pattern from byte START, and closes unless KEEP is 1.
 */
#define _GNU_SOURCE
#include "tunnel.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 32768, MAX_REQUEST = 512, EVENTS = 256, PIECES_AT_ONCE = 8 };

typedef struct {
  char request[MAX_REQUEST];
  int request_length;
  char head[ANSWER_HEAD];
  int head_length, head_sent;
  uint64_t start, left;
  int answers, stays_open;
} Connection;

static char pattern[PATTERN_PERIOD + PIECE];
static Connection *connections[MAX_CONNECTIONS];

_Noreturn void stop_with(const char *what) {
  perror(what);
  exit(1);
}

void make_pattern(void) {
  uint32_t word = 2463534242u;
  for (int i = 0; i < PATTERN_PERIOD; i++) {
    word ^= word << 13, word ^= word >> 17, word ^= word << 5;
    pattern[i] = (char)(word >> 16);
  }
  for (int i = PATTERN_PERIOD; i < (int)sizeof pattern; i++) pattern[i] = pattern[i - PATTERN_PERIOD];
}

const char *pattern_at(uint64_t at) { return pattern + at % PATTERN_PERIOD; }

int write_answer_head(char *out, uint64_t length, int stays_open) {
  return snprintf(out, ANSWER_HEAD, "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\nConnection: %s\r\n\r\n",
                  (unsigned long long)length, stays_open ? "keep-alive" : "close");
}

void raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) stop_with("getrlimit");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) stop_with("setrlimit");
}

static void drop(int fd) {
  free(connections[fd]);
  connections[fd] = NULL;
  close(fd);
}

static void watch(int poll, int fd, uint32_t events, int change) {
  struct epoll_event event = {.events = events, .data.fd = fd};
  if (epoll_ctl(poll, change, fd, &event) != 0) stop_with("epoll_ctl");
}

/* Returns 1 when all is sent, 0 when the socket is full or the limit is reached, -1 on an error. */
static int send_answer(int fd, Connection *c) {
  while (c->head_sent < c->head_length) {
    int flags = MSG_NOSIGNAL | (c->left ? MSG_MORE : 0);
    ssize_t sent = send(fd, c->head + c->head_sent, c->head_length - c->head_sent, flags);
    if (sent < 0) return errno == EAGAIN ? 0 : -1;
    c->head_sent += (int)sent;
  }
  for (int piece = 0; c->left > 0; piece++) {
    if (piece == PIECES_AT_ONCE) return 0;
    size_t wanted = c->left < PIECE ? c->left : PIECE;
    ssize_t sent = send(fd, pattern_at(c->start), wanted, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN ? 0 : -1;
    c->start += sent, c->left -= sent;
  }
  return 1;
}

/* Returns 1 once a request is complete and valid, 0 while it is incomplete, -1 if it is invalid. */
static int read_request(int fd, Connection *c) {
  ssize_t got = recv(fd, c->request + c->request_length, MAX_REQUEST - 1 - c->request_length, 0);
  if (got <= 0) return got < 0 && errno == EAGAIN ? 0 : -1;
  c->request_length += (int)got;
  c->request[c->request_length] = 0;
  if (!strstr(c->request, "\r\n\r\n")) return c->request_length < MAX_REQUEST - 1 ? 0 : -1;
  unsigned long long length, start;
  if (sscanf(c->request, "GET /%llu/%llu/%d HTTP/1.1\r\n", &length, &start, &c->stays_open) != 3) return -1;
  c->request_length = 0, c->start = start, c->left = length;
  c->head_length = write_answer_head(c->head, length, c->stays_open), c->head_sent = 0;
  return 1;
}

static void serve(int poll, int fd) {
  Connection *c = connections[fd];
  if (!c->answers) {
    int read = read_request(fd, c);
    if (read < 0) drop(fd);
    if (read <= 0) return;
  }
  int sent = send_answer(fd, c);
  if (sent < 0 || (sent > 0 && !c->stays_open)) return drop(fd);
  int was = c->answers;
  c->answers = sent == 0;
  if (was != c->answers) watch(poll, fd, c->answers ? EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
}

static void accept_all(int poll, int listener) {
  for (;;) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0) return;
    if (fd >= MAX_CONNECTIONS || !(connections[fd] = calloc(1, sizeof(Connection)))) {
      close(fd);
      continue;
    }
    watch(poll, fd, EPOLLIN, EPOLL_CTL_ADD);
  }
}

static int listen_on_loopback(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (void *)&address, length) != 0 || listen(fd, 4096) != 0) stop_with("listen");
  if (getsockname(fd, (void *)&address, &length) != 0) stop_with("getsockname");
  printf("{\"port\":%d}\n", ntohs(address.sin_port));
  fflush(stdout);
  return fd;
}

int run_origin(void) {
  int listener = listen_on_loopback(), poll = epoll_create1(0);
  watch(poll, listener, EPOLLIN, EPOLL_CTL_ADD);
  watch(poll, STDIN_FILENO, EPOLLIN, EPOLL_CTL_ADD);
  struct epoll_event events[EVENTS];
  for (;;) {
    int count = epoll_wait(poll, events, EVENTS, -1);
    for (int i = 0; i < count; i++) {
      int fd = events[i].data.fd;
      if (fd == STDIN_FILENO) return 0;
      if (fd == listener) accept_all(poll, listener);
      else if (connections[fd]) serve(poll, fd);
    }
  }
}
