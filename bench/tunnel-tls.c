/*
 * A TLS 1.3 client (RFC 8446) with one suite, TLS_AES_128_GCM_SHA256, and one group, X25519. A handshake costs it a
 * quarter of what a library needs, so the cores that load and proxy share are left to the proxy. It leaves out what
 * only protects a client: all connections have the same private key, and certificates and their signatures are
 * not checked. The server's Finished and every record are.
 */
#define _GNU_SOURCE
// SHA256_* and their contexts, which can be copied, are deprecated since OpenSSL 3.0.
#define OPENSSL_API_COMPAT 10100
#include "tunnel-tls.h"
#include "tunnel.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { HASH = 32, KEY = 16, NONCE = 12, TAG = 16, SHARE = 32, HEAD = 5 };
enum { MAX_RECORD = 16384 + 256, MAX_FLIGHT = 16384, MAX_TICKET = 4096, MAX_HELLO = MAX_TICKET + 512 };
enum { CHANGE_CIPHER_SPEC = 20, ALERT = 21, HANDSHAKE = 22, DATA = 23 };
enum { SERVER_HELLO = 2, NEW_TICKET = 4, FINISHED = 20 };
enum { PRE_SHARED_KEY = 41, KEY_SHARE = 51 };
/* The length of the extensions in our ClientHello. */
enum { EXTENSIONS_AT = 45 };

typedef struct {
  EVP_CIPHER_CTX *context;
  uint8_t iv[NONCE];
  uint64_t records;
} Direction;

struct TlsClient {
  int fd, is_secret, is_open, is_resumed, has_ended, keeps_tickets;
  SHA256_CTX transcript;
  uint8_t client_secret[HASH], server_secret[HASH], master[HASH], resumption[HASH], early[HASH];
  Direction reading, writing;
  /* The part of a record that has arrived. */
  uint8_t rest[HEAD + MAX_RECORD];
  size_t rest_length;
  /* Handshake messages that are not yet complete. */
  uint8_t flight[MAX_FLIGHT];
  size_t flight_length;
  /* Finished, until it is sent with the first data. */
  uint8_t waiting[128];
  size_t waiting_length;
  uint8_t ticket[MAX_TICKET], psk[HASH];
  size_t ticket_length;
  uint32_t age_add;
  double ticket_at;
};

static EVP_CIPHER *cipher;
static EVP_PKEY_CTX *exchange;
static uint8_t share[SHARE], empty_hash[HASH];
static const uint8_t zeros[HASH];

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* RFC 2104 with SHA-256; keys are at most one block long. */
static void hmac(const uint8_t *key, size_t key_length, const uint8_t *text, size_t length, uint8_t out[HASH]) {
  uint8_t pad[64];
  SHA256_CTX hash;
  for (size_t i = 0; i < sizeof pad; i++) pad[i] = (uint8_t)((i < key_length ? key[i] : 0) ^ 0x36);
  SHA256_Init(&hash), SHA256_Update(&hash, pad, sizeof pad), SHA256_Update(&hash, text, length);
  uint8_t inner[HASH];
  SHA256_Final(inner, &hash);
  for (size_t i = 0; i < sizeof pad; i++) pad[i] ^= 0x36 ^ 0x5c;
  SHA256_Init(&hash), SHA256_Update(&hash, pad, sizeof pad), SHA256_Update(&hash, inner, HASH);
  SHA256_Final(out, &hash);
}

/* HKDF-Expand-Label (RFC 8446, 7.1) for at most one hash of output. */
static void expand(const uint8_t secret[HASH], const char *label, const uint8_t *context, size_t context_length,
                   uint8_t *out, size_t length) {
  uint8_t info[128] = {0, (uint8_t)length, (uint8_t)(6 + strlen(label))}, whole[HASH];
  size_t at = 3;
  memcpy(info + at, "tls13 ", 6), at += 6;
  memcpy(info + at, label, strlen(label)), at += strlen(label);
  info[at++] = (uint8_t)context_length;
  memcpy(info + at, context, context_length), at += context_length;
  info[at++] = 1;
  hmac(secret, HASH, info, at, whole);
  memcpy(out, whole, length);
}

