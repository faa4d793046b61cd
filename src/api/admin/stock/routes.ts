import { type Address, formatAddress, type Prefix, readAddress, readPrefix } from '../../../core/address.ts'
import { readCountry } from '../../../core/country.ts'
import { toRoubles } from '../../../core/money.ts'
import { malformed, refuseField } from '../../../core/refusal.ts'
import { runningSince } from '../../../core/stall-monitor.ts'
import { readIsoSpan, toIso } from '../../../core/time.ts'
import { lookAtRanges } from '../../../domains/stock/index.ts'
import { type Kind, problemOfPrefix } from '../../../domains/stock/rules.ts'
import { orRefuseField } from '../../answers.ts'
import { isoOrNull } from '../../fields.ts'
import { pageOf, positionOf, readNumber, soughtFor } from '../../pages.ts'
import { type AdminDeps, type BindAdmin, namesOf, requestTextOf } from '../bind.ts'
import * as shapes from './shapes.ts'

const prefixOf = (text: string): Prefix => orRefuseField(readPrefix(text), 'prefix', 'prefix')

const addressOf = (text: string): Address => orRefuseField(readAddress(text), 'address', 'address')

export function adminStockOperations(bind: BindAdmin, deps: AdminDeps) {
  const { stockOperator } = deps
  return [
    bind(shapes.listPlaces, async ({ query }) => {
      const found = await stockOperator.list({
        country: query.country === undefined ? '' : (readCountry(query.country) ?? ''),
        ipv: query.ipv ?? 0,
        state: query.state ?? '',
        after: positionOf(query.cursor, readNumber) ?? 0,
        limit: soughtFor(query.limit),
      })
      return pageOf(found, query.limit, 'id', (slot) => ({
        place: slot.id,
        address: slot.address,
        slot: slot.slot,
        country: slot.country,
        ipv: slot.ipv,
        state: slot.state,
        rest_until: isoOrNull(slot.restUntil),
        retiring: slot.retiring,
        carrier: slot.servingNode,
      }))
    }),
    bind(shapes.countPlaces, async () => ({ items: (await stockOperator.counts()).map((each) => ({ ...each })) })),
    bind(shapes.listBlocks, async () => ({
      items: (await stockOperator.blocks()).map((block) => ({
        prefix: block.prefix,
        country: block.country,
        carrier: block.servingNode,
        added_at: toIso(block.addedAt),
        retired_at: isoOrNull(block.retiredAt),
      })),
    })),
    listedRanges(bind, deps),
    bind(shapes.surveyRange, async ({ query }) => {
      const { unused, ...survey } = await deps.rangeOperator.survey(prefixOf(query.prefix))
      return {
        ...survey,
        kinds: survey.kinds.map((each) => ({ ...each })),
        blocks: [...survey.blocks],
        proxies: [...survey.proxies],
        unused_rub: toRoubles(unused),
      }
    }),
    holders(bind, deps),
    ...addingOperations(bind, deps),
    ...closingOperations(bind, deps),
  ]
}

const listedRanges = (bind: BindAdmin, deps: AdminDeps) =>
  bind(shapes.listRanges, async ({ query }) => {
    const ranges = await lookAtRanges(deps, runningSince(deps))
    return {
      items: ranges
        .filter(({ isRetired }) => query.all === 'true' || !isRetired)
        .map((each) => ({
          range: each.range.prefix,
          nodes: [...each.nodeIds],
          block: each.isBlock,
          retired: each.isRetired,
          places: each.slots,
          served: each.served,
          served_by: [...each.by],
          problems: [...each.problems],
        })),
    }
  })

/** The audit log has the operator's question before the operator has the answer. */
const holders = (bind: BindAdmin, deps: AdminDeps) =>
  bind(shapes.findHolders, async (call) => {
    const address = addressOf(call.params.address)
    const first = orRefuseField(readIsoSpan(call.query.from), 'from', 'moment')
    const last = call.query.to === undefined ? first : readIsoSpan(call.query.to)
    if (last === undefined || last.to < first.from) throw refuseField('to', 'not_before', { other: 'from' })
    const action = { actor: call.caller.actor, operation: shapes.findHolders.id, request: requestTextOf(call) }
    const question = { address, from: first.from, to: last.to, host: call.query.host ?? '' }
    const found = await deps.findHolders(action, question)
    const ids = [found.proxies, found.devices].flat().map((each) => each.customer)
    const nameIn = await namesOf(deps, [...ids, ...found.candidates.map((each) => each.customer_id)])
    return shapes.toHolders(found, nameIn)
  })

function addingOperations(bind: BindAdmin, deps: AdminDeps) {
  const { stock } = deps
  return [
    bind(shapes.addStock, async ({ body }) => {
      const country = orRefuseField(readCountry(body.country), 'country', 'country_code')
      const kind: Kind = { country, ipv: body.ipv }
      if ((body.prefix === undefined) === (body.addresses === undefined)) {
        throw refuseField('prefix', 'either', { other: 'addresses' })
      }
      const nodeIds = await stock.ranges.nodeIdsOf(body.nodes)
      const requested = body.prefix === undefined ? (body.addresses ?? []) : [body.prefix]
      for (const text of requested) {
        const problem = problemOfPrefix(prefixOf(text), kind, body.prefix === undefined ? 'addresses' : 'prefix')
        if (problem) throw malformed([problem])
      }
      if (body.prefix !== undefined) return { added: await stock.add(prefixOf(body.prefix), kind, undefined, nodeIds) }
      const addresses = requested.map((text) => formatAddress(addressOf(text)))
      return { added: await stock.addAddresses(addresses, kind, undefined, nodeIds) }
    }),
    bind(shapes.assignRange, async ({ body }) => {
      const nodeIds = await stock.ranges.nodeIdsOf(body.nodes)
      return { prefix: body.prefix, ranges: await stock.ranges.assign(prefixOf(body.prefix), nodeIds) }
    }),
    bind(shapes.moveRange, async ({ body }) => {
      const nodeIds = await stock.ranges.nodeIdsOf(body.nodes)
      const moved = await deps.rangeOperator.move(prefixOf(body.prefix), nodeIds, body.dry_run)
      return { dry_run: body.dry_run, ...moved, proxies: [...moved.proxies] }
    }),
  ]
}

function closingOperations(bind: BindAdmin, deps: AdminDeps) {
  const { stockOperator, rangeOperator } = deps
  const closing = (verb: 'retire' | 'quarantine') =>
    bind(verb === 'retire' ? shapes.retireRange : shapes.quarantineRange, async ({ body }) => {
      const { prefix, ...input } = body
      if (input.undo && input.replace) throw refuseField('undo', 'not_with', { others: ['replace'] })
      if (input.refund && !input.replace) throw refuseField('refund', 'only_with', { other: 'replace' })
      const done = await rangeOperator[verb](prefixOf(prefix), input)
      return { ...done, replaced: [...done.replaced], ended: [...done.ended], waiting: [...done.waiting] }
    })
  return [
    closing('retire'),
    closing('quarantine'),
    bind(shapes.retireAddress, async ({ params, body }) => {
      const address = addressOf(params.address)
      const places = await (body.undo ? stockOperator.restore(address) : stockOperator.retire(address))
      return { address: formatAddress(address), places }
    }),
    bind(shapes.quarantineAddress, async ({ params, body }) => {
      const address = addressOf(params.address)
      const places = await stockOperator.quarantine(address, body.days)
      return { address: formatAddress(address), places, days: body.days }
    }),
  ]
}
