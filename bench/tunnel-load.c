/*
 * The load generator for gateways: new tunnels per second, relayed bytes, and idle tunnels. One thread, epoll, loopback
 * only.
 *
 *   cc -O2 -o tunnel-load tunnel-load.c tunnel-origin.c [-DWITH_TLS tunnel-tls.c tunnel-device.c -lcrypto]
 *   tunnel-load origin
 *   tunnel-load run  WAY PROXY ORIGIN_PORT TUNNELS BYTES SECONDS RATE USER PASSWORD
 *   tunnel-load hold WAY PROXY ORIGIN_PORT TUNNELS BYTES SECONDS RATE USER PASSWORD
 *   tunnel-load half PROXY CONNECTIONS SECONDS
 *
 * WAY is direct, connect, socks, tls (CONNECT over TLS), tls-resumed (the same, with the session of an earlier tunnel),
 * or vless, trojan, ws or xhttp, all over TLS, with the key of a VPN device as USER and its path as PASSWORD.
 * PROXY is ADDRESS:PORT. Over TLS the tunnels come from many addresses of the loopback network, as customers do. `run` keeps TUNNELS open for SECONDS; each requests BYTES from the origin, reads to the end and
 * is replaced by a new one. RATE limits the new tunnels per second. `hold` opens TUNNELS, relays BYTES through each,
 * prints the result, keeps all of them idle until standard input ends or SECONDS are over, and then relays BYTES through
 * each once more. Both print JSON. Every byte is compared with the expected pattern: a wrong, missing, late or extra byte
 * is an error. `half` opens CONNECTIONS that send the beginning of a ClientHello and no more, prints a line, and holds
 * those that the proxy leaves open until standard input ends or SECONDS are over.
 */
#define _GNU_SOURCE
#include "tunnel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_TLS
#include "tunnel-device.h"
#include "tunnel-tls.h"
#endif

enum { MAX_TUNNELS = 16384, MAX_WORDS = 1024, EVENTS = 256, PIECES_AT_ONCE = 8, MAX_ERRORS = 10000 };
/* The number of tunnels opened or tried at once by `hold`. */
enum { BEGUN_AT_ONCE = 64 };
enum { WHOLE_WITHIN_S = 30 };
/* Client addresses from 127.1.0.2 on, those of a device, which a few machines may use, and those of half-open handshakes. */
enum { SOURCES = 1000, DEVICE_SOURCES = 4, CLIENTS_AT = 0x7f010002, HALF_OPEN_AT = 0x7f020002 };

typedef enum { DIRECT, CONNECT, SOCKS, TLS, TLS_RESUMED, VLESS, TROJAN, WS, XHTTP } Way;
typedef enum { FREE, CONNECTING, SHAKING, STATUS, METHOD, LOGIN, REPLY, ANSWER, HELD } Step;

typedef struct {
  int fd;
  Step step;
  double began;
  /* The bytes of the proxy so far. */
  char words[MAX_WORDS];
  int words_length;
  /* The offset of the answer in the pattern, and the received part of the answer. */
  uint64_t start, got;
#ifdef WITH_TLS
  TlsClient *tls;
  Device device;
#endif
} Tunnel;

static struct {
  Way way;
  struct sockaddr_in to;
  int origin_port, tunnels;
  uint64_t bytes;
  double seconds, rate;
  const char *user, *password;
} plan;

static Tunnel *tunnels;
static int poll_fd, stays_open, begun_count, held_count;
static char expected_head[ANSWER_HEAD], connect_words[MAX_WORDS], login_words[MAX_WORDS], first_error[160];
static int head_length, connect_length, login_length;
static uint64_t finished, errors, bytes_relayed, began_total, resumed;

static int is_tls(void) { return plan.way >= TLS; }
static int is_device(void) { return plan.way >= VLESS; }

/* A histogram with buckets of 1/64 of a power of two microseconds: its size does not depend on the number of times. */
enum { TIME_PLACES = 64 * 32 };
static uint64_t times[TIME_PLACES];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void note_time(double seconds) {
  uint64_t us = (uint64_t)(seconds * 1e6) + 64;
  int power = 63 - __builtin_clzll(us);
  int place = (power - 6) * 64 + (int)(us >> (power - 6)) - 64;
  times[place < TIME_PLACES ? place : TIME_PLACES - 1]++;
}

static double time_at_ms(double part) {
  uint64_t below = 0, wanted = (uint64_t)((double)finished * part);
  for (int place = 0; place < TIME_PLACES; place++) {
    below += times[place];
    if (below > wanted) return (double)(((64 + place % 64) + 0.5) * (double)(1ull << (place / 64)) - 64) / 1e3;
  }
  return 0;
}