static void hash_so_far(const SHA256_CTX *transcript, uint8_t out[HASH]) {
  SHA256_CTX copy = *transcript;
  SHA256_Final(out, &copy);
}

static void use_secret(Direction *direction, const uint8_t secret[HASH], int encrypts) {
  uint8_t key[KEY];
  expand(secret, "key", zeros, 0, key, KEY);
  expand(secret, "iv", zeros, 0, direction->iv, NONCE);
  direction->records = 0;
  if (!EVP_CipherInit_ex(direction->context, cipher, NULL, key, direction->iv, encrypts)) stop_with("EVP_CipherInit_ex");
}

static void next_nonce(Direction *direction, uint8_t nonce[NONCE]) {
  memcpy(nonce, direction->iv, NONCE);
  for (int i = 0; i < 8; i++) nonce[NONCE - 1 - i] ^= (uint8_t)(direction->records >> (8 * i));
  direction->records++;
}

/* Writes a record of this inner type. Returns its length. */
static size_t seal(TlsClient *c, uint8_t type, const uint8_t *bytes, size_t length, uint8_t *out) {
  size_t sealed = length + 1 + TAG;
  uint8_t head[HEAD] = {DATA, 3, 3, (uint8_t)(sealed >> 8), (uint8_t)sealed}, nonce[NONCE];
  EVP_CIPHER_CTX *context = c->writing.context;
  int done;
  next_nonce(&c->writing, nonce);
  memcpy(out, head, HEAD);
  memcpy(out + HEAD, bytes, length);
  out[HEAD + length] = type;
  EVP_EncryptInit_ex(context, NULL, NULL, NULL, nonce);
  EVP_EncryptUpdate(context, NULL, &done, head, HEAD);
  EVP_EncryptUpdate(context, out + HEAD, &done, out + HEAD, (int)length + 1);
  EVP_EncryptFinal_ex(context, out + HEAD + done, &done);
  EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG, out + HEAD + length + 1);
  return HEAD + sealed;
}

/* Decrypts a record in place. Returns the length of its content, or -1. */
static ssize_t unseal(TlsClient *c, const uint8_t head[HEAD], uint8_t *bytes, size_t length, uint8_t *type) {
  EVP_CIPHER_CTX *context = c->reading.context;
  uint8_t nonce[NONCE];
  int done;
  if (length < 1 + TAG) return -1;
  next_nonce(&c->reading, nonce);
  size_t plain = length - TAG;
  EVP_DecryptInit_ex(context, NULL, NULL, NULL, nonce);
  EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG, bytes + plain);
  EVP_DecryptUpdate(context, NULL, &done, head, HEAD);
  EVP_DecryptUpdate(context, bytes, &done, bytes, (int)plain);
  if (EVP_DecryptFinal_ex(context, bytes + done, &done) != 1) return -1;
  while (plain > 0 && bytes[plain - 1] == 0) plain--;
  if (plain == 0) return -1;
  *type = bytes[plain - 1];
  return (ssize_t)plain - 1;
}

void open_tls(void) {
  EVP_PKEY *own = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
  size_t length = SHARE;
  cipher = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
  if (!own || !cipher || !EVP_PKEY_get_raw_public_key(own, share, &length)) stop_with("OpenSSL");
  exchange = EVP_PKEY_CTX_new(own, NULL);
  if (!exchange || EVP_PKEY_derive_init(exchange) != 1) stop_with("EVP_PKEY_derive_init");
  SHA256(NULL, 0, empty_hash);
}

TlsClient *make_tls_client(void) {
  TlsClient *c = calloc(1, sizeof *c);
  if (!c || !(c->reading.context = EVP_CIPHER_CTX_new()) || !(c->writing.context = EVP_CIPHER_CTX_new()))
    stop_with("make_tls_client");
  return c;
}

static void put(uint8_t **at, uint64_t value, int bytes) {
  while (bytes-- > 0) *(*at)++ = (uint8_t)(value >> (8 * bytes));
}

static void put_bytes(uint8_t **at, const uint8_t *bytes, size_t length) {
  memcpy(*at, bytes, length);
  *at += length;
}

