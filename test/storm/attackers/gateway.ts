import { dlopen, ptr } from 'bun:ffi'
import { existsSync, readFileSync } from 'node:fs'
import { RawClient } from '../../harness/raw-client.ts'
import { basic, openTunnel, type Pass } from '../../harness/transfers.ts'
import { bytesOf } from '../books.ts'
import { boughtAtOnce } from '../bounds.ts'
import { Shopper } from '../shopper.ts'
import { connectSeconds, type World } from '../world.ts'
import type { OpenAttack } from './attacker.ts'

const libc = {
  socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
  bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
  listen: { args: ['i32', 'i32'], returns: 'i32' },
  getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
  close: { args: ['i32'], returns: 'i32' },
} as const

/** A port that accepts no connection: it listens, the first clients fill its short queue, and none is accepted. */
function openDeadEnd(): { port: number; close: () => void } {
  const { symbols } = dlopen('libc.so.6', libc)
  const [inet, stream] = [2, 1]
  const descriptor = symbols.socket(inet, stream, 0)
  const address = new Uint8Array(16)
  address.set([inet, 0, 0, 0, 127, 0, 0, 1])
  if (symbols.bind(descriptor, ptr(address), address.length) !== 0) throw new Error('no port can be bound')
  symbols.listen(descriptor, 0)
  const length = Uint32Array.of(address.length)
  symbols.getsockname(descriptor, ptr(address), ptr(length))
  return { port: ((address[2] ?? 0) << 8) | (address[3] ?? 0), close: () => void symbols.close(descriptor) }
}

/** The number of sockets of this machine in SYN-SENT (state 02) to that port. */
function waitingFor(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const rows = ['/proc/thread-self/net/tcp', '/proc/thread-self/net/tcp6'].filter((each) => existsSync(each))
  const lines = rows.flatMap((each) => readFileSync(each, 'utf8').split('\n'))
  return lines.filter((line) => {
    const [, , remote = '', state = ''] = line.trim().split(/\s+/)
    return state === '02' && remote.endsWith(`:${hex}`)
  }).length
}

async function buyPass(world: World, name: string): Promise<Pass> {
  const { token } = await world.addAccount(name, 10_000n)
  const body = { country_code: 'GB', period: 7, count: 1, ipv: 4 }
  const { data } = await new Shopper(world, token).post('/dedicated/buy', body)
  const [{ username, password }] = data.proxies
  return { port: world.gatewayPort, username, password }
}

