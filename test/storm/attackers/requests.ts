import { mutate } from '../../harness/dice.ts'
import { RawClient } from '../../harness/raw-client.ts'
import { Shopper } from '../shopper.ts'
import type { OpenAttack } from './attacker.ts'

/**
 * Ids and cursors of another customer, and made-up ones: no property of that customer is returned, and both get the
 * same answers.
 */
export const openForeignIds: OpenAttack = async ({ world, dice }) => {
  const victim = await world.addAccount('has things', 10_000n)
  const owner = new Shopper(world, victim.token)
  const proxy = (await owner.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 })).data
  const vpn = (await owner.post('/vpn/buy', { period: 1 })).data
  const { data: password } = await owner.get('/premium/password')
  const [subuser, id] = [password.subuser.subuser_id as string, proxy.proxies[0].id as number]
  const secrets = [proxy.order_id, proxy.proxies[0].password, password.password, password.login, vpn.subscription_url]
  const { token } = await world.addAccount('wants them', 10_000n)
  const shopper = new Shopper(world, token)
  const cursorOf = (text: string) => Buffer.from(text).toString('base64url')
  const asks = [
    () => shopper.get(`/orders/${proxy.order_id}`),
    () => shopper.get(`/dedicated/prolong/quote?ids=${id}&period=30`),
    () => shopper.post('/dedicated/prolong', { ids: [id], period: 30 }, { key: `p${tried}` }),
    () => shopper.post('/dedicated/replace', { id }),
    () => shopper.post('/dedicated/protocol', { ids: [id], port_type: 'socks' }),
    () => shopper.post('/dedicated/check', { id }),
    () => shopper.get(`/premium/password?subuser_id=${subuser}`),
    () => shopper.post('/premium/password/reset', { subuser_id: subuser }),
    () => shopper.get(`/premium/traffic/balance?subuser_id=${subuser}`),
    () =>
      shopper.post(
        '/premium/traffic/move',
        { pool_type: 'datacenter', all: true, from_subuser_id: subuser },
        { key: `m${tried}` },
      ),
    () => shopper.get(`/vpn/info?uuid=${vpn.uuid}`),
    () => shopper.post('/vpn/delete', { uuid: vpn.uuid }),
    () => shopper.post('/vpn/renew', { uuid: vpn.uuid, period: 1 }, { key: `v${tried}` }),
    () => shopper.post('/vpn/devices', { uuid: vpn.uuid }),
    () => shopper.get(`/orders?cursor=${cursorOf(proxy.order_id)}`),
    () => shopper.get(`/transactions?cursor=${cursorOf(String(1 + dice(1000)))}`),
    () => shopper.get(`/dedicated/list?cursor=${cursorOf(String(id + 1))}`),
    () => shopper.get(`/orders?cursor=${cursorOf(`ord_${'z'.repeat(26)}`)}`),
    () => shopper.get('/orders?cursor=%00%ff'),
  ]
  let tried = 0
  let leaked = 0
  let faults = 0
  const notes = new Set<string>()
  return {
    name: 'foreign ids and cursors',
    unit: 'things that were not its own, and faults',
    everyMs: 700,
    async step() {
      const at = dice(asks.length)
      const answer = await asks[at]?.()
      tried += 1
      if (!answer) return
      const isLeak = secrets.some((secret) => answer.text.includes(secret))
      const isDone = answer.status === 200 && at < 14
      if (isLeak || isDone) leaked += 1
      if (answer.status === 500) faults += 1
      if (isLeak || isDone || answer.status === 500) notes.add(`${at}: ${answer.status}`)
    },
    async count() {
      const info = await owner.get(`/vpn/info?uuid=${vpn.uuid}`)
      const shown = await owner.list<{ id: number; port_type: string }>('/dedicated/list', 'proxies')
      const isUnchanged = info.data.devices?.length === 1 && shown?.[0]?.port_type === 'http'
      return { tried, gained: leaked + faults + (isUnchanged ? 0 : 1), note: [...notes].join(' ') }
    },
  }
}