/* RFC 8446, 4.2.11. The binder proves the secret of the ticket, over all before it. */
static void put_pre_shared_key(TlsClient *c, uint8_t *hello, uint8_t **at) {
  size_t identity = 2 + c->ticket_length + 4;
  put(at, PRE_SHARED_KEY, 2), put(at, 2 + identity + 2 + 1 + HASH, 2);
  put(at, identity, 2), put(at, c->ticket_length, 2), put_bytes(at, c->ticket, c->ticket_length);
  put(at, (uint32_t)(now_ms() - c->ticket_at) + c->age_add, 4);
  uint8_t *binders = *at, binder_secret[HASH], key[HASH], hash[HASH], *length = hello + 1, *extensions = hello + EXTENSIONS_AT;
  size_t whole = (size_t)(binders - hello) + 2 + 1 + HASH;
  put(&length, whole - 4, 3), put(&extensions, whole - EXTENSIONS_AT - 2, 2);
  expand(c->early, "res binder", empty_hash, HASH, binder_secret, HASH);
  expand(binder_secret, "finished", zeros, 0, key, HASH);
  SHA256(hello, (size_t)(binders - hello), hash);
  put(at, 1 + HASH, 2), put(at, HASH, 1);
  hmac(key, HASH, hash, HASH, *at);
  *at += HASH;
}

int begin_tls(TlsClient *c, int fd, int resumes, int offers_h2) {
  uint8_t record[HEAD + MAX_HELLO], *hello = record + HEAD, *at = hello, random[32];
  int has_ticket = resumes && c->ticket_length > 0;
  c->fd = fd, c->keeps_tickets = resumes;
  c->is_secret = c->is_open = c->is_resumed = c->has_ended = 0;
  c->rest_length = c->flight_length = c->waiting_length = 0;
  hmac(zeros, HASH, has_ticket ? c->psk : zeros, HASH, c->early);
  RAND_bytes(random, sizeof random);
  // ClientHello, its length, TLS 1.2 as the legacy version, no session id, one suite, no compression.
  put(&at, 1, 1), put(&at, 0, 3), put(&at, 0x0303, 2), put_bytes(&at, random, sizeof random), put(&at, 0, 1);
  put(&at, 2, 2), put(&at, 0x1301, 2), put(&at, 0x0100, 2), put(&at, 0, 2);
  // Groups: X25519. Signatures: ECDSA with P-256, RSA-PSS and RSA with SHA-256. Version 1.3. A ticket with key exchange.
  put(&at, 10, 2), put(&at, 4, 2), put(&at, 2, 2), put(&at, 0x1d, 2);
  put(&at, 13, 2), put(&at, 8, 2), put(&at, 6, 2), put(&at, 0x040308040401, 6);
  put(&at, 43, 2), put(&at, 3, 2), put(&at, 2, 1), put(&at, 0x0304, 2);
  put(&at, 45, 2), put(&at, 2, 2), put(&at, 0x0101, 2);
  put(&at, KEY_SHARE, 2), put(&at, 2 + 4 + SHARE, 2), put(&at, 4 + SHARE, 2), put(&at, 0x1d, 2), put(&at, SHARE, 2);
  put_bytes(&at, share, SHARE);
  if (offers_h2) put(&at, 16, 2), put(&at, 5, 2), put(&at, 3, 2), put(&at, 2, 1), put(&at, 0x6832, 2);
  uint8_t *length = hello + 1, *extensions = hello + EXTENSIONS_AT, *head = record;
  put(&length, (uint64_t)(at - hello - 4), 3), put(&extensions, (uint64_t)(at - hello - EXTENSIONS_AT - 2), 2);
  if (has_ticket) put_pre_shared_key(c, hello, &at);
  size_t whole = (size_t)(at - hello);
  put(&head, HANDSHAKE, 1), put(&head, 0x0301, 2), put(&head, whole, 2);
  SHA256_Init(&c->transcript), SHA256_Update(&c->transcript, hello, whole);
  return send(fd, record, HEAD + whole, MSG_NOSIGNAL) == (ssize_t)(HEAD + whole);
}

