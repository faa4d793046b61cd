/*
 * The limit: the least processor time that a relay of this design needs. CONNECT with one login on one thread: epoll,
 * splice for plain bulk, OpenSSL for TLS. No names, limits, timers, metering or exits, and only addresses in CONNECT.
 *
 *   cc -O2 -o limit limit.c [-DWITH_TLS -lssl -lcrypto]
 *   limit LOGIN [CERTIFICATE KEY]
 *
 * LOGIN is Basic credentials in base64. It listens on a free loopback port, which is printed, until it is ended.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef WITH_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#endif

enum { EVENTS = 256, READ = 64 * 1024, PIPE = 256 * 1024, MAX_POOLED = 64, MAX_HEAD = 1024, MOVES_AT_ONCE = 16 };
enum { CLIENT, ORIGIN };
typedef enum { HEAD, DIALING, RELAY, CLOSED } Step;

struct Tunnel;

/* One socket of a tunnel. `kept` are bytes that it did not take yet, `piped` those that wait in the pipe for it. */
typedef struct {
  struct Tunnel *tunnel;
  int fd, may_read, hung_up, has_ended, is_shut, fills;
  uint8_t *kept;
  size_t kept_length, kept_at;
  int pipe[2];
  size_t piped;
} End;

typedef struct Tunnel {
  End ends[2];
  Step step;
  int has_key;
  char head[MAX_HEAD];
  size_t head_length;
#ifdef WITH_TLS
  SSL *tls;
#endif
  struct Tunnel *next_closed, *next_dialing;
} Tunnel;

static int poll_fd, pooled_count, pooled[MAX_POOLED][2];
static const char *login;
static size_t login_length;
static Tunnel *closed, *dialing;
/* Empty between events, like all buffers that tunnels share. */
static uint8_t arena[READ];

static _Noreturn void stop_with(const char *what) {
  perror(what);
  exit(1);
}

static void watch(int fd, void *owner, uint32_t events, int change) {
  struct epoll_event event = {.events = events, .data.ptr = owner};
  if (epoll_ctl(poll_fd, change, fd, &event) != 0) stop_with("epoll_ctl");
}

/* An empty pipe is used again: it costs two system calls less than a new one. */
static void drop_pipe(End *e) {
  if (e->pipe[0] < 0) return;
  if (e->piped == 0 && pooled_count < MAX_POOLED) memcpy(pooled[pooled_count++], e->pipe, sizeof e->pipe);
  else close(e->pipe[0]), close(e->pipe[1]);
  e->pipe[0] = -1;
}

static int has_pipe(End *e) {
  if (e->pipe[0] >= 0) return 1;
  if (pooled_count > 0) return memcpy(e->pipe, pooled[--pooled_count], sizeof e->pipe), 1;
  if (pipe2(e->pipe, O_NONBLOCK) != 0) return e->pipe[0] = -1, 0;
  fcntl(e->pipe[1], F_SETPIPE_SZ, PIPE);
  return 1;
}

/* Its memory is freed after the events of this turn, which may name it. */
static void end_tunnel(Tunnel *t) {
  if (t->step == CLOSED) return;
#ifdef WITH_TLS
  if (t->tls) SSL_free(t->tls);
#endif
  for (int side = CLIENT; side <= ORIGIN; side++) {
    End *e = &t->ends[side];
    if (e->fd >= 0) close(e->fd);
    free(e->kept);
    drop_pipe(e);
  }
  t->step = CLOSED, t->next_closed = closed, closed = t;
}

static int keep(End *to, const uint8_t *bytes, size_t length) {
  size_t before = to->kept_length - to->kept_at;
  uint8_t *both = malloc(before + length);
  if (!both) return 0;
  if (before > 0) memcpy(both, to->kept + to->kept_at, before);
  memcpy(both + before, bytes, length);
  free(to->kept);
  to->kept = both, to->kept_at = 0, to->kept_length = before + length;
  return 1;
}

/* Returns -1 on an error, else the bytes taken. */
static ssize_t send_some(End *to, const uint8_t *bytes, size_t length) {
  ssize_t sent = send(to->fd, bytes, length, MSG_NOSIGNAL);
  return sent < 0 && errno == EAGAIN ? 0 : sent;
}