const deep = `${'['.repeat(40)}${']'.repeat(40)}`
const bodies: readonly string[] = [
  '',
  '{',
  'null',
  '[]',
  deep,
  `{"count":1e400}`,
  `{"count":1,"count":2}`,
  `{"country_code":"\\ud800","period":7,"count":1,"ipv":4}`,
  `{"country_code":"DE","period":7,"count":0.1,"ipv":4}`,
  `{"country_code":"DE","period":7,"count":-1,"ipv":4}`,
  `{"country_code":"DE","period":9007199254740993,"count":1,"ipv":4}`,
  `{"country_code":"DE","period":7,"count":1,"ipv":4,"x":"${'a'.repeat(70_000)}"}`,
]
const paths = ['/dedicated/buy', '/premium/traffic/buy', '/vpn/buy', '/dedicated/prolong', '/premium/proxies/generate']

/** Malformed requests of all kinds, on whole and on broken connections. Each is refused, and none causes a fault. */
export const openMalformed: OpenAttack = async ({ world, dice }) => {
  const { token } = await world.addAccount('sends nonsense', 100n)
  const shopper = new Shopper(world, token)
  const port = Number(new URL(world.url).port)
  const seeds = [
    `POST /api/v1/dedicated/buy HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{"a":`,
    `GET /api/v1/orders?limit=5&cursor=aaaa HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    `GET /node/v1/state?wait=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer tpn_${'0'.repeat(64)}\r\n\r\n`,
  ].map((text) => Buffer.from(text))
  let tried = 0
  let gained = 0
  const notes = new Set<string>()
  return {
    name: 'malformed requests',
    unit: 'purchases and faults',
    everyMs: 400,
    async step() {
      tried += 1
      if (dice(2) === 0) {
        const path = paths[dice(paths.length)] ?? ''
        const answer = await shopper.post(path, bodies[dice(bodies.length)] ?? '', { key: `x${tried}` })
        if (answer.status !== 200 && answer.status !== 500) return
        gained += 1
        notes.add(`${path} ${answer.status} ${answer.text.slice(0, 80)}`)
        return
      }
      const client = await RawClient.open(port)
      client.send(mutate(seeds, dice))
      if (dice(2) === 0) client.finish()
      await client.readUntil((text) => text.includes('\r\n\r\n'), 500)
      client.reset()
      if (!client.text.startsWith('HTTP/1.1 500')) return
      gained += 1
      notes.add(client.text.slice(0, 200))
    },
    count: async () => ({ tried, gained, note: [...notes].slice(0, 3).join(' | ') }),
  }
}

/** Almost valid and random bytes at the gateway's port, without a credential: no byte of the origin comes back. */
export const openNoise: OpenAttack = async ({ world, origin, dice }) => {
  const mark = 'noise-of-the-storm'
  const seeds = [
    `CONNECT ${origin.host} HTTP/1.1\r\nHost: ${origin.host}\r\nProxy-Authorization: Basic ${btoa('a:b')}\r\n\r\n${mark}\n`,
    `GET http://${origin.host}/${mark} HTTP/1.1\r\nHost: ${origin.host}\r\n\r\n`,
    `\x05\x01\x02\x01\x01a\x01b\x05\x01\x00\x01\x7f\x00\x00\x01\x1f\x90`,
  ].map((text) => Buffer.from(text, 'latin1'))
  origin.expect({ id: mark, up: 1, down: 1000, afterwards: 'end' })
  let tried = 0
  let gained = 0
  return {
    name: 'noise at the gateway',
    unit: 'answers of an origin without a credential',
    everyMs: 250,
    async step() {
      tried += 1
      const client = await RawClient.open(world.gatewayPort, `127.0.4.${1 + dice(200)}`)
      client.send(mutate(seeds, dice))
      await client.readUntil((text) => text.length > 0, 400)
      if (client.text.includes('xxxxxxxxxx')) gained += 1
      client.reset()
    },
    count: async () => ({ tried, gained: gained + Math.max(0, origin.arrived(mark)) + world.gateway.ownDeaths }),
  }
}
