import {
  buyDedicated,
  prolongDedicated,
  quoteDedicated,
  quoteProlongingOfMany,
} from '../api/customer/dedicated/shapes.ts'
import { buyTraffic, quoteTraffic } from '../api/customer/premium/shapes.ts'
import {
  buyVpn,
  deleteVpn,
  getVpn,
  increaseVpnDevices,
  quoteVpn,
  quoteVpnRefund,
  quoteVpnSlots,
  renewVpn,
} from '../api/customer/vpn/shapes.ts'
import type { Operation } from '../api/operation.ts'
import { type Called, callShop, type Send, type ToolArguments } from './shop-call.ts'

/** The operation that says what another one would charge or give back. */
const quoteOf: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  [buyDedicated.id, quoteDedicated],
  [prolongDedicated.id, quoteProlongingOfMany],
  [buyTraffic.id, quoteTraffic],
  [buyVpn.id, quoteVpn],
  [renewVpn.id, quoteVpn],
  [increaseVpnDevices.id, quoteVpnSlots],
  [deleteVpn.id, quoteVpnRefund],
])

/** Fields of an answer that hold the price of what was quoted. */
const prices = ['total_price_rub', 'price_rub']

export type Quoted =
  | { readonly quote?: unknown; readonly price?: number }
  | Extract<Called, { readonly problem: object }>

/** What a call would charge. `fields` are the quote's: others of the purchase would only be warned of. */
export async function quote(send: Send, operation: Operation, given: ToolArguments): Promise<Quoted> {
  const quoting = quoteOf.get(operation.id)
  if (quoting === undefined) return operation.charges === true ? noQuote : {}
  const known = { ...quoting.query.shape, ...quoting.body.shape }
  const fields = { ...given, ...(operation.id === renewVpn.id && (await findRenewed(send, given))) }
  const called = await callShop(
    send,
    quoting,
    Object.fromEntries(Object.entries(fields).filter(([name]) => name in known)),
  )
  if ('problem' in called) return called
  const data = called.data as Readonly<Record<string, unknown>>
  const price = prices.map((name) => data[name]).find((each) => typeof each === 'number')
  if (price === undefined && operation.charges === true)
    return { ...noQuote, problem: { ...noQuote.problem, quote: data } }
  return { quote: data, ...(price !== undefined && { price }) }
}

/** Without `uuid` a renewal means the first subscription, and the quote has to count its device slots. */
async function findRenewed(send: Send, { uuid }: ToolArguments): Promise<ToolArguments> {
  if (uuid !== undefined) return {}
  const called = await callShop(send, getVpn, {})
  const found = 'data' in called ? (called.data as { readonly uuid: string | null }).uuid : null
  return found === null ? {} : { uuid: found }
}

const noQuote = {
  status: 400,
  problem: {
    code: 'invalid_request',
    reason: 'invalid_request',
    message: 'Nothing was bought: the price depends on a field that is missing. Name every field of the purchase.',
    charged: false,
  },
} satisfies Quoted