/* Sends what was kept. Returns -1 on an error, 0 if the socket is full, 1 if nothing is left. */
static int flush_kept(End *to) {
  if (!to->kept) return 1;
  ssize_t sent = send_some(to, to->kept + to->kept_at, to->kept_length - to->kept_at);
  if (sent < 0) return -1;
  if ((to->kept_at += (size_t)sent) < to->kept_length) return 0;
  free(to->kept);
  to->kept = NULL, to->kept_length = to->kept_at = 0;
  return 1;
}

static int send_or_keep(End *to, const uint8_t *bytes, size_t length) {
  ssize_t sent = to->kept ? 0 : send_some(to, bytes, length);
  if (sent < 0) return 0;
  return (size_t)sent == length || keep(to, bytes + sent, length - (size_t)sent);
}

#ifdef WITH_TLS
static SSL_CTX *context;
static BIO_METHOD *method;
static uint8_t cipher_in[READ], cipher_out[READ * 2];
static size_t in_length, in_at, out_length;

static int read_cipher(BIO *bio, char *out, int length) {
  size_t part = in_length - in_at < (size_t)length ? in_length - in_at : (size_t)length;
  BIO_clear_retry_flags(bio);
  if (part == 0) return BIO_set_retry_read(bio), -1;
  memcpy(out, cipher_in + in_at, part);
  in_at += part;
  return (int)part;
}

static int write_cipher(BIO *bio, const char *bytes, int length) {
  (void)bio;
  if (out_length + (size_t)length > sizeof cipher_out) return -1;
  memcpy(cipher_out + out_length, bytes, (size_t)length);
  out_length += (size_t)length;
  return length;
}

static long control(BIO *bio, int command, long number, void *pointer) {
  (void)bio, (void)number, (void)pointer;
  return command == BIO_CTRL_FLUSH;
}

static int create(BIO *bio) {
  BIO_set_init(bio, 1);
  return 1;
}

static void open_context(const char *certificate, const char *key) {
  context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1) stop_with("CERTIFICATE");
  if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) stop_with("KEY");
  method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "memory of all connections");
  BIO_meth_set_read(method, read_cipher), BIO_meth_set_write(method, write_cipher);
  BIO_meth_set_ctrl(method, control), BIO_meth_set_create(method, create);
}

static SSL *open_connection(void) {
  SSL *tls = SSL_new(context);
  BIO *bio = BIO_new(method);
  if (!tls || !bio) stop_with("SSL_new");
  SSL_set_bio(tls, bio, bio);
  SSL_set_accept_state(tls);
  return tls;
}

/* Ciphertext that may wait travels with the next write. */
static int emit(Tunnel *t, int may_wait) {
  End *client = &t->ends[CLIENT];
  size_t length = out_length;
  out_length = 0;
  if (may_wait) return length == 0 || keep(client, cipher_out, length);
  if (client->kept) return (length == 0 || keep(client, cipher_out, length)) && flush_kept(client) >= 0;
  return length == 0 || send_or_keep(client, cipher_out, length);
}

/* Like recv(2), with plaintext. Errors have errno EBADMSG. */
static ssize_t receive_tls(Tunnel *t) {
  ssize_t got = recv(t->ends[CLIENT].fd, cipher_in, sizeof cipher_in, 0);
  if (got <= 0) return got;
  in_at = 0, in_length = (size_t)got;
  size_t have = 0;
  int part;
  ERR_clear_error();
  while ((part = SSL_read(t->tls, arena + have, (int)(sizeof arena - have))) > 0) have += (size_t)part;
  int error = SSL_get_error(t->tls, part);
  if (!emit(t, have > 0)) return -1;
  if (error == SSL_ERROR_ZERO_RETURN && have == 0) return 0;
  if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_ZERO_RETURN) return errno = EBADMSG, -1;
  return have > 0 ? (ssize_t)have : (errno = EINPROGRESS, -1);
}
#endif

static ssize_t receive(Tunnel *t, End *from) {
#ifdef WITH_TLS
  if (t->tls && from == &t->ends[CLIENT]) return receive_tls(t);
#else
  (void)t;
#endif
  return recv(from->fd, arena, sizeof arena, 0);
}

static int send_to(Tunnel *t, End *to, size_t length) {
#ifdef WITH_TLS
  if (t->tls && to == &t->ends[CLIENT])
    return SSL_write(t->tls, arena, (int)length) == (int)length && emit(t, 0);
#else
  (void)t;
#endif
  return send_or_keep(to, arena, length);
}

