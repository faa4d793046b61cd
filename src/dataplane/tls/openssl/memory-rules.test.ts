import { ptr } from 'bun:ffi'
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { selfSigned } from '../../../../test/harness/self-signed.ts'
import { readCertificate } from '../certificate.ts'
import { TlsBuffers } from './buffers.ts'
import { TlsCallbacks, TlsContext } from './context.ts'
import { openLibrary } from './library.ts'
import { makeTicketKey } from './ticket-keys.ts'

/** Rules of memory in `library.ts` that the tests of connections do not cover. */
const library = openLibrary()
const certificates = [readCertificate(selfSigned.cert, selfSigned.key)]

const open = () => {
  const thread = { library, buffers: new TlsBuffers(library) }
  const callbacks = new TlsCallbacks(library, true)
  callbacks.setTicketKeys([makeTicketKey()])
  return { thread, callbacks, context: new TlsContext(callbacks, certificates) }
}

test('the buffers of a thread are freed once: a second call throws', () => {
  const { thread, callbacks, context } = open()
  context.free()
  callbacks.free()
  thread.buffers.free()
  expect(() => thread.buffers.free()).toThrow('these TLS buffers are freed already')
})

test('memory whose address OpenSSL keeps does not move, whatever is collected and however often its bytes are read', () => {
  const { thread, callbacks, context } = open()
  const { buffers } = thread
  const inputs = new Set<number>()
  for (let round = 0; round < 20; round += 1) {
    const garbage = Array.from({ length: 2000 }, () => new Uint8Array(64).buffer)
    expect(garbage.length + buffers.plain.buffer.byteLength).toBeGreaterThan(2000)
    Bun.gc(true)
    inputs.add(buffers.inputAt)
    expect(Number(ptr(buffers.plain))).toBe(buffers.plainAt)
    expect(Number(ptr(new Uint8Array(buffers.place.view.buffer))) + 256).toBe(buffers.place.at)
  }
  expect(inputs.size).toBe(1)
  context.free()
  callbacks.free()
})

/** Files of this folder that take an address themselves. */
const withAddresses = ['buffers.ts', 'context.ts', 'ticket-crypter.ts']

test('an address is taken of fields only, never of a temporary array', () => {
  const folder = import.meta.dir
  const sources = [...new Bun.Glob('*.ts').scanSync({ cwd: folder })].filter((name) => !name.endsWith('.test.ts'))
  const taken = sources.flatMap((name) =>
    [...readFileSync(join(folder, name), 'utf8').matchAll(/\bptr\(([^)]*)\)/g)].map(([, of = '']) => ({ name, of })),
  )
  // The comment of library.ts names the rule itself.
  const own = taken.filter(({ of }) => of !== 'temporary')
  expect(new Set(own.map(({ name }) => name))).toEqual(new Set(withAddresses))
  for (const { of } of own) expect(of).toMatch(/^this\.\w+$/)
})