static void end_tunnel(Tunnel *t) {
  close(t->fd);
  if (t->step == HELD) held_count--;
  else begun_count--;
  t->step = FREE;
}

static void fail(Tunnel *t, const char *why) {
  unsigned long long got = t->got;
  if (errors++ == 0) snprintf(first_error, sizeof first_error, "%s, at step %d after %llu bytes", why, t->step, got);
  end_tunnel(t);
}

/* Returns -2 if the socket is empty. */
static ssize_t receive(Tunnel *t, char *buffer, size_t size) {
  ssize_t got = recv(t->fd, buffer, size, 0);
  return got < 0 && errno == EAGAIN ? -2 : got;
}

static void say(Tunnel *t, const char *words, int length, Step next) {
  t->words_length = 0;
  t->step = next;
#ifdef WITH_TLS
  if (t->tls) {
    if (!write_tls(t->tls, words, (size_t)length)) fail(t, "could not send");
    return;
  }
#endif
  if (send(t->fd, words, (size_t)length, MSG_NOSIGNAL) != length) fail(t, "could not send");
}

/* Each requests another part of the pattern, so that an answer of another tunnel is an error. */
static void ask_origin(Tunnel *t) {
  char words[160];
  t->start = (began_total++ * 7919) % PATTERN_PERIOD, t->got = 0;
  unsigned long long bytes = plan.bytes, start = t->start;
  int length = snprintf(words, sizeof words, "GET /%llu/%llu/%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", bytes, start,
                        stays_open, plan.origin_port);
#ifdef WITH_TLS
  if (is_device() && t->step != HELD) {
    char opening[MAX_DEVICE_OPENING];
    return say(t, opening, (int)write_opening(&t->device, words, (size_t)length, opening), ANSWER);
  }
#endif
  say(t, words, length, ANSWER);
}

/* A proxy may limit handshakes per client address. */
static int open_socket(uint32_t sources_at, uint32_t source) {
  int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (fd < 0) stop_with("socket");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (!sources_at) return fd;
  struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(sources_at + source % SOURCES)};
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
  if (bind(fd, (void *)&from, sizeof from) != 0) stop_with("bind");
  return fd;
}

static void begin(Tunnel *t) {
  static uint32_t turn;
  // A client that resumes its session comes from the address of the first one.
  t->fd = open_socket(is_tls() ? CLIENTS_AT : 0, plan.way == TLS_RESUMED ? (uint32_t)(t - tunnels) : is_device() ? turn++ % DEVICE_SOURCES : turn++);
#ifdef WITH_TLS
  if (is_tls() && !t->tls) t->tls = make_tls_client();
#endif
  t->began = now(), t->got = 0, t->words_length = 0, t->step = CONNECTING;
  begun_count++;
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = t};
  if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, t->fd, &event) != 0) stop_with("epoll_ctl");
  if (connect(t->fd, (void *)&plan.to, sizeof plan.to) != 0 && errno != EINPROGRESS) fail(t, strerror(errno));
}

/* Without a user no authentication is offered: some proxies know only the system's passwords. */
static int has_login(void) { return plan.user[0] != 0; }

static void ask_socks(Tunnel *t) {
  char ask[10] = {5, 1, 0, 1, 127, 0, 0, 1, (char)(plan.origin_port >> 8), (char)plan.origin_port};
  say(t, ask, sizeof ask, REPLY);
}

static void greet(Tunnel *t) {
#ifdef WITH_TLS
  if (is_device()) {
    char upgrade[MAX_DEVICE_OPENING];
    begin_device(&t->device, (DeviceKind)(plan.way - VLESS));
    return plan.way == WS ? say(t, upgrade, (int)write_upgrade(upgrade), STATUS) : ask_origin(t);
  }
#endif
  if (plan.way == DIRECT) ask_origin(t);
  else if (plan.way != SOCKS) say(t, connect_words, connect_length, STATUS);
  else say(t, has_login() ? "\5\1\2" : "\5\1\0", 3, METHOD);
}

static void connected(Tunnel *t) {
#ifdef WITH_TLS
  if (t->tls) {
    t->step = SHAKING;
    if (!begin_tls(t->tls, t->fd, plan.way == TLS_RESUMED, plan.way == XHTTP)) fail(t, "could not send");
    return;
  }
#endif
  greet(t);
}

