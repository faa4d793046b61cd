/* The TLS 1.3 client of the load generator. */
#ifndef TUNNEL_TLS_H
#define TUNNEL_TLS_H

#include <stdint.h>
#include <sys/types.h>

typedef struct TlsClient TlsClient;

/* Takes plaintext. Returns 0 if the connection was closed meanwhile. */
typedef int (*TakePlaintext)(void *owner, const char *bytes, size_t length);

/* Must be called first. */
void open_tls(void);

/* A client keeps the newest ticket of its connections. */
TlsClient *make_tls_client(void);

/*
 * Sends a ClientHello on a connected socket, with the ticket of an earlier connection if it `resumes`, and with h2 as
 * its protocol (ALPN) or without any. Returns 0 if that fails.
 */
int begin_tls(TlsClient *client, int fd, int resumes, int offers_h2);

/* Whether the handshake is complete, and whether it resumed a session. */
int is_tls_open(const TlsClient *client);
int is_tls_resumed(const TlsClient *client);

/* Returns 0 if not everything could be sent. */
int write_tls(TlsClient *client, const char *bytes, size_t length);

/* Reads once. Returns a positive number, 0 at the end, -1 for an error, -2 if the socket is empty. */
ssize_t read_tls(TlsClient *client, TakePlaintext take, void *owner);

#endif