/* Ends the direction towards `to`. */
static int shut(Tunnel *t, End *to) {
  if (to->is_shut || to->kept || to->piped > 0) return 1;
#ifdef WITH_TLS
  if (t->tls && to == &t->ends[CLIENT]) {
    SSL_shutdown(t->tls);
    if (!emit(t, 0)) return 0;
    if (to->kept) return 1;
  }
#else
  (void)t;
#endif
  to->is_shut = 1;
  shutdown(to->fd, SHUT_WR);
  return 1;
}

/* Whether both directions need no decryption and the sender fills whole reads. */
static int may_splice(const Tunnel *t, const End *from) {
#ifdef WITH_TLS
  if (t->tls) return 0;
#endif
  (void)t;
  return from->fills;
}

/* Moves bytes once. Returns -1 on an error, 0 if nothing more can be moved now, 1 to continue. */
static int move_spliced(End *from, End *to) {
  if (to->piped == 0) {
    ssize_t got = splice(from->fd, NULL, to->pipe[1], NULL, PIPE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (got < 0) return errno == EAGAIN ? (from->may_read = 0) : -1;
    if (got == 0) return from->has_ended = 1, 0;
    to->piped = (size_t)got;
  }
  ssize_t sent = splice(to->pipe[0], NULL, to->fd, NULL, to->piped, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (sent < 0) return errno == EAGAIN ? 0 : -1;
  to->piped -= (size_t)sent;
  return to->piped == 0;
}

static int move_copied(Tunnel *t, End *from, End *to) {
  ssize_t got = receive(t, from);
  if (got < 0 && errno == EINPROGRESS) return 1;
  if (got < 0) return errno == EAGAIN ? (from->may_read = 0) : -1;
  if (got == 0) return from->has_ended = 1, 0;
  from->fills = (size_t)got == sizeof arena;
  if (!send_to(t, to, (size_t)got)) return -1;
  // A short read has emptied the socket, unless a FIN came with the bytes.
  if ((size_t)got < sizeof arena && !from->hung_up) return from->may_read = 0;
  return to->kept == NULL;
}

/* Returns 0 if the tunnel has failed. */
static int move_all(Tunnel *t, End *from, End *to) {
  int moved = flush_kept(to);
  for (int moves = 0; moved > 0 && from->may_read && !from->has_ended; moves++) {
    if (moves == MOVES_AT_ONCE) {
      watch(from->fd, from, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, EPOLL_CTL_MOD);
      break;
    }
    moved = to->piped > 0 || (may_splice(t, from) && has_pipe(to)) ? move_spliced(from, to) : move_copied(t, from, to);
  }
  return moved >= 0;
}

static void relay(Tunnel *t) {
  End *client = &t->ends[CLIENT], *origin = &t->ends[ORIGIN];
  if (!move_all(t, client, origin) || !move_all(t, origin, client)) return end_tunnel(t);
  if (origin->has_ended && !shut(t, client)) return end_tunnel(t);
  if (client->has_ended && origin->has_ended && client->is_shut && !origin->kept && origin->piped == 0) return end_tunnel(t);
  if (client->has_ended && !shut(t, origin)) end_tunnel(t);
}

/* Reads `CONNECT address:port` and the login. Returns 0 if either is wrong. */
static int begin_dial(Tunnel *t) {
  static const char connect_word[] = "CONNECT ", field[] = "\r\nProxy-Authorization: Basic ";
  struct sockaddr_in to = {.sin_family = AF_INET};
  int one = 1, zero = 0;
  char *colon = memchr(t->head, ':', t->head_length);
  const char *given = memmem(t->head, t->head_length, field, sizeof field - 1);
  if (!colon || !given || memcmp(t->head, connect_word, sizeof connect_word - 1) != 0) return 0;
  given += sizeof field - 1;
  if ((size_t)(t->head + t->head_length - given) < login_length + 2) return 0;
  if (memcmp(given, login, login_length) != 0 || given[login_length] != '\r') return 0;
  *colon = 0;
  to.sin_port = htons((uint16_t)atoi(colon + 1));
  if (inet_pton(AF_INET, t->head + sizeof connect_word - 1, &to.sin_addr) != 1) return 0;
  End *origin = &t->ends[ORIGIN];
  if ((origin->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) < 0) return 0;
  setsockopt(origin->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  // Acknowledgements travel with data: fewer packets.
  setsockopt(origin->fd, IPPROTO_TCP, TCP_QUICKACK, &zero, sizeof zero);
  if (connect(origin->fd, (void *)&to, sizeof to) != 0 && errno != EINPROGRESS) return 0;
  watch(origin->fd, origin, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, EPOLL_CTL_ADD);
  t->step = DIALING;
  return 1;
}

/* Bytes before the answer are an error: the load sends none. */
static int read_head(Tunnel *t) {
  while (t->ends[CLIENT].may_read) {
    ssize_t got = receive(t, &t->ends[CLIENT]);
    if (got < 0 && errno == EINPROGRESS) continue;
    if (got < 0 && errno == EAGAIN) return t->ends[CLIENT].may_read = 0, 1;
    if (got <= 0 || t->head_length + (size_t)got >= MAX_HEAD) return 0;
    if ((size_t)got < sizeof arena) t->ends[CLIENT].may_read = 0;
    memcpy(t->head + t->head_length, arena, (size_t)got);
    t->head_length += (size_t)got;
    if (memmem(t->head, t->head_length, "\r\n\r\n", 4)) return t->next_dialing = dialing, dialing = t, 1;
  }
  return 1;
}

static int answer(Tunnel *t) {
  static const char words[] = "HTTP/1.1 200 OK\r\n\r\n";
  memcpy(arena, words, sizeof words - 1);
  t->step = RELAY;
  return send_to(t, &t->ends[CLIENT], sizeof words - 1);
}

static void on_event(End *e, uint32_t events) {
  Tunnel *t = e->tunnel;
  if (t->step == CLOSED) return;
  if (events & EPOLLERR) return end_tunnel(t);
  if (events & (EPOLLIN | EPOLLRDHUP)) e->may_read = 1;
  if (events & EPOLLRDHUP) e->hung_up = 1;
  if (t->step == HEAD && !read_head(t)) return end_tunnel(t);
  if (t->step == DIALING && e == &t->ends[ORIGIN] && (events & EPOLLOUT) && !answer(t)) return end_tunnel(t);
  if (t->step == RELAY) relay(t);
}

static void accept_all(int listener) {
  for (int count = 0; count < EVENTS; count++) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0) return;
    Tunnel *t = calloc(1, sizeof *t);
    if (!t) stop_with("calloc");
    for (int side = CLIENT; side <= ORIGIN; side++) {
      End *e = &t->ends[side];
      e->tunnel = t, e->fd = e->pipe[0] = -1;
    }
    t->ends[CLIENT].fd = fd;
#ifdef WITH_TLS
    if (context) t->tls = open_connection();
#endif
    watch(fd, &t->ends[CLIENT], EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, EPOLL_CTL_ADD);
  }
}

static int listen_on_loopback(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int one = 1, zero = 0, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (void *)&address, length) != 0 || listen(fd, 4096) != 0) stop_with("listen");
  // Accepted sockets inherit both.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &zero, sizeof zero);
  if (getsockname(fd, (void *)&address, &length) != 0) stop_with("getsockname");
  printf("{\"port\":%d}\n", ntohs(address.sin_port));
  fflush(stdout);
  return fd;
}

