#include "tunnel-device.h"

#include "tunnel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H2_DATA = 0, H2_HEADERS = 1, H2_RESET = 3, H2_SETTINGS = 4, H2_PING = 6 };
enum { H2_END_HEADERS = 4, H2_ACK = 1, H2_HEAD = 9 };
enum { WS_BINARY = 2 };

static uint8_t vless_head[26];
static char trojan_head[80];
static size_t trojan_length;
static char device_path[128];

void set_device(const char *key, const char *path, int port) {
  uint8_t high = (uint8_t)(port >> 8), low = (uint8_t)port;
  if (strlen(path) >= sizeof device_path) stop_with("PASSWORD is a path of at most 127 characters");
  strcpy(device_path, path);
  if (strlen(key) == 56) {
    uint8_t target[] = {1, 1, 127, 0, 0, 1, high, low, '\r', '\n'};
    int digits = snprintf(trojan_head, sizeof trojan_head, "%s\r\n", key);
    memcpy(trojan_head + digits, target, sizeof target);
    trojan_length = (size_t)digits + sizeof target;
    return;
  }
  if (strlen(key) != 32) stop_with("USER is 32 or 56 hex digits");
  for (int i = 0; i < 16; i++) {
    char pair[3] = {key[2 * i], key[2 * i + 1], 0};
    vless_head[1 + i] = (uint8_t)strtoul(pair, NULL, 16);
  }
  uint8_t target[] = {0, 1, high, low, 1, 127, 0, 0, 1};
  memcpy(vless_head + 17, target, sizeof target);
}

void begin_device(Device *d, DeviceKind kind) {
  // VLESS answers with two bytes.
  *d = (Device){.kind = kind, .prefix_left = kind == DEVICE_TROJAN ? 0 : 2};
}

size_t write_upgrade(char *out) {
  return (size_t)snprintf(out, MAX_DEVICE_OPENING,
                          "GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                          device_path);
}

static size_t put_frame_head(char *out, size_t length, int type, int flags, uint32_t stream) {
  char head[H2_HEAD] = {(char)(length >> 16), (char)(length >> 8), (char)length, (char)type, (char)flags, 0, 0, 0,
                        (char)stream};
  memcpy(out, head, H2_HEAD);
  return H2_HEAD;
}

/* RFC 7541, 6.2.2, with a name of the static table and a value of at most 126 bytes. */
static size_t put_field(char *out, int name, const char *value) {
  size_t at = 0, length = strlen(value);
  if (name >= 15) out[at++] = 0x0f, out[at++] = (char)(name - 15);
  else out[at++] = (char)name;
  out[at++] = (char)length;
  memcpy(out + at, value, length);
  return at + length;
}

/* Preface, windows that never end, and the request whose body is the stream. */
static size_t put_http2(char *out) {
  static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  static const char windows[] = {0, 0, 6, H2_SETTINGS, 0, 0, 0, 0, 0, 0, 4, 0x7f, (char)0xff, (char)0xff, (char)0xff,
                                 0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, (char)0xff, 0, 0};
  char block[400], path[160], referer[128];
  size_t at = sizeof preface - 1, length = 0;
  memcpy(out, preface, at);
  memcpy(out + at, windows, sizeof windows), at += sizeof windows;
  snprintf(path, sizeof path, "%s/", device_path);
  snprintf(referer, sizeof referer, "https://a/?x_padding=%0100d", 0);
  // :method POST and :scheme https are in the static table.
  block[length++] = (char)0x83, block[length++] = (char)0x87;
  length += put_field(block + length, 1, "localhost");
  length += put_field(block + length, 4, path);
  length += put_field(block + length, 51, referer);
  at += put_frame_head(out + at, length, H2_HEADERS, H2_END_HEADERS, 1);
  memcpy(out + at, block, length);
  return at + length;
}

size_t write_opening(Device *d, const char *request, size_t length, char *out) {
  const char *head = d->kind == DEVICE_TROJAN ? trojan_head : (const char *)vless_head;
  size_t head_length = d->kind == DEVICE_TROJAN ? trojan_length : sizeof vless_head, at = 0, whole = head_length + length;
  if (d->kind == DEVICE_XHTTP) at = put_http2(out), at += put_frame_head(out + at, whole, H2_DATA, 0, 1);
  if (d->kind == DEVICE_WS) {
    // The mask is 0.
    uint8_t frame[8] = {0x80 | WS_BINARY, 0x80 | 126, (uint8_t)(whole >> 8), (uint8_t)whole};
    size_t used = 8;
    if (whole < 126) frame[1] = (uint8_t)(0x80 | whole), frame[2] = frame[3] = 0, used = 6;
    memcpy(out, frame, used), at = used;
  }
  memcpy(out + at, head, head_length);
  memcpy(out + at + head_length, request, length);
  return at + whole;
}

static int pass(Device *d, const char *bytes, size_t length, TakePayload take, void *owner) {
  for (; d->prefix_left > 0 && length > 0; d->prefix_left--, bytes++, length--)
    if (*bytes != 0) return -1;
  return length == 0 ? 1 : take(owner, bytes, length);
}

/* The head of a frame of a WebSocket, once it is whole: 0 while it is not, -1 if it is wrong. */
static int read_websocket_head(Device *d) {
  if (d->head_length < 2) return 0;
  int size = d->head[1] & 0x7f, more = size == 126 ? 2 : size == 127 ? 8 : 0;
  if (d->head[1] & 0x80) return -1;
  if (d->head_length < 2 + more) return 0;
  d->left = more ? 0 : (uint64_t)size;
  for (int i = 0; i < more; i++) d->left = d->left << 8 | d->head[2 + i];
  d->frame_type = (d->head[0] & 0x0f) <= WS_BINARY ? H2_DATA : H2_RESET;
  return 1;
}

static int read_http2_head(Device *d, SendBytes send, void *owner) {
  static const char settings_ack[H2_HEAD] = {0, 0, 0, H2_SETTINGS, H2_ACK};
  if (d->head_length < H2_HEAD) return 0;
  d->left = (uint64_t)d->head[0] << 16 | (uint64_t)d->head[1] << 8 | d->head[2];
  d->frame_type = d->head[3];
  if (d->frame_type == H2_SETTINGS && !(d->head[4] & H2_ACK) && !send(owner, settings_ack, H2_HEAD)) return -1;
  return d->frame_type == H2_RESET || d->frame_type == H2_PING ? -1 : 1;
}

int take_device(Device *d, const char *bytes, size_t length, TakePayload take, SendBytes send, void *owner) {
  if (d->kind == DEVICE_VLESS || d->kind == DEVICE_TROJAN) return pass(d, bytes, length, take, owner);
  while (length > 0) {
    if (d->left > 0) {
      size_t part = length < d->left ? length : (size_t)d->left;
      // The first field of an answer is its status: 200 has the index 8.
      int is_first = d->frame_type == H2_HEADERS && d->head_length == H2_HEAD;
      if (is_first && (uint8_t)*bytes != 0x88) return -1;
      d->head_length = 0, d->left -= part;
      int passed = d->frame_type == H2_DATA ? pass(d, bytes, part, take, owner) : 1;
      if (passed != 1) return passed;
      bytes += part, length -= part;
      continue;
    }
    d->head[d->head_length++] = (uint8_t)*bytes;
    bytes++, length--;
    int is_whole = d->kind == DEVICE_WS ? read_websocket_head(d) : read_http2_head(d, send, owner);
    if (is_whole < 0) return -1;
    if (is_whole && d->left == 0) d->head_length = 0;
  }
  return 1;
}
