import { dlopen } from 'bun:ffi'
import { expect, test } from 'bun:test'
import { createDice } from '../../../../test/harness/dice.ts'
import { selfSigned } from '../../../../test/harness/self-signed.ts'
import { readCertificate } from '../certificate.ts'
import { TlsBuffers } from './buffers.ts'
import { TlsConnection } from './connection.ts'
import { TlsCallbacks, TlsContext } from './context.ts'
import { type Library, openLibrary } from './library.ts'
import { makeTicketKey } from './ticket-keys.ts'

/** Calls of functions that make or free objects of OpenSSL. */
const counted = {
  SSL_new: 0,
  SSL_free: 0,
  SSL_CTX_new: 0,
  SSL_CTX_free: 0,
  BIO_new: 0,
  BIO_free: 0,
  BIO_up_ref: 0,
  SSL_set0_rbio: 0,
  SSL_set0_wbio: 0,
  EVP_PKEY_free: 0,
  X509_free: 0,
}
const plainLibrary = openLibrary()
const library: Library = { ...plainLibrary }
for (const name of Object.keys(counted) as (keyof typeof counted)[]) {
  const call = plainLibrary[name]
  const count: typeof call = (...args) => {
    counted[name] += 1
    return call(...args)
  }
  Object.assign(library, { [name]: count })
}

const thread = { library, buffers: new TlsBuffers(library) }
const callbacks = new TlsCallbacks(library, true)
callbacks.setTicketKeys([makeTicketKey()])
const certificates = [readCertificate(selfSigned.cert, selfSigned.key)]

/** Functions of a client, which the gateway does not use. Pointers are numbers, as in the library. */
const client = dlopen('libssl.so.3', {
  SSL_set_connect_state: { args: ['u64'], returns: 'void' },
  SSL_key_update: { args: ['u64', 'i32'], returns: 'i32' },
  SSL_renegotiate: { args: ['u64'], returns: 'i32' },
  SSL_do_handshake: { args: ['u64'], returns: 'i32' },
}).symbols

const maxVersionControl = 124
const tls12 = 0x0303
const tls13 = 0x0304
const keyUpdateRequested = 1
const scratch = new Uint8Array(64 * 1024)

/** A client of OpenSSL and a connection that reach each other through memory. `room`: bytes that reach the server. */
function join(context: TlsContext, version = tls13, room = Number.POSITIVE_INFINITY) {
  const lib = plainLibrary
  const ofClient = lib.SSL_CTX_new(lib.TLS_method())
  lib.SSL_CTX_ctrl(ofClient, maxVersionControl, version, 0)
  const ssl = lib.SSL_new(ofClient)
  lib.SSL_CTX_free(ofClient)
  const [input, output] = [lib.BIO_new(lib.BIO_s_mem()), lib.BIO_new(lib.BIO_s_mem())]
  lib.SSL_set0_rbio(ssl, input)
  lib.SSL_set0_wbio(ssl, output)
  client.SSL_set_connect_state(ssl)
  const seen = { atServer: '', atClient: '' }
  const connection = new TlsConnection(thread, context, {
    send(address, bytes) {
      lib.BIO_write(input, address, bytes)
      return bytes
    },
  })
  let left = room
  /** Passes what the client has written. False if nothing. */
  function passToServer(): boolean {
    const got = lib.BIO_read(output, scratch, Math.min(scratch.length, left))
    if (got <= 0 || left === 0) return false
    left -= got
    thread.buffers.fillInput(scratch.subarray(0, got))
    const have = connection.receive(got)
    seen.atServer += Buffer.from(thread.buffers.plain.subarray(0, have)).toString()
    return true
  }
  function pump(): void {
    const plain = new Uint8Array(64 * 1024)
    do {
      lib.ERR_clear_error()
      const got = lib.SSL_read(ssl, plain, plain.length)
      if (got > 0) seen.atClient += Buffer.from(plain.subarray(0, got)).toString()
    } while (passToServer())
  }
  function write(text: string): void {
    lib.SSL_write(ssl, Buffer.from(text), text.length)
    pump()
  }
  function free(): void {
    lib.SSL_free(ssl)
    connection.free()
  }
  return { connection, ssl, seen, pump, write, free }
}

