import { fileURLToPath } from 'node:url'
import { createVault } from '../src/adapters/crypto.ts'
import { createPace } from '../src/adapters/pace.ts'
import { createSenders } from '../src/adapters/webhook-sender.ts'
import { realRuntime, type Services } from '../src/app/shop/services.ts'
import { createWebhooks } from '../src/domains/webhooks/index.ts'
import { startDeliveries } from '../src/jobs/webhooks.ts'
import type { Bench, Context } from './context.ts'
import { charge } from './ledger.ts'
import { callAtOnce } from './measure.ts'
import { addPeople, type Person } from './people.ts'
import { type Row, rateRow, ratioRow, timeRow } from './report.ts'
import { type Engine, engineName, engines, openServices } from './stage.ts'

const people = 200
const endpoints = 20
const eventsAtOnce = 10_000
const callers = 8
const receiver = fileURLToPath(import.meta.resolve('./webhooks-receiver.ts'))

/** 10,000 events to 20 endpoints of a program beside the shop, and charges of other customers meanwhile. */
export const webhooks: Bench = {
  name: 'webhooks',
  about: `${eventsAtOnce} events delivered to ${endpoints} endpoints, and charges beside it, ${callers} at once`,
  async run(context) {
    const rows: Row[] = []
    for (const engine of engines) rows.push(...(await measureEngine(context, engine)))
    return rows
  },
}

async function measureEngine({ stage, seconds, rounds, say }: Context, engine: Engine): Promise<Row[]> {
  const services = await openServices(await stage.makeDatabase(engine))
  stage.atEnd(() => services.db.close())
  const all = await addPeople(services, people)
  const [owners, buyers] = [all.slice(0, endpoints), all.slice(endpoints)]
  const port = await openReceiver(stage)
  const hooks = await addEndpoints(services, owners, port)
  const buy = () =>
    callAtOnce(callers, seconds, () => charge(services, buyers[Math.floor(Math.random() * buyers.length)]))
  await buy()
  const times: number[] = []
  const alone: number[] = []
  const beside: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    alone.push((await buy()).perSecond)
    await noteEvents(services, owners)
    const expected = (round + 1) * eventsAtOnce
    const startedAt = performance.now()
    const deliveries = startDeliveries({ webhooks: hooks, events: services.events }, { error: (event) => say(event) })
    const charges = buy()
    while ((await countAt(port)) < expected) await Bun.sleep(250)
    times.push(performance.now() - startedAt)
    beside.push((await charges).perSecond)
    await deliveries.stop()
    say(`  round ${round + 1}/${rounds}  ${engineName[engine]}: ${Math.round(times.at(-1) ?? 0)} ms`)
  }
  const name = engineName[engine]
  const ratios = beside.map((each, round) => each / (alone[round] ?? Number.NaN))
  return [
    timeRow(`${name}, ${eventsAtOnce} events`, times, 60_000),
    rateRow(`${name}, charges beside it`, beside),
    ratioRow(`${name}, charges beside it against alone`, ratios, { min: 0.9 }),
  ]
}

/** A receiver in a process of its own. Returns its port. */
async function openReceiver(stage: Context['stage']): Promise<number> {
  const child = Bun.spawn([process.execPath, receiver], { stdout: 'pipe', stdin: 'ignore' })
  stage.atEnd(async () => {
    child.kill()
    await child.exited
  })
  const { value } = await child.stdout.getReader().read()
  return Number(new TextDecoder().decode(value))
}

const countAt = async (port: number): Promise<number> => Number(await (await fetch(`http://127.0.0.1:${port}/`)).text())

/** One endpoint for each customer, as in a sandbox: a production shop sends to no loopback address. */
async function addEndpoints(services: Services, owners: readonly Person[], port: number) {
  const hooks = createWebhooks({
    ...realRuntime,
    ...services,
    vault: createVault(new Uint8Array(32)),
    customers: { mode: async () => 'sandbox', blockedAmong: services.customers.blockedAmong },
    openSender: createSenders(),
    // As in a shop.
    pace: createPace(200),
  })
  for (const { customer } of owners) {
    const choice = { url: `http://127.0.0.1:${port}/hook`, events: ['proxy.ended'] }
    await services.db.transact(await hooks.prepare(customer, choice))
  }
  return hooks
}

async function noteEvents({ db, events }: Services, owners: readonly Person[]): Promise<void> {
  const each = eventsAtOnce / owners.length
  for (const { customer } of owners) {
    const noted = Array.from({ length: each }, (_, id) => {
      return { customer, type: 'proxy.ended' as const, order: null, subject: String(id), data: { proxy_id: id } }
    })
    await db.transact((tx) => events.note(tx, noted))
  }
}
