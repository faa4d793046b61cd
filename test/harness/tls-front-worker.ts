/**
 * A reverse proxy that terminates TLS before a shop on this machine, as an operator may run one. It listens at the
 * first argument.
 */

import { selfSignedShop } from './self-signed.ts'

const shop = 'http://127.0.0.1:8080'

Bun.serve({
  hostname: process.argv[2] ?? '127.0.0.1',
  port: 8443,
  idleTimeout: 60,
  tls: selfSignedShop,
  fetch(request, server) {
    const { pathname, search } = new URL(request.url)
    const headers = new Headers(request.headers)
    headers.set('x-forwarded-for', server.requestIP(request)?.address ?? '')
    headers.delete('host')
    const { method, signal } = request
    return fetch(`${shop}${pathname}${search}`, { method, headers, signal, body: request.body, redirect: 'manual' })
  },
})