/* RFC 1928 and 1929. Each message is read completely; extra bytes are an error. */
static void read_socks(Tunnel *t) {
  const char *words = t->words;
  if (t->words_length < 2) return;
  if (t->step == METHOD) {
    char method = has_login() ? 2 : 0;
    if (t->words_length != 2 || words[0] != 5 || words[1] != method) return fail(t, "another method asked for");
    return has_login() ? say(t, login_words, login_length, LOGIN) : ask_socks(t);
  }
  if (t->step == LOGIN) {
    if (t->words_length != 2 || words[1] != 0) return fail(t, "login refused");
    return ask_socks(t);
  }
  if (words[0] != 5 || words[1] != 0) return fail(t, "tunnel refused");
  int whole = t->words_length < 4 ? 10 : words[3] == 4 ? 22 : 10;
  if (t->words_length > whole) return fail(t, "more than a reply");
  if (t->words_length == whole) ask_origin(t);
}

static void read_status(Tunnel *t) {
  const char *end = memmem(t->words, (size_t)t->words_length, "\r\n\r\n", 4);
  if (!end && t->words_length < MAX_WORDS - 1) return;
  const char *status = plan.way == WS ? " 101" : " 200";
  int is_yes = t->words_length >= 12 && memcmp(t->words, "HTTP/1.", 7) == 0 && memcmp(t->words + 8, status, 4) == 0;
  if (!is_yes) return fail(t, "tunnel refused");
  if (!end || end + 4 != t->words + t->words_length) return fail(t, "more than a head");
  ask_origin(t);
}

/* Compares the received bytes with the head and the pattern. Returns 0 at the first difference. */
static int is_expected(Tunnel *t, const char *piece, size_t length) {
  uint64_t head = (uint64_t)head_length;
  if (t->got + length > head + plan.bytes) return 0;
  if (t->got < head) {
    size_t part = head - t->got < length ? head - t->got : length;
    if (memcmp(piece, expected_head + t->got, part) != 0) return 0;
    t->got += part, piece += part, length -= part;
  }
  if (memcmp(piece, pattern_at(t->start + (t->got - head)), length) != 0) return 0;
  t->got += length;
  return 1;
}

static int is_whole(const Tunnel *t) { return t->got == (uint64_t)head_length + plan.bytes; }

static void finish(Tunnel *t) {
  finished++;
  note_time(now() - t->began);
  end_tunnel(t);
}

static void read_answer(Tunnel *t, const char *piece, size_t length) {
  if (!is_expected(t, piece, length)) return fail(t, "not the bytes that were asked for");
  bytes_relayed += length;
  // Some servers keep the connection of a device open for a while.
  if (is_device() && !stays_open && is_whole(t)) return finish(t);
  if (!stays_open || !is_whole(t)) return;
  finished++;
  note_time(now() - t->began);
  t->step = HELD;
  begun_count--, held_count++;
}

static void take(Tunnel *t, const char *piece, size_t length) {
  if (t->step == ANSWER) return read_answer(t, piece, length);
  if (t->step == HELD || t->words_length + length >= MAX_WORDS) return fail(t, "unrequested bytes");
  memcpy(t->words + t->words_length, piece, length);
  t->words_length += (int)length;
  if (t->step == STATUS) read_status(t);
  else read_socks(t);
}

#ifdef WITH_TLS
static int take_payload(void *tunnel, const char *piece, size_t length) {
  Tunnel *t = tunnel;
  take(t, piece, length);
  return t->step != FREE;
}

static int send_control(void *tunnel, const char *bytes, size_t length) {
  return write_tls(((Tunnel *)tunnel)->tls, bytes, length);
}

static int take_plaintext(void *tunnel, const char *piece, size_t length) {
  Tunnel *t = tunnel;
  if (is_device() && (t->step == ANSWER || t->step == HELD)) {
    int taken = take_device(&t->device, piece, length, take_payload, send_control, t);
    if (taken < 0) fail(t, "not the frames of this protocol");
    return t->step != FREE;
  }
  take(t, piece, length);
  return t->step != FREE;
}

static ssize_t receive_tls(Tunnel *t) {
  ssize_t got = read_tls(t->tls, take_plaintext, t);
  if (got > 0 && t->step == SHAKING && is_tls_open(t->tls)) {
    resumed += (uint64_t)is_tls_resumed(t->tls);
    greet(t);
  }
  return got;
}
#endif

/* Reads once and takes what came. */
static ssize_t read_piece(Tunnel *t) {
  static char buffer[PIECE];
#ifdef WITH_TLS
  if (t->tls) return receive_tls(t);
#endif
  ssize_t got = receive(t, buffer, sizeof buffer);
  if (got > 0) take(t, buffer, (size_t)got);
  return got;
}

