import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordingLog } from '../../../test/harness/hand-timing.ts'
import { openStandInShop, type StandInShop } from '../../../test/harness/stand-in-shop.ts'
import { untilTrue } from '../../../test/harness/turnpike.ts'
import { waitLimitMs } from '../../../test/harness/until.ts'
import { makeBoot } from './boots.ts'
import { type IdentityDeps, IdentityError, takeIdentity } from './identity.ts'
import { realTiming, type Timing } from './runtime.ts'
import { createShopLink } from './shop-link.ts'

const key = `tpj_${'k'.repeat(20)}`
const newKey = `tpj_${'n'.repeat(20)}`
const randomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count))

/** A clock that advances by the pauses only; a pause ends immediately. */
function skippingTime(): Timing {
  let nowMs = 0
  return { now: () => nowMs, pause: async (ms) => void (nowMs += ms) }
}

async function joinError(taking: Promise<unknown>): Promise<string> {
  try {
    await taking
  } catch (error) {
    if (error instanceof IdentityError) return error.message
    throw error
  }
  throw new Error('it joined')
}

describe('the identity of a node', () => {
  let shop: StandInShop
  let folder = ''
  let pauses = 0
  let pausedMs = 0
  const { entries, log } = recordingLog()

  /** Links with this time limit for an answer of the shop. */
  const linkWithin = (ms: number) => (secret: string) =>
    createShopLink({ url: shop.url, secret, limitsMs: { join: ms, state: ms } })

  const take = (more: Partial<IdentityDeps> = {}) =>
    takeIdentity({
      folder: join(folder, 'node'),
      version: '1.0.0',
      linkWith: linkWithin(waitLimitMs),
      randomBytes,
      // The clock advances by the pauses only; a real pause is twenty times as short.
      timing: {
        now: () => pausedMs,
        pause: (ms, end) => {
          pauses += 1
          pausedMs += ms
          return realTiming.pause(ms / 20, end)
        },
      },
      chance: () => 0,
      log,
      waitMs: 20 * waitLimitMs,
      ...more,
    })
  const file = (name: string) => join(folder, 'node', name)
  /** Waits until the node has polled for a key twice. */
  const untilPolledTwice = async () => expect(await untilTrue(() => pauses > 1)).toBe(true)

  beforeEach(async () => {
    shop = await openStandInShop()
    shop.keys.add(key)
    folder = mkdtempSync(join(tmpdir(), 'turnpike-identity-'))
    entries.length = 0
    pauses = 0
  })
  afterEach(() => {
    shop.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('a node joins once and saves its identity with mode 0600', async () => {
    const identity = await take({ key })
    expect(identity).toMatchObject({ node: 'nod_1', name: 'gw-1', kind: 'gateway', secret: shop.secret })
    expect(await take()).toEqual(identity)
    expect(await take({ key })).toEqual(identity)
    expect(shop.requests.map((each) => each.path)).toEqual(['/node/v1/join', '/node/v1/state'])
    expect(readdirSync(join(folder, 'node'))).toEqual(['node.json'])
    expect(statSync(file('node.json')).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder, 'node')).mode & 0o777).toBe(0o700)
  })

  test('a node joins again with the same secret after a lost answer, also after a restart', async () => {
    shop.faults = ['lost', 'silent', { status: 503 }]
    const identity = await take({ key, linkWith: linkWithin(200) })
    expect(identity.secret).toBe(shop.secret)
    rmSync(file('node.json'))
    writeFileSync(file('joining-secret'), `${shop.secret}\n`)
    expect((await take({ key })).secret).toBe(identity.secret)
  })

  test('a node without a key joins when its key file appears', async () => {
    const keyFile = join(folder, 'gateway.key')
    pauses = 0
    const taking = take({ keyFile })
    await untilPolledTwice()
    expect(shop.requests).toEqual([])
    writeFileSync(keyFile, `${key}\n`)
    expect((await taking).node).toBe('nod_1')
  })

  test('the node logs no warning for a shop that is unreachable for 20 s, and logs one within 60 s', async () => {
    const keyFile = join(folder, 'gateway.key')
    writeFileSync(keyFile, `${key}\n`)
    shop.stop()
    const timing = skippingTime()
    expect(await joinError(take({ keyFile, timing, waitMs: 20_000 }))).toMatch(/POST \/node\/v1\/join/)
    expect(entries).toEqual([])
    await joinError(take({ keyFile, timing, waitMs: 60_000 }))
    expect(JSON.stringify(entries)).toContain('not joined yet')
  })

  test('the node logs the path of a missing key file after 20 s without a key, and not before', async () => {
    const keyFile = join(folder, 'gateway.key')
    const timing = skippingTime()
    await joinError(take({ keyFile, timing, waitMs: 20_000 }))
    expect(entries).toEqual([])
    await joinError(take({ keyFile, timing, waitMs: 20_200 }))
    expect(entries).toEqual([
      { level: 'warn', event: 'no join key', fields: { explanation: expect.any(String), looked_in: keyFile } },
    ])
  })

  test('takeIdentity fails with the reason without a key, with a bad key and with an unreachable shop', async () => {
    const remedy =
      'On the shop run "turnpike node key NAME" and put the key that it prints into TURNPIKE_NODE_KEY here.'
    expect(await joinError(take())).toBe(`No join key. ${remedy}`)
    expect(await joinError(take({ key: 'tpj_half' }))).toBe(
      `TURNPIKE_NODE_KEY is not a join key: a join key begins with tpj_. ${remedy}`,
    )
    expect(await joinError(take({ keyFile: join(folder, 'gateway.key'), timing: skippingTime(), waitMs: 400 }))).toBe(
      `No join key. ${remedy}`,
    )
    const refused = await joinError(take({ key: newKey }))
    expect(refused).toMatch(/^The shop refused the join key \(.* answered 401 unauthorized\)/)
    expect(refused).toEndWith(remedy)
    shop.stop()
    expect(await joinError(take({ key, timing: skippingTime(), waitMs: 400 }))).toMatch(/POST \/node\/v1\/join/)
    const secret = readFileSync(file('joining-secret'), 'utf8').trim()
    expect(JSON.stringify(entries)).not.toContain(secret)
  })

  test('a revoked node joins again only with a new key', async () => {
    const first = await take({ key })
    shop.secret = 'another'
    expect(await take()).toEqual(first)
    expect(await joinError(take({ key, timing: skippingTime(), waitMs: 400 }))).toContain(
      'The shop refused the join key',
    )
    expect(existsSync(file('node.json'))).toBe(true)
    const keyFile = join(folder, 'gateway.key')
    writeFileSync(keyFile, key)
    shop.keys.add(newKey)
    pauses = 0
    const taking = take({ keyFile })
    await untilPolledTwice()
    writeFileSync(keyFile, newKey)
    const second = await taking
    expect(second.secret).not.toBe(first.secret)
    expect(await take()).toEqual(second)
  })

  test('a node keeps its identity while the shop is unreachable', async () => {
    const first = await take({ key })
    shop.faults = [{ status: 503 }]
    expect(await take({ key: newKey })).toEqual(first)
    shop.stop()
    expect(await take({ key: newKey })).toEqual(first)
  })

  test('a node with a damaged identity file joins again and logs "identity damaged"', async () => {
    await take({ key })
    writeFileSync(file('node.json'), '{"secret":')
    shop.keys.add(newKey)
    expect((await take({ key: newKey })).node).toBe('nod_2')
    expect(entries.some((each) => each.event === 'identity damaged')).toBe(true)
  })
})