/** A paying customer dials a destination without an answer, and disconnects before the gateway's timeout. */
export const openDeadDials: OpenAttack = async ({ world }) => {
  const pass = await buyPass(world, 'dials in vain')
  const deadEnd = openDeadEnd()
  const recent: number[] = []
  const atOnce = 15
  const slackMs = 10_000
  let tried = 0
  let max = 0
  return {
    name: 'dials that are never answered',
    unit: 'sockets left behind',
    everyMs: 1_000,
    async step() {
      const clients = await Promise.all(Array.from({ length: atOnce }, () => RawClient.open(pass.port, '127.0.3.1')))
      const target = `127.0.0.1:${deadEnd.port}`
      for (const client of clients) {
        client.send(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nProxy-Authorization: ${basic(pass)}\r\n\r\n`)
        recent.push(performance.now())
      }
      tried += clients.length
      await Bun.sleep(300)
      for (const client of clients) client.reset()
      const sinceMs = performance.now() - connectSeconds * 1000 - slackMs
      while ((recent[0] ?? Number.POSITIVE_INFINITY) < sinceMs) recent.shift()
      // A paused gateway times out no dial meanwhile.
      if (world.faults.hadFault(sinceMs, performance.now()) || world.machine.wasLate(sinceMs)) return
      max = Math.max(max, waitingFor(deadEnd.port) - recent.length)
    },
    async count() {
      await Bun.sleep(connectSeconds * 1000 + slackMs)
      return {
        tried,
        gained: Math.max(0, max, waitingFor(deadEnd.port)),
        note: `${waitingFor(deadEnd.port)} at the end`,
      }
    },
    stop: () => deadEnd.close(),
  }
}

/**
 * Idle connections and handshakes sent byte by byte, from one source, as many as allowed; a paying customer connects
 * beside them.
 */
export const openIdlers: OpenAttack = async ({ world, origin }) => {
  const pass = await buyPass(world, 'comes beside idlers')
  const held: RawClient[] = []
  const maxHeld = 700
  const perStep = 60
  const [host = '', port = ''] = origin.host.split(':')
  let tried = 0
  let max = 0
  let unanswered = 0
  let probes = 0
  return {
    name: 'idle and dripped connections',
    unit: 'requests of others left unanswered',
    everyMs: 500,
    async step() {
      for (let at = held.length - 1; at >= 0; at -= 1) {
        if (held[at]?.isClosed || held[at]?.hasEnded) held.splice(at, 1)[0]?.reset()
      }
      for (let n = 0; n < perStep && held.length < maxHeld; n += 1) {
        held.push(await RawClient.open(world.gatewayPort, '127.0.5.1'))
        tried += 1
      }
      for (const [at, client] of held.entries()) if (at % 2 === 0) client.send('C')
      max = Math.max(max, held.length)
      const fromMs = performance.now()
      probes += 1
      const isServed = await openTunnel(pass, 'connect', { host, port: Number(port) }).then(
        ({ client }) => {
          client.close()
          return true
        },
        () => false,
      )
      const isExcused = world.faults.hadFault(fromMs, performance.now()) || world.machine.wasLate(fromMs)
      if (!isServed && !isExcused) unanswered += 1
    },
    count: async () => ({ tried, gained: unanswered, note: `${max} held at most, ${probes} requests beside them` }),
    stop() {
      for (const client of held) client.reset()
    },
  }
}

const wrongPassword = 'not-the-password'

/**
 * Tries to find out which of two names exists. Once the gateway's lookups for this source are used up, answers must not
 * differ.
 */
export const openNameGuesser: OpenAttack = async ({ world, dice }) => {
  const real = await buyPass(world, 'is guessed at')
  const source = '127.0.6.1'
  const seen: { isReal: boolean; status: string; tookMs: number }[] = []
  let tried = 0

  async function ask(username: string): Promise<{ status: string; tookMs: number }> {
    const client = await RawClient.open(world.gatewayPort, source)
    const startedMs = performance.now()
    const proof = basic({ port: 0, username, password: wrongPassword })
    client.send(`CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: a\r\nProxy-Authorization: ${proof}\r\n\r\n`)
    await client.readUntil((text) => text.includes('\r\n\r\n'))
    client.reset()
    tried += 1
    return { status: client.text.slice(9, 12), tookMs: performance.now() - startedMs }
  }

  return {
    name: 'names told apart',
    unit: 'names of a hundred, beyond chance',
    everyMs: 5_000,
    async step() {
      const fromMs = performance.now()
      const madeUp = () => `tpx${dice(2 ** 31).toString(36)}`
      const names = Array.from({ length: 10 }, () => dice(2) === 0).map((isReal) => ({
        isReal,
        name: isReal ? real.username : madeUp(),
      }))
      // First looked up while lookups are left, then requested again when none is left.
      await Promise.all(names.map(({ name }) => ask(name)))
      const usedUp = Promise.withResolvers<void>()
      const askInVain = async () => {
        if ((await ask(madeUp())).status === '503') usedUp.resolve()
      }
      const flood = Promise.allSettled(Array.from({ length: 400 }, askInVain))
      await Promise.race([usedUp.promise, flood])
      const probes = await Promise.all(names.map(async ({ isReal, name }) => ({ isReal, ...(await ask(name)) })))
      await flood
      if (!world.faults.hadFault(fromMs, performance.now())) seen.push(...probes)
    },
    async count() {
      const gained = predictReal(seen)
      return { tried, gained, note: `${seen.length} names looked at; ${describe(seen)}` }
    },
  }
}

/** How real and made-up names were answered. */
function describe(seen: readonly { isReal: boolean; status: string; tookMs: number }[]): string {
  const kinds = [true, false].map((isReal) => {
    const own = seen.filter((each) => each.isReal === isReal)
    const times = own.map((each) => each.tookMs).toSorted((a, b) => a - b)
    const statuses = [...new Set(own.map((each) => each.status))].toSorted().join('/')
    return `${isReal ? 'real' : 'made up'} ${statuses} in ${Math.round(times[Math.floor(times.length / 2)] ?? 0)} ms`
  })
  return kinds.join(', ')
}

/**
 * The best that one status or one time limit predicts, in names per hundred beyond the more frequent kind and beyond
 * four standard deviations: random guesses exceed that once in thousands of storms.
 */
function predictReal(seen: readonly { isReal: boolean; status: string; tookMs: number }[]): number {
  // A small sample predicts too well by chance.
  if (seen.length < 100) return 0
  const rules = [...new Set(seen.map((each) => each.status))].map(
    (status) => (each: (typeof seen)[number]) => each.status === status,
  )
  const moments = [5, 20, 50, 100, 150, 200, 240, 260, 300, 400, 490, 520, 740, 770].map(
    (ms) => (each: (typeof seen)[number]) => each.tookMs < ms,
  )
  const reals = seen.filter((each) => each.isReal).length
  const chance = Math.max(reals, seen.length - reals)
  const right = [...rules, ...moments].map((rule) => {
    const hits = seen.filter((each) => rule(each) === each.isReal).length
    return Math.max(hits, seen.length - hits)
  })
  const byChance = 2 * Math.sqrt(seen.length)
  return Math.max(0, Math.ceil(((Math.max(...right) - chance - byChance) * 100) / seen.length))
}

/**
 * Draws the last of the traffic over many connections at once: no more than the paid bytes and one lease gets through.
 */
export const openQuotaOverrun: OpenAttack = async ({ world, origin }) => {
  const { token } = await world.addAccount('overruns', 100_000n)
  const shopper = new Shopper(world, token)
  const pool = 'datacenter'
  const { data: secret } = await shopper.get('/premium/password')
  const pass = {
    port: world.gatewayPort,
    username: `${secret.login}-pool-${pool}`,
    password: secret.password as string,
  }
  const lines = 6
  const downBytes = 30_000_000
  const [host = '', port = ''] = origin.host.split(':')
  let paid = 0
  let got = 0
  let tried = 0
  return {
    name: 'quota overrun',
    unit: 'bytes beyond those paid for',
    everyMs: 15_000,
    async step() {
      const bought = await shopper.post(
        '/premium/traffic/buy',
        { pool_type: pool, gb: boughtAtOnce / 1e9 },
        { key: `q${tried}` },
      )
      if (bought.status !== 200) return
      paid += bytesOf(bought.data.traffic_added_gb)
      const draw = async (n: number) => {
        const id = `quota-${tried}-${n}`
        origin.expect({ id, up: 1, down: downBytes, afterwards: 'end' })
        try {
          const { client, handshake } = await openTunnel(pass, 'connect', { host, port: Number(port) })
          await client.send(Buffer.from(`${id}\n`))
          await client.untilEnd()
          client.close()
          got += client.total - handshake
        } finally {
          origin.forget(id)
        }
      }
      const [before, kills] = [got, world.faults.gatewayKills.length]
      await Promise.allSettled(Array.from({ length: lines }, (_, n) => draw(n)))
      tried += 1
      // Losses by a kill of the gateway are bounded elsewhere, by the losses of honest customers.
      if (world.faults.gatewayKills.length > kills) got = before
    },
    count: async () => ({ tried, gained: Math.max(0, got - paid), note: `${got} of ${paid} bytes` }),
  }
}

/** Resets the password while connections of the old one are open: they may last 2 s. */
export const openRevokedLines: OpenAttack = async ({ world, origin }) => {
  const { token } = await world.addAccount('stays on', 10_000n)
  const shopper = new Shopper(world, token)
  const pool = 'datacenter'
  await shopper.post('/premium/traffic/buy', { pool_type: pool, gb: 5 }, { key: 'first' })
  const { data: secret } = await shopper.get('/premium/password')
  const [host = '', port = ''] = origin.host.split(':')
  let password = secret.password as string
  let tried = 0
  let late = 0
  let excused = 0
  return {
    name: 'revoked lines',
    unit: 'bytes after two seconds',
    everyMs: 10_000,
    async step() {
      const fromMs = performance.now()
      const id = `revoked-${tried}`
      const pass = { port: world.gatewayPort, username: `${secret.login}-pool-${pool}`, password }
      origin.expect({ id, up: 1, down: 100_000_000, afterwards: 'stay', everyMs: 50 })
      const { client } = await openTunnel(pass, 'connect', { host, port: Number(port) })
      await client.send(Buffer.from(`${id}\n`))
      const reset = await shopper.post('/premium/password/reset', {})
      if (reset.status === 200) password = reset.data.password
      else password = (await shopper.get('/premium/password')).data.password ?? password
      await Bun.sleep(2_000)
      const before = client.total
      await Bun.sleep(500)
      const after = client.total - before
      client.close()
      origin.finish(id)
      origin.forget(id)
      if (reset.status !== 200 || world.faults.hadFault(fromMs, performance.now())) return
      tried += 1
      if (world.machine.wasLate(fromMs, 500)) excused += after
      else late += after
    },
    count: async () => ({ tried, gained: late, note: `${excused} more while the machine had no time` }),
  }
}
