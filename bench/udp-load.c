/*
 * The load generator for UDP through SOCKS5 (RFC 1928, 7), and its origin. One thread, loopback only.
 *
 *   cc -O2 -o udp-load udp-load.c
 *   udp-load echo
 *   udp-load run PROXY ORIGIN_PORT ASSOCIATIONS WINDOW BYTES SECONDS USER PASSWORD
 *
 * `echo` returns every datagram to its sender. `run` opens ASSOCIATIONS and keeps WINDOW datagrams of BYTES on the way in
 * each; an association that gets nothing for a while sends a window again. Every answer is compared with its datagram: a
 * changed byte, an answer of another association and a wrong source are errors. PROXY is ADDRESS:PORT, or `direct`.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, MAX_BYTES = 1400, MAX_ASSOCIATIONS = 256, HEAD = 10, BUFFER = 4 << 20, EVENTS = 64 };
#define STALLED_S 0.1

typedef struct {
  int control, fd;
  struct sockaddr_in relay;
  uint32_t number;
  double heard;
} Association;

static Association all[MAX_ASSOCIATIONS];
static int is_direct, origin_port, window, bytes;
static uint64_t received, errors, resent;
static char packets[BATCH][HEAD + MAX_BYTES];
static struct iovec parts[BATCH];
static struct mmsghdr messages[BATCH];
static struct sockaddr_in names[BATCH];

static _Noreturn void stop_with(const char *what) {
  perror(what);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int open_udp(void) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), size = BUFFER;
  if (fd < 0 || bind(fd, (void *)&here, sizeof here) != 0) stop_with("bind");
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  return fd;
}

static void prepare(int index, size_t length) {
  parts[index] = (struct iovec){packets[index], length};
  messages[index].msg_hdr = (struct msghdr){
      .msg_name = &names[index], .msg_namelen = sizeof names[index], .msg_iov = &parts[index], .msg_iovlen = 1};
}

static int receive_batch(int fd) {
  for (int i = 0; i < BATCH; i++) prepare(i, sizeof packets[i]);
  return recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
}

static int run_echo(void) {
  struct sockaddr_in here;
  socklen_t length = sizeof here;
  int fd = open_udp();
  getsockname(fd, (void *)&here, &length);
  printf("{\"port\":%d}\n", ntohs(here.sin_port));
  fflush(stdout);
  struct pollfd either[2] = {{.fd = fd, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
  for (;;) {
    poll(either, 2, -1);
    if (either[1].revents) return 0;
    int count = receive_batch(fd);
    for (int i = 0; i < count; i++) parts[i].iov_len = messages[i].msg_len;
    if (count > 0) sendmmsg(fd, messages, (unsigned)count, 0);
  }
}

static void exchange(int fd, const void *ask, size_t length, unsigned char *answer, size_t wanted) {
  if (send(fd, ask, length, MSG_NOSIGNAL) != (ssize_t)length) stop_with("send");
  if (recv(fd, answer, wanted, MSG_WAITALL) != (ssize_t)wanted) stop_with("the proxy closed the control connection");
}

static void associate(Association *a, const struct sockaddr_in *proxy, const char *user, const char *password) {
  unsigned char answer[HEAD], login[520];
  char method = user[0] ? 2 : 0;
  struct timeval limit = {.tv_sec = 10};
  if ((a->control = socket(AF_INET, SOCK_STREAM, 0)) < 0) stop_with("socket");
  setsockopt(a->control, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (connect(a->control, (const void *)proxy, sizeof *proxy) != 0) stop_with("connect");
  exchange(a->control, (char[]){5, 1, method}, 3, answer, 2);
  if (answer[1] != method) stop_with("another method asked for");
  if (method) {
    int length = snprintf((char *)login, sizeof login, "\1%c%s%c%s", (int)strlen(user), user, (int)strlen(password), password);
    exchange(a->control, login, (size_t)length, answer, 2);
    if (answer[1] != 0) stop_with("login refused");
  }
  exchange(a->control, (char[]){5, 3, 0, 1, 0, 0, 0, 0, 0, 0}, HEAD, answer, HEAD);
  if (answer[1] != 0 || answer[3] != 1) stop_with("association refused");
  a->relay.sin_family = AF_INET;
  memcpy(&a->relay.sin_addr, answer + 4, 4);
  memcpy(&a->relay.sin_port, answer + 8, 2);
  if (a->relay.sin_addr.s_addr == 0) a->relay.sin_addr = proxy->sin_addr;
  if (ntohl(a->relay.sin_addr.s_addr) >> 24 != 127) stop_with("the relay is not on this machine");
}

/* Byte 0 is the association, bytes 1 to 4 the number, and the rest follows from both. */
static void write_packet(char *packet, int association, uint32_t number) {
  int at = 0;
  if (!is_direct) {
    char head[HEAD] = {0, 0, 0, 1, 127, 0, 0, 1, (char)(origin_port >> 8), (char)origin_port};
    memcpy(packet, head, at = HEAD);
  }
  memset(packet + at, (int)(number * 31 + (uint32_t)association), (size_t)bytes);
  packet[at] = (char)association;
  memcpy(packet + at + 1, &number, sizeof number);
}