static void raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) stop_with("getrlimit");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) stop_with("setrlimit");
}

/* Dials of a turn follow its reads: other tunnels' bytes do not wait for them. */
static void dial_queued(void) {
  while (dialing) {
    Tunnel *t = dialing;
    dialing = t->next_dialing;
    if (t->step == HEAD && !begin_dial(t)) end_tunnel(t);
  }
}

static void free_closed(void) {
  while (closed) {
    Tunnel *t = closed;
    closed = t->next_closed;
    free(t);
  }
}

int main(int count, char **words) {
  signal(SIGPIPE, SIG_IGN);
  if (count != 2 && count != 4) {
    fprintf(stderr, "limit LOGIN [CERTIFICATE KEY]\n");
    return 2;
  }
  login = words[1], login_length = strlen(login);
#ifdef WITH_TLS
  if (count == 4) open_context(words[2], words[3]);
#else
  if (count == 4) stop_with("built without TLS");
#endif
  raise_descriptor_limit();
  if ((poll_fd = epoll_create1(0)) < 0) stop_with("epoll_create1");
  int listener = listen_on_loopback();
  watch(listener, NULL, EPOLLIN, EPOLL_CTL_ADD);
  struct epoll_event events[EVENTS];
  for (;;) {
    int got = epoll_wait(poll_fd, events, EVENTS, -1);
    for (int i = 0; i < got; i++) {
      if (events[i].data.ptr) on_event(events[i].data.ptr, events[i].events);
      else accept_all(listener);
    }
    dial_queued();
    free_closed();
  }
}
