/* The load generator as an app of a VPN device: VLESS and Trojan in TLS, VLESS in a WebSocket, and in XHTTP over HTTP/2. */
#ifndef TUNNEL_DEVICE_H
#define TUNNEL_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum { DEVICE_VLESS, DEVICE_TROJAN, DEVICE_WS, DEVICE_XHTTP } DeviceKind;

/* The largest opening: of XHTTP, with a request of at most MAX_DEVICE_REQUEST bytes. */
enum { MAX_DEVICE_OPENING = 1024, MAX_DEVICE_REQUEST = 256 };

/* What the server has sent of the current frame. */
typedef struct {
  DeviceKind kind;
  uint8_t head[14];
  int head_length, frame_type, prefix_left;
  uint64_t left;
} Device;

/* The key is 32 hex digits of a UUID, or 56 of a Trojan password. Destinations are on 127.0.0.1. */
void set_device(const char *key, const char *path, int port);

void begin_device(Device *device, DeviceKind kind);

/* The request that a WebSocket begins with. Its answer comes before anything else. */
size_t write_upgrade(char *out);

/* The opening of a tunnel with its first request. Returns its length. */
size_t write_opening(Device *device, const char *request, size_t length, char *out);

/* Returns 0 if the connection was closed meanwhile. */
typedef int (*TakePayload)(void *owner, const char *bytes, size_t length);
typedef int (*SendBytes)(void *owner, const char *bytes, size_t length);

/* Passes the payload of the server's bytes on. Returns 0 if the connection was closed meanwhile, -1 if they are wrong. */
int take_device(Device *device, const char *bytes, size_t length, TakePayload take, SendBytes send, void *owner);

#endif