/* Secrets of the handshake and of the data (RFC 8446, 7.1). */
static void derive(const uint8_t from[HASH], const char *label, const SHA256_CTX *transcript, uint8_t out[HASH]) {
  uint8_t hash[HASH];
  hash_so_far(transcript, hash);
  expand(from, label, hash, HASH, out, HASH);
}

static int agree(TlsClient *c, const uint8_t server_share[SHARE]) {
  EVP_PKEY *peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, server_share, SHARE);
  uint8_t secret[SHARE], salt[HASH], handshake[HASH];
  size_t length = SHARE;
  int is_good = peer && EVP_PKEY_derive_set_peer(exchange, peer) == 1 && EVP_PKEY_derive(exchange, secret, &length) == 1;
  EVP_PKEY_free(peer);
  if (!is_good) return 0;
  // Without the server's consent to the ticket, the handshake is a full one.
  if (!c->is_resumed) hmac(zeros, HASH, zeros, HASH, c->early);
  expand(c->early, "derived", empty_hash, HASH, salt, HASH);
  hmac(salt, HASH, secret, SHARE, handshake);
  derive(handshake, "c hs traffic", &c->transcript, c->client_secret);
  derive(handshake, "s hs traffic", &c->transcript, c->server_secret);
  expand(handshake, "derived", empty_hash, HASH, salt, HASH);
  hmac(salt, HASH, zeros, HASH, c->master);
  use_secret(&c->reading, c->server_secret, 0), use_secret(&c->writing, c->client_secret, 1);
  return c->is_secret = 1;
}

/* RFC 8446, 4.1.3. A request to try again has a share without a key, which is an error here. */
static int take_server_hello(TlsClient *c, const uint8_t *message, size_t length) {
  size_t at = 4 + 2 + 32;
  if (c->is_secret || length < at + 1) return 0;
  at += 1u + message[at] + 2 + 1 + 2;
  const uint8_t *server_share = NULL;
  while (at + 4 <= length) {
    int type = message[at] << 8 | message[at + 1];
    size_t size = (size_t)(message[at + 2] << 8 | message[at + 3]);
    if ((at += 4) + size > length) return 0;
    if (type == PRE_SHARED_KEY) c->is_resumed = 1;
    if (type == KEY_SHARE && size == 4 + SHARE) server_share = message + at + 4;
    at += size;
  }
  return server_share && agree(c, server_share);
}

static void write_finished(const uint8_t secret[HASH], const SHA256_CTX *transcript, uint8_t out[HASH]) {
  uint8_t key[HASH], hash[HASH];
  expand(secret, "finished", zeros, 0, key, HASH);
  hash_so_far(transcript, hash);
  hmac(key, HASH, hash, HASH, out);
}

static int take_finished(TlsClient *c, const uint8_t *message, size_t length) {
  uint8_t expected[HASH], own[4 + HASH] = {FINISHED, 0, 0, HASH};
  if (c->is_open || length != 4 + HASH) return 0;
  write_finished(c->server_secret, &c->transcript, expected);
  if (memcmp(message + 4, expected, HASH) != 0) return 0;
  SHA256_Update(&c->transcript, message, length);
  write_finished(c->client_secret, &c->transcript, own + 4);
  c->waiting_length = seal(c, HANDSHAKE, own, sizeof own, c->waiting);
  derive(c->master, "s ap traffic", &c->transcript, c->server_secret);
  derive(c->master, "c ap traffic", &c->transcript, c->client_secret);
  use_secret(&c->reading, c->server_secret, 0), use_secret(&c->writing, c->client_secret, 1);
  SHA256_Update(&c->transcript, own, sizeof own);
  if (c->keeps_tickets) derive(c->master, "res master", &c->transcript, c->resumption);
  return c->is_open = 1;
}

/* RFC 8446, 4.6.1: lifetime, age_add, nonce, ticket. */
static void keep_ticket(TlsClient *c, const uint8_t *message, size_t length) {
  if (!c->keeps_tickets || length < 13) return;
  const uint8_t *add = message + 8, *nonce = message + 13;
  size_t nonce_length = message[12], at = 13 + nonce_length;
  if (nonce_length > HASH || at + 2 > length) return;
  size_t size = (size_t)(message[at] << 8 | message[at + 1]);
  if (size > MAX_TICKET || at + 2 + size > length) return;
  expand(c->resumption, "resumption", nonce, nonce_length, c->psk, HASH);
  memcpy(c->ticket, message + at + 2, size);
  c->ticket_length = size, c->ticket_at = now_ms();
  c->age_add = (uint32_t)add[0] << 24 | (uint32_t)add[1] << 16 | (uint32_t)add[2] << 8 | add[3];
}