describe('makeBoot', () => {
  let folder = ''
  let nowMs = Date.UTC(2026, 0)
  const make = () => makeBoot({ folder, clock: () => nowMs, randomBytes })
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-boot-'))
    nowMs = Date.UTC(2026, 0)
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  test('a boot id sorts after every earlier boot id, also when the clock is set back', () => {
    const boots: string[] = []
    for (const stepMs of [0, 0, 5_000, -86_400_000, 1, -1, 400 * 86_400_000, -86_400_000_000, 86_400_000_000, 0]) {
      nowMs += stepMs
      boots.push(make())
    }
    expect(boots.toSorted()).toEqual(boots)
    expect(new Set(boots).size).toBe(boots.length)
    for (const boot of boots) expect(boot).toMatch(/^[0-9a-z_-]{8,64}$/)
  })

  test('a boot id sorts after the newest journal when the file last-boot is missing or damaged', () => {
    const first = make()
    writeFileSync(join(folder, `journal-${first}.log`), '')
    nowMs -= 86_400_000
    for (const content of ['', 'rubbish', 'zzzzzzzzz-00000000']) {
      writeFileSync(join(folder, 'last-boot'), content)
      expect(make() > first).toBe(true)
    }
    rmSync(join(folder, 'last-boot'))
    expect(make() > first).toBe(true)
  })
})