/* Reads until the socket is empty. After a limit it is armed again, so that others and the clock have their turn. */
static void read_tunnel(Tunnel *t) {
  for (int piece = 0; piece < PIECES_AT_ONCE; piece++) {
    ssize_t got = read_piece(t);
    if (got == -2 || t->step == FREE) return;
    if (got < 0) return fail(t, t->step == SHAKING ? "handshake failed" : strerror(errno));
    if (got == 0) return t->step == ANSWER && is_whole(t) && !stays_open ? finish(t) : fail(t, "closed too early");
  }
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = t};
  if (epoll_ctl(poll_fd, EPOLL_CTL_MOD, t->fd, &event) != 0) stop_with("epoll_ctl");
}

/* Returns 0 when standard input has ended. */
static int turn(void) {
  struct epoll_event events[EVENTS];
  int count = epoll_wait(poll_fd, events, EVENTS, plan.rate > 0 ? 1 : 20), is_open = 1;
  for (int i = 0; i < count; i++) {
    Tunnel *t = events[i].data.ptr;
    if (!t) is_open = 0;
    else if (t->step == CONNECTING && (events[i].events & EPOLLOUT) && !(events[i].events & EPOLLERR)) connected(t);
    if (t && t->step != FREE && (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP))) read_tunnel(t);
  }
  return is_open;
}

static void fail_late(void) {
  double late = now() - WHOLE_WITHIN_S;
  for (int i = 0; i < plan.tunnels; i++)
    if (tunnels[i].step != FREE && tunnels[i].step != HELD && tunnels[i].began < late) fail(&tunnels[i], "too slow");
}

static void print_outcome(double seconds) {
  unsigned long long good = finished, bad = errors, bytes = bytes_relayed, again = resumed;
  printf("{\"tunnels\":%llu,\"errors\":%llu,\"firstError\":\"%s\",\"bytes\":%llu,", good, bad, first_error, bytes);
  printf("\"resumed\":%llu,", again);
  printf("\"seconds\":%.6f,\"p50Ms\":%.4f,\"p99Ms\":%.4f}\n", seconds, time_at_ms(0.5), time_at_ms(0.99));
  fflush(stdout);
}

static void run(void) {
  double start = now(), asked = 0;
  int next = 0;
  for (double at = start; at - start < plan.seconds && errors < MAX_ERRORS; at = now()) {
    for (int tries = 0; tries < plan.tunnels && begun_count < plan.tunnels; tries++, next = (next + 1) % plan.tunnels) {
      if (plan.rate > 0 && asked >= (at - start) * plan.rate) break;
      if (tunnels[next].step != FREE) continue;
      begin(&tunnels[next]), asked++;
    }
    turn();
    fail_late();
  }
  print_outcome(now() - start);
}

/* Relays bytes through tunnels in step `from`, a few at a time, until each has finished or failed. */
static void relay_each(Step from, void (*start_one)(Tunnel *)) {
  double start = now();
  finished = errors = 0;
  memset(times, 0, sizeof times);
  for (int next = 0; (next < plan.tunnels || begun_count > 0) && errors < MAX_ERRORS;) {
    for (; next < plan.tunnels && begun_count < BEGUN_AT_ONCE; next++)
      if (tunnels[next].step == from) start_one(&tunnels[next]);
    turn();
    fail_late();
  }
  print_outcome(now() - start);
}

static void ask_once_more(Tunnel *t) {
  held_count--, begun_count++;
  t->began = now();
  ask_origin(t);
}

static void hold(void) {
  stays_open = 1, head_length = write_answer_head(expected_head, plan.bytes, 1);
  relay_each(FREE, begin);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &event) != 0) stop_with("epoll_ctl");
  for (double start = now(); turn() && now() - start < plan.seconds;);
  epoll_ctl(poll_fd, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
  stays_open = 0, head_length = write_answer_head(expected_head, plan.bytes, 0);
  relay_each(HELD, ask_once_more);
}

static void read_endpoint(char *text);

/* The first bytes of a record with a ClientHello of 512 bytes. */
static const char half_hello[] = {22, 3, 1, 2, 0, 1, 0, 1, (char)0xfc, 3, 3};

