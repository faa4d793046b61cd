import { type ExitId, readId } from '../../../core/ids.ts'
import { toRoubles } from '../../../core/money.ts'
import { refuseField } from '../../../core/refusal.ts'
import { runningSince } from '../../../core/stall-monitor.ts'
import { readIso, toIso } from '../../../core/time.ts'
import type { Node } from '../../../domains/fleet/rules.ts'
import { type Offers, readExit, statusOf } from '../../../domains/premium/exits/rules.ts'
import { orRefuse } from '../../answers.ts'
import { isoOrNull, toWhole } from '../../fields.ts'
import { pageOf, positionOf, soughtFor } from '../../pages.ts'
import type { AdminDeps, BindAdmin } from '../bind.ts'
import * as shapes from './shapes.ts'

const maxListed = 10_000

const readExitId = (text: string): ExitId => orRefuse(readId('exit', text), 'exit_not_found')

/** The gateway that a request names; undefined if it names none. */
async function findGateway({ fleet }: AdminDeps, name: string | undefined): Promise<Node | undefined> {
  if (name === undefined) return undefined
  const node = await fleet.findByName(name)
  if (node?.kind !== 'gateway') throw refuseField('node', 'name_of', { thing: 'gateway' })
  return node
}

export function adminPremiumOperations(bind: BindAdmin, deps: AdminDeps) {
  const { premium, traffic } = deps
  return [
    bind(shapes.listPools, async () => ({
      items: (await premium.exits.overview()).map((each) => ({
        pool: each.pool,
        sold: each.isSold,
        from_rub_per_gb: toRoubles(each.fromPerGigabyte),
        expires_days: each.expiresDays,
        exits: each.exits,
        serving: each.serving,
      })),
    })),
    listing(bind, deps),
    bind(shapes.addExit, async ({ body }) => {
      const node = await findGateway(deps, body.node)
      const input = readExit({ ...body, asn: body.asn === undefined ? undefined : String(body.asn) })
      const exit = await premium.exits.addOne({ ...input, node: node?.id ?? null })
      return { exit_id: exit.id, pool: exit.pool, host: exit.host }
    }),
    bind(shapes.drainExit, async ({ params, body }) => {
      const id = readExitId(params.exit_id)
      await premium.exits.drain(id, !body.undo)
      return { exit_id: id, drained: !body.undo }
    }),
    bind(shapes.assignExit, async ({ params, body }) => {
      if ((body.node === undefined) !== body.any) throw refuseField('node', 'either', { other: 'any' })
      const [id, node] = [readExitId(params.exit_id), await findGateway(deps, body.node)]
      await premium.exits.assign(id, node?.id ?? null)
      return { exit_id: id, node: node?.name ?? null }
    }),
    bind(shapes.removeExit, async ({ params }) => {
      const id = readExitId(params.exit_id)
      await premium.exits.remove(id)
      return { exit_id: id, removed: true }
    }),
    comparing(bind, deps),
    bind(shapes.listQuarantined, async () => {
      const claims = [...(await traffic.leases.quarantined(maxListed)), ...(await traffic.counts.unbelieved(maxListed))]
      return {
        items: claims.slice(0, maxListed).map((each) => ({
          node: each.node,
          boot: each.boot,
          subject: each.subject,
          bytes: toWhole(each.bytes),
          at: toIso(each.at),
        })),
      }
    }),
  ]
}

const toOffers = ({ countries, parts }: Offers) => ({
  countries: countries === 'any' ? countries : [...countries],
  parts: [...parts],
})

const listing = (bind: BindAdmin, { premium, fleet, ...deps }: AdminDeps) =>
  bind(shapes.listExits, async ({ query }) => {
    const after = positionOf(query.cursor, (text) => readId('exit', text)) ?? ''
    const found = await premium.exits.list(query.pool, after, soughtFor(query.limit))
    const { items, next_cursor } = pageOf(found, query.limit, 'id', (each) => each)
    const names = new Map((await fleet.nodes('gateway')).map((node) => [node.id as string, node.name]))
    const nameOf = (node: string): string => names.get(node) ?? node
    const all = await premium.exits.reports(items.map((each) => each.id))
    // A removed gateway reports no more.
    const present = all.filter((report) => names.has(report.node))
    const reports = Map.groupBy(present, (report) => report.exit)
    return {
      items: items.map((exit) => ({
        exit_id: exit.id,
        pool: exit.pool,
        kind: exit.kind,
        host: exit.host,
        port: exit.port,
        country: exit.country,
        state: exit.state,
        city: exit.city,
        zip: exit.zip,
        asn: exit.asn,
        offers: exit.offers === null ? null : toOffers(exit.offers),
        node: exit.node === null ? null : nameOf(exit.node),
        drained_at: isoOrNull(exit.drainedAt),
        status: statusOf(exit, reports.get(exit.id) ?? [], runningSince(deps)),
        said: (reports.get(exit.id) ?? []).map((report) => ({
          node: nameOf(report.node),
          up: report.isUp,
          since: toIso(report.sinceAt),
          reason: report.reason,
          at: toIso(report.reportedAt),
        })),
      })),
      next_cursor,
    }
  })

const comparing = (bind: BindAdmin, { premium }: AdminDeps) =>
  bind(shapes.compareExit, async ({ params, body }) => {
    const [from, to] = [readIso(body.from) ?? 0, readIso(body.to) ?? 0]
    const isWithin = to >= from && to - from <= 400 * 86_400_000
    if (!isWithin) throw refuseField('to', 'days_after', { other: 'from', from: 0, to: 400 })
    if ((body.days === undefined) === (body.supplied_bytes === undefined)) {
      throw refuseField('supplied_bytes', 'either', { other: 'days' })
    }
    const byDay = new Map((body.days ?? []).map((each) => [readIso(each.day) ?? 0, BigInt(each.bytes)]))
    const within = new Map([...byDay].filter(([day]) => day >= from && day <= to))
    const total = body.days
      ? [...within.values()].reduce((sum, each) => sum + each, 0n)
      : BigInt(body.supplied_bytes ?? 0)
    const found = await premium.exits.compare(readExitId(params.exit_id), { from, to, total, byDay: within })
    return {
      carried_bytes: toWhole(found.relayed),
      supplied_bytes: toWhole(found.supplied),
      difference_bytes: toWhole(found.difference),
      difference_percent: found.percent,
      days: found.rows.map((row) => ({
        day: toIso(row.day).slice(0, 10),
        carried_bytes: toWhole(row.relayed),
        supplied_bytes: row.supplied === null ? null : toWhole(row.supplied),
      })),
    }
  })