test('100 requests for a KeyUpdate are answered, and their answers deliver no plaintext', () => {
  const context = new TlsContext(callbacks, certificates)
  const { connection, ssl, seen, pump, write, free } = join(context)
  pump()
  const marks = connection.follow()
  for (let count = 1; count <= 100; count += 1) {
    expect(client.SSL_key_update(ssl, keyUpdateRequested)).toBe(1)
    write('a')
    const before = connection.produced
    connection.write(Buffer.from('b'))
    // A record of 1 byte has 23; the KeyUpdate in front of it has 27.
    expect(connection.produced - before).toBe(50)
    expect([marks.reach(connection.produced - 1), marks.confirm(connection.produced)]).toEqual([count - 1, count])
    pump()
  }
  expect([seen.atServer, seen.atClient, connection.state]).toEqual(['a'.repeat(100), 'b'.repeat(100), 'open'])
  free()
  context.free()
})

test('an error that another call left in the queue of the thread does not fail a connection', () => {
  const context = new TlsContext(callbacks, certificates)
  const { connection, seen, pump, write, free } = join(context)
  pump()
  expect(connection.state).toBe('open')
  const text = Buffer.from('no certificate')
  const bio = plainLibrary.BIO_new(plainLibrary.BIO_s_mem())
  plainLibrary.BIO_write(bio, text, text.length)
  expect(plainLibrary.PEM_read_bio_X509(bio, 0, 0, 0) ?? 0).toBe(0)
  plainLibrary.BIO_free(bio)
  connection.receive(0)
  write('x')
  expect([connection.state, connection.problem, seen.atServer]).toEqual(['open', '', 'x'])
  free()
  context.free()
})

test('a renegotiation in TLS 1.2 is refused without a handshake, and the connection carries bytes before it', () => {
  const context = new TlsContext(callbacks, certificates)
  const { connection, ssl, seen, pump, write, free } = join(context, tls12)
  pump()
  write('before')
  expect([connection.state, seen.atServer]).toEqual(['open', 'before'])
  const { produced } = connection
  expect(client.SSL_renegotiate(ssl)).toBe(1)
  client.SSL_do_handshake(ssl)
  pump()
  // An alert of 2 bytes, with 29 of its record: no ServerHello.
  expect(connection.produced - produced).toBe(31)
  expect(client.SSL_do_handshake(ssl)).toBe(-1)
  expect([connection.serverName, seen.atServer]).toEqual([undefined, 'before'])
  free()
  context.free()
})

test('120 handshakes that break off at random bytes free as many connections, contexts, keys and BIOs as they made', () => {
  const dice = createDice(7)
  const whole = join(new TlsContext(callbacks, certificates))
  whole.pump()
  whole.free()
  const bytes = 2000
  for (const name of Object.keys(counted) as (keyof typeof counted)[]) counted[name] = 0
  const states = new Set<string>()
  for (let count = 0; count < 120; count += 1) {
    const context = new TlsContext(callbacks, certificates)
    const broken = join(context, count % 2 === 0 ? tls13 : tls12, dice(bytes))
    broken.pump()
    states.add(broken.connection.state)
    if (count % 3 === 0) context.free()
    broken.free()
    if (count % 3 !== 0) context.free()
  }
  expect(states).toEqual(new Set(['handshake', 'open']))
  expect(counted).toEqual({
    SSL_new: 120,
    SSL_free: 120,
    SSL_CTX_new: 120,
    SSL_CTX_free: 120,
    // The texts of the certificate and of the key.
    BIO_new: 240,
    BIO_free: 240,
    // A reference for each of the two BIOs that a connection frees.
    BIO_up_ref: 240,
    SSL_set0_rbio: 120,
    SSL_set0_wbio: 120,
    EVP_PKEY_free: 120,
    X509_free: 120,
  })
  expect(thread.buffers.pending).toBe(0)
})

test('150 contexts with a connection each, which outlives its context, leave less than 8 KB each behind', () => {
  function reload(): void {
    const context = new TlsContext(callbacks, certificates)
    const { connection, pump, write, seen, free } = join(context)
    context.free()
    pump()
    write('x')
    expect([connection.state, seen.atServer]).toEqual(['open', 'x'])
    free()
  }
  for (let count = 0; count < 100; count += 1) reload()
  Bun.gc(true)
  const before = process.memoryUsage.rss()
  for (let count = 0; count < 150; count += 1) reload()
  Bun.gc(true)
  expect((process.memoryUsage.rss() - before) / 150).toBeLessThan(8192)
})