/* A connection that the proxy closes stays closed. */
static int half(char **words) {
  int wanted = atoi(words[3]), open = 0;
  plan.way = TLS;
  read_endpoint(words[2]);
  if (wanted < 1 || wanted > MAX_TUNNELS) stop_with("CONNECTIONS");
  for (int i = 0; i < wanted; i++) {
    int fd = open_socket(HALF_OPEN_AT, (uint32_t)i);
    fcntl(fd, F_SETFL, 0);
    if (connect(fd, (void *)&plan.to, sizeof plan.to) != 0) {
      close(fd);
      continue;
    }
    open += send(fd, half_hello, sizeof half_hello, MSG_NOSIGNAL) == sizeof half_hello;
  }
  printf("{\"open\":%d}\n", open);
  fflush(stdout);
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  poll(&input, 1, (int)(atof(words[4]) * 1000));
  return 0;
}

static void write_base64(const char *in, size_t length, char *out) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < length; i += 3) {
    unsigned word = 0;
    for (size_t k = 0; k < 3; k++) word = word << 8 | (i + k < length ? (unsigned char)in[i + k] : 0);
    for (size_t k = 0; k < 4; k++) *out++ = i + k > length ? '=' : digits[word >> (18 - 6 * k) & 63];
  }
  *out = 0;
}

static void write_credentials(void) {
  char pair[400], coded[600];
  size_t user = strlen(plan.user), password = strlen(plan.password);
  if (user > 190 || password > 190) stop_with("too long a user or password");
  write_base64(pair, (size_t)snprintf(pair, sizeof pair, "%s:%s", plan.user, plan.password), coded);
  static const char form[] = "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                             "Proxy-Authorization: Basic %s\r\n\r\n";
  connect_length = snprintf(connect_words, sizeof connect_words, form, plan.origin_port, plan.origin_port, coded);
  login_length =
      snprintf(login_words, sizeof login_words, "\1%c%s%c%s", (int)user, plan.user, (int)password, plan.password);
}

/* The endpoint of tunnels: the proxy, or the origin itself. Only this machine is ever loaded. */
static void read_endpoint(char *text) {
  char *colon = strchr(text, ':');
  plan.to.sin_family = AF_INET;
  if (plan.way == DIRECT) {
    plan.to.sin_addr.s_addr = htonl(INADDR_LOOPBACK), plan.to.sin_port = htons((uint16_t)plan.origin_port);
    return;
  }
  if (colon) *colon = 0, plan.to.sin_port = htons((uint16_t)atoi(colon + 1));
  if (!colon || inet_pton(AF_INET, text, &plan.to.sin_addr) != 1) stop_with("PROXY");
  if (ntohl(plan.to.sin_addr.s_addr) >> 24 != 127) stop_with("PROXY is not on this machine");
}

int main(int count, char **words) {
  signal(SIGPIPE, SIG_IGN);
  make_pattern();
  raise_descriptor_limit();
  if (count == 2 && strcmp(words[1], "origin") == 0) return run_origin();
  if (count == 5 && strcmp(words[1], "half") == 0) return half(words);
  if (count != 11) {
    fprintf(stderr, "origin | half PROXY CONNECTIONS SECONDS | run|hold WAY PROXY ORIGIN_PORT TUNNELS BYTES SECONDS RATE USER PASSWORD\n");
    return 2;
  }
  static const char *ways[] = {"direct", "connect", "socks", "tls", "tls-resumed", "vless", "trojan", "ws", "xhttp"};
  for (int way = DIRECT; way <= XHTTP; way++)
    if (strcmp(words[2], ways[way]) == 0) plan.way = (Way)way;
  plan.origin_port = atoi(words[4]), plan.tunnels = atoi(words[5]);
  read_endpoint(words[3]);
  plan.bytes = strtoull(words[6], NULL, 10), plan.seconds = atof(words[7]), plan.rate = atof(words[8]);
  plan.user = words[9], plan.password = words[10];
  if (plan.tunnels < 1 || plan.tunnels > MAX_TUNNELS) stop_with("TUNNELS");
  if (!(tunnels = calloc((size_t)plan.tunnels, sizeof *tunnels))) stop_with("calloc");
  if ((poll_fd = epoll_create1(0)) < 0) stop_with("epoll_create1");
#ifdef WITH_TLS
  if (is_tls()) open_tls();
#else
  if (is_tls()) stop_with("built without TLS");
#endif
#ifdef WITH_TLS
  if (is_device()) set_device(plan.user, plan.password, plan.origin_port);
#endif
  write_credentials();
  head_length = write_answer_head(expected_head, plan.bytes, 0);
  if (strcmp(words[1], "hold") == 0) hold();
  else run();
  return 0;
}