static int take_message(TlsClient *c, const uint8_t *message, size_t length) {
  if (message[0] == FINISHED) return take_finished(c, message, length);
  if (c->is_open) {
    if (message[0] == NEW_TICKET) keep_ticket(c, message, length);
    return message[0] == NEW_TICKET;
  }
  SHA256_Update(&c->transcript, message, length);
  return message[0] != SERVER_HELLO || take_server_hello(c, message, length);
}

/* Handshake messages may share records and span them. */
static int take_handshake(TlsClient *c, const uint8_t *bytes, size_t length) {
  if (c->flight_length + length > MAX_FLIGHT) return 0;
  memcpy(c->flight + c->flight_length, bytes, length);
  c->flight_length += length;
  size_t at = 0;
  while (c->flight_length - at >= 4) {
    const uint8_t *message = c->flight + at;
    size_t whole = 4 + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
    if (c->flight_length - at < whole) break;
    if (!take_message(c, message, whole)) return 0;
    at += whole;
  }
  memmove(c->flight, c->flight + at, c->flight_length -= at);
  return 1;
}

typedef enum { GOOD, BAD, STOPPED } Outcome;

static Outcome take_record(TlsClient *c, uint8_t *record, size_t length, TakePlaintext take, void *owner) {
  uint8_t type = record[0], *bytes = record + HEAD;
  if (type == CHANGE_CIPHER_SPEC) return GOOD;
  if (c->is_secret) {
    ssize_t plain = type == DATA ? unseal(c, record, bytes, length, &type) : -1;
    if (plain < 0) return BAD;
    length = (size_t)plain;
  }
  if (type == HANDSHAKE) return take_handshake(c, bytes, length) ? GOOD : BAD;
  // close_notify is alert 0; others are errors.
  if (type == ALERT) return length == 2 && bytes[1] == 0 ? (c->has_ended = 1, GOOD) : BAD;
  if (type != DATA || !c->is_open) return BAD;
  return take(owner, (const char *)bytes, length) ? GOOD : STOPPED;
}

ssize_t read_tls(TlsClient *c, TakePlaintext take, void *owner) {
  static uint8_t buffer[HEAD + MAX_RECORD + PIECE];
  memcpy(buffer, c->rest, c->rest_length);
  ssize_t got = recv(c->fd, buffer + c->rest_length, PIECE, 0);
  if (got < 0) return errno == EAGAIN ? -2 : -1;
  if (got == 0) return 0;
  size_t at = 0, end = c->rest_length + (size_t)got;
  while (end - at >= HEAD) {
    size_t length = (size_t)(buffer[at + 3] << 8 | buffer[at + 4]);
    if (end - at < HEAD + length && length <= MAX_RECORD) break;
    Outcome outcome = length > MAX_RECORD ? BAD : take_record(c, buffer + at, length, take, owner);
    if (outcome == STOPPED) return got;
    if (outcome == BAD) return errno = EBADMSG, -1;
    at += HEAD + length;
  }
  memcpy(c->rest, buffer + at, c->rest_length = end - at);
  return c->has_ended ? 0 : got;
}

int is_tls_open(const TlsClient *c) { return c->is_open; }

int is_tls_resumed(const TlsClient *c) { return c->is_resumed; }

int write_tls(TlsClient *c, const char *bytes, size_t length) {
  uint8_t out[sizeof c->waiting + HEAD + MAX_RECORD];
  if (length > 16384) return 0;
  memcpy(out, c->waiting, c->waiting_length);
  size_t whole = c->waiting_length + seal(c, DATA, (const uint8_t *)bytes, length, out + c->waiting_length);
  c->waiting_length = 0;
  return send(c->fd, out, whole, MSG_NOSIGNAL) == (ssize_t)whole;
}