static void send_more(int association, int count) {
  Association *a = &all[association];
  for (int left = count; left > 0;) {
    int some = left < BATCH ? left : BATCH;
    for (int i = 0; i < some; i++) {
      prepare(i, (size_t)(bytes + (is_direct ? 0 : HEAD)));
      names[i] = a->relay;
      write_packet(packets[i], association, a->number++);
    }
    // A full buffer loses the rest; the stalled association sends again.
    if (sendmmsg(a->fd, messages, (unsigned)some, 0) < some) return;
    left -= some;
  }
}

static int is_right(const Association *a, int index) {
  static char expected[HEAD + MAX_BYTES];
  uint32_t number;
  int at = is_direct ? 0 : HEAD, length = at + bytes;
  if ((int)messages[index].msg_len != length || names[index].sin_port != a->relay.sin_port) return 0;
  memcpy(&number, packets[index] + at + 1, sizeof number);
  write_packet(expected, (int)(a - all), number);
  return memcmp(expected, packets[index], (size_t)length) == 0;
}

static void take(int association) {
  Association *a = &all[association];
  int count = receive_batch(a->fd);
  if (count <= 0) return;
  for (int i = 0; i < count; i++) is_right(a, i) ? received++ : errors++;
  a->heard = now();
  send_more(association, count);
}

static void run(int associations, double seconds) {
  int poll_fd = epoll_create1(0);
  double start = now(), looked = start;
  for (int i = 0; i < associations; i++) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = i};
    if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, all[i].fd, &event) != 0) stop_with("epoll_ctl");
    all[i].heard = start;
    send_more(i, window);
  }
  for (double at = start; at - start < seconds; at = now()) {
    struct epoll_event events[EVENTS];
    int count = epoll_wait(poll_fd, events, EVENTS, 20);
    for (int i = 0; i < count; i++) take(events[i].data.fd);
    if (at - looked < STALLED_S / 2) continue;
    looked = at;
    for (int i = 0; i < associations; i++) {
      if (at - all[i].heard < STALLED_S) continue;
      all[i].heard = at, resent += (uint64_t)window;
      send_more(i, window);
    }
  }
  unsigned long long good = received, bad = errors, again = resent;
  printf("{\"received\":%llu,\"errors\":%llu,\"resent\":%llu,\"seconds\":%.6f}\n", good, bad, again, now() - start);
}

int main(int count, char **words) {
  if (count == 2 && strcmp(words[1], "echo") == 0) return run_echo();
  if (count != 10) {
    fprintf(stderr, "echo | run PROXY ORIGIN_PORT ASSOCIATIONS WINDOW BYTES SECONDS USER PASSWORD\n");
    return 2;
  }
  struct sockaddr_in proxy = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  is_direct = strcmp(words[2], "direct") == 0;
  origin_port = atoi(words[3]), window = atoi(words[5]), bytes = atoi(words[6]);
  int associations = atoi(words[4]);
  if (associations < 1 || associations > MAX_ASSOCIATIONS) stop_with("ASSOCIATIONS");
  if (bytes < 5 || bytes > MAX_BYTES || window < 1) stop_with("BYTES or WINDOW");
  if (strlen(words[8]) > 255 || strlen(words[9]) > 255) stop_with("USER or PASSWORD");
  char *colon = strchr(words[2], ':');
  if (!is_direct) {
    if (!colon) stop_with("PROXY");
    *colon = 0, proxy.sin_port = htons((uint16_t)atoi(colon + 1));
    if (inet_pton(AF_INET, words[2], &proxy.sin_addr) != 1 || ntohl(proxy.sin_addr.s_addr) >> 24 != 127)
      stop_with("PROXY is not on this machine");
  }
  for (int i = 0; i < associations; i++) {
    all[i].fd = open_udp();
    all[i].relay = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)origin_port)};
    if (!is_direct) associate(&all[i], &proxy, words[8], words[9]);
  }
  run(associations, atof(words[7]));
  return 0;
}
