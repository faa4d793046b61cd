import type { NodeKind } from '../../../src/domains/fleet/rules.ts'
import { askNode, makeSecret, type NodeAnswer, reportOf } from '../../harness/node.ts'
import { runTurnpike } from '../../harness/turnpike.ts'
import { bytesOf } from '../books.ts'
import { liarMegabits } from '../bounds.ts'
import { Shopper } from '../shopper.ts'
import type { World } from '../world.ts'
import type { OpenAttack } from './attacker.ts'

const huge = Number.MAX_SAFE_INTEGER
const bootsAtOnce = 20
const forgottenWithinMs = 900_000

const liarOf = (kind: NodeKind) => `liar-${kind}`

/** The operator revokes the node and deletes all its usage. */
async function forgetLiar(world: World, kind: NodeKind): Promise<boolean> {
  const revoked = await runTurnpike(['node', 'revoke', liarOf(kind)], world.env)
  const forgotten = await runTurnpike(['node', 'forget-usage', liarOf(kind)], world.env, forgottenWithinMs)
  return revoked.exit === 0 && forgotten.exit === 0
}

/** A node that joined correctly and then reports false counts. */
async function joinLiar(world: World, kind: NodeKind): Promise<(body: object) => Promise<NodeAnswer>> {
  const name = liarOf(kind)
  const key = await world.operate(async ({ db, fleet }) => {
    await db.transact((tx) => fleet.add(tx, { kind, name, location: 'local', linkMegabits: liarMegabits }))
    return (await fleet.issueKey(name)).text
  })
  const secret = makeSecret()
  const joined = await askNode(world.url, 'POST', 'join', { key, secret, version: '0.0.0' })
  if (joined.status !== 200) throw new Error(`join was answered with ${joined.status}: ${joined.text}`)
  return (body) => askNode(world.url, 'POST', 'report', reportOf(body), secret)
}

/**
 * Takes leases and reports them as relayed, claims more than exists, and reports dozens of boots. It relays nothing.
 */
export const openLyingGateway: OpenAttack = async ({ world, dice }) => {
  const victim = await world.addAccount('is lied about', 10_000n)
  const shopper = new Shopper(world, victim.token)
  const pool = 'datacenter'
  const { data: password } = await shopper.get('/premium/password')
  const id = password.subuser.subuser_id as string
  await shopper.post('/premium/traffic/buy', { pool_type: pool, gb: 100 }, { key: 'bytes' })
  const report = await joinLiar(world, 'gateway')
  const statuses: Record<string, number> = {}
  let tried = 0
  let boots = 0
  const sendReport = async (body: object) => {
    const answer = await report(body)
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
    tried += 1
    return answer
  }
  const nextBoot = () => `liar-${String((boots += 1)).padStart(8, '0')}`
  return {
    name: 'lying gateway',
    unit: 'bytes billed and never relayed',
    everyMs: 1_000,
    async step() {
      const boot = nextBoot()
      if (dice(4) === 0) {
        await sendReport({ boot, subusers: [{ id, pool, received: huge, sent: huge }] })
        for (let n = 0; n < bootsAtOnce; n += 1)
          await sendReport({ boot: nextBoot(), lease_requests: [{ id, pool, turn: 1, want: 'lease' }] })
        return
      }
      for (let turn = 1; turn <= 5; turn += 1) {
        const leased = await sendReport({ boot, lease_requests: [{ id, pool, turn, want: 'lease' }] })
        const upto = (leased.data?.allowances?.[0]?.upto ?? 0) as number
        await sendReport({ boot, subusers: [{ id, pool, received: upto, sent: 0 }] })
      }
    },
    async count() {
      const used = async () => {
        const { data, status } = await shopper.get(`/premium/traffic/balance?pool_type=${pool}`)
        return status === 200 ? bytesOf(data.used_gb) : huge
      }
      const before = await used()
      const isForgotten = await forgetLiar(world, 'gateway')
      const after = await used()
      const note = `${JSON.stringify(statuses)}; ${after} after forget-usage`
      return { tried, gained: isForgotten && after === 0 ? before : huge, note }
    },
  }
}

/** Reports impossible counts for devices, under one boot after another, until sums overflow. */
export const openLyingVpnNode: OpenAttack = async ({ world }) => {
  const victim = await world.addAccount('has a device', 10_000n)
  const shopper = new Shopper(world, victim.token)
  const { data: bought } = await shopper.post('/vpn/buy', { period: 1 })
  const report = await joinLiar(world, 'vpn')
  const statuses: Record<string, number> = {}
  let tried = 0
  let faults = 0
  let boots = 0
  return {
    name: 'lying VPN node',
    unit: 'bytes shown and never relayed, and faults',
    everyMs: 1_000,
    async step() {
      for (let n = 0; n < bootsAtOnce; n += 1) {
        boots += 1
        const peers = [{ id: bought.device, received: huge, sent: huge, handshake_at: Date.now() }]
        const answer = await report({ boot: `liar-${String(boots).padStart(8, '0')}`, peers })
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
        if (answer.status === 500) faults += 1
        tried += 1
      }
    },
    async count() {
      const readInfo = () => shopper.get(`/vpn/info?uuid=${bought.uuid}`)
      const info = await readInfo()
      const renewed = await shopper.post('/vpn/renew', { uuid: bought.uuid, period: 1 }, { key: 'after' })
      const isForgotten = await forgetLiar(world, 'vpn')
      const forgotten = await readInfo()
      const broken = [info, renewed, forgotten].filter((each) => each.status !== 200).length
      const shownBy = ({ data }: typeof info) =>
        Number(data.traffic?.rx_bytes ?? 0) + Number(data.traffic?.tx_bytes ?? 0)
      const left = shownBy(forgotten)
      const note = `${JSON.stringify(statuses)}, renew ${renewed.status}; ${left} after forget-usage`
      return { tried, gained: shownBy(info) + (broken + faults + (isForgotten && left === 0 ? 0 : 1)) * huge, note }
    },
  }
}
