import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Pebble, startPebble } from '../../../../test/harness/pebble.ts'
import { acmeFiles, readCertificate } from '../certificate.ts'
import { type ChallengeServer, serveChallenges } from './challenge-server.ts'
import { AcmeProblem, Authority } from './client.ts'
import { pauseAfter, Renewal, renewAt } from './renewal.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const made = { cert: '', key: '', names: ['a.example'], beginsAt: 0, endsAt: 90 * dayMs, digest: '' }

test('renewAt is the time when a third of the lifetime is left, and 0 when a name is missing', () => {
  expect(renewAt(undefined, ['a.example'])).toBe(0)
  expect(renewAt(made, ['a.example'])).toBe(60 * dayMs)
  expect(renewAt({ ...made, endsAt: 6 * dayMs }, ['a.example'])).toBe(4 * dayMs)
  expect(renewAt(made, ['a.example', 'b.example'])).toBe(0)
})

test('pauseAfter doubles from 2 minutes to 12 hours, and is 1 hour or the given time after rateLimited', () => {
  const pauses = [1, 2, 3, 8, 10, 100].map((failures) => pauseAfter(failures, new Error('down')) / 60_000)
  expect(pauses).toEqual([2, 4, 8, 256, 720, 720])
  expect(pauseAfter(1, new AcmeProblem('', 'rateLimited', undefined))).toBe(hourMs)
  expect(pauseAfter(1, new AcmeProblem('', 'rateLimited', 40 * hourMs))).toBe(40 * hourMs)
})

describe('the renewal of a certificate', () => {
  const folders: string[] = []
  const lines: [string, Record<string, unknown> | undefined][] = []
  let pebble: Pebble
  let challenges: ChallengeServer
  let nowMs = Date.now()
  let requests = 0
  beforeAll(async () => {
    pebble = await startPebble()
    challenges = serveChallenges({ hostname: '127.0.0.1', port: pebble.challengePort, to: undefined })
  })
  afterAll(async () => {
    await Promise.all([pebble.stop(), challenges.stop()])
    for (const folder of folders) rmSync(folder, { recursive: true })
  })
  afterEach(() => {
    nowMs = Date.now()
    lines.length = 0
  })

  function newFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-acme-'))
    folders.push(folder)
    return folder
  }

  function open(folder: string, more: { names?: string[]; directory?: string; put?: typeof challenges.put } = {}) {
    const directory = more.directory ?? pebble.directory
    const authority = new Authority({ directory, ca: readFileSync(pebble.caFile, 'utf8'), agent: 'turnpike' })
    const note = (event: string, fields?: Record<string, unknown>): void => void lines.push([event, fields])
    return new Renewal({
      folder,
      names: more.names ?? ['shop.test'],
      directory,
      contact: 'operator@shop.test',
      authority: Object.assign(Object.create(authority) as Authority, {
        post(...request: Parameters<Authority['post']>) {
          requests += 1
          return authority.post(...request)
        },
      }),
      challenges: { put: more.put ?? challenges.put, remove: challenges.remove },
      clock: () => nowMs,
      pollMs: 20,
      log: { error: note, warn: note, info: note, debug: note },
      onRenewed() {},
    })
  }

  const held = (folder: string) => {
    const { cert, key } = acmeFiles(folder)
    return readCertificate(readFileSync(cert, 'utf8'), readFileSync(key, 'utf8'))
  }

  test('Renewal obtains a certificate, and one with a new key after two thirds of its lifetime', async () => {
    const folder = newFolder()
    const renewal = open(folder, { names: ['shop.test', 'proxy.shop.test'] })
    await renewal.look()
    const first = held(folder)
    expect(first.names.toSorted()).toEqual(['proxy.shop.test', 'shop.test'])
    const account = readFileSync(join(folder, 'account.json'), 'utf8')
    const before = requests
    nowMs = renewAt(first, ['shop.test']) - 1000
    await renewal.look()
    expect(requests).toBe(before)
    nowMs += 2000
    await renewal.look()
    const second = held(folder)
    expect(second.digest).not.toBe(first.digest)
    expect(second.key).not.toBe(first.key)
    expect(readFileSync(join(folder, 'account.json'), 'utf8')).toBe(account)
    await renewal.stop()
  })

  test('Renewal sends no request before the backoff of 2 minutes ends, also after a restart', async () => {
    const folder = newFolder()
    const broken = open(folder, { put: (token) => challenges.put(token, 'something else') })
    await broken.look()
    expect(lines).toContainEqual([
      'certificate not renewed',
      expect.objectContaining({ failures: 1, again_in_ms: 120_000 }),
    ])
    expect(String(lines.at(-1)?.[1]?.['reason'])).toContain('shop.test was not proven: unauthorized')
    await broken.stop()
    const before = requests
    const again = open(folder)
    await again.look()
    expect({ requests, failures: again.failures }).toEqual({ requests: before, failures: 1 })
    nowMs += 120_000
    await again.look()
    expect({ failures: again.failures, names: held(folder).names }).toEqual({ failures: 0, names: ['shop.test'] })
    await again.stop()
  })

  test('Renewal keeps the certificate when the authority is unreachable, and refuses a directory without https', async () => {
    const folder = newFolder()
    const good = open(folder)
    await good.look()
    await good.stop()
    const { digest } = held(folder)
    nowMs = renewAt(held(folder), ['shop.test']) + 1
    const unreachable = open(folder, { directory: 'https://127.0.0.1:9/dir' })
    await unreachable.look()
    expect(lines.at(-1)?.[0]).toBe('certificate not renewed')
    expect(held(folder).digest).toBe(digest)
    await unreachable.stop()
    const otherServer = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('<html>') })
    const plain = open(newFolder(), { directory: `http://127.0.0.1:${otherServer.port}/` })
    await plain.look()
    expect(lines.at(-1)?.[1]?.['reason']).toContain('not https')
    await plain.stop()
    await otherServer.stop(true)
  })
})
