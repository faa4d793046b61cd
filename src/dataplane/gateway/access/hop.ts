import type { Clock } from '../../../core/time.ts'
import type { NodeGateway } from '../../../node-protocol/state.ts'
import { formatAuthority, type Target } from '../protocol/authority.ts'
import type { Verdict } from './admission.ts'

/** What one gateway shows to another: who asks whom, when, for which destination and exit. It is good once. */
type Ticket = {
  readonly from: string
  readonly to: string
  readonly at: number
  readonly nonce: string
  readonly exit: string
  readonly signature: string
}

/** How far the clocks of two gateways may lie apart; both go by the shop's. A ticket is good for as long. */
export const mostSkewMs = 30_000
const mostNonces = 500_000
const mostTicketLength = 600
const pattern =
  /^from=([0-9a-z_]{1,40}); to=([0-9a-z_]{1,40}); at=(\d{1,15}); nonce=([0-9a-f]{32}); exit=([\w-]{1,64}); sig=([\w-]{86})$/

export const hopKey = (gateway: string): string => `hop ${gateway}`

/** What is signed: all of it, the destination too, so that nothing of it can be put to another use. */
const signedText = (ticket: Omit<Ticket, 'signature'>, target: Target): string =>
  ['turnpike hop 1', ticket.from, ticket.to, ticket.at, ticket.nonce, ticket.exit, formatAuthority(target)].join('\n')

/** Writes tickets of this gateway. */
export function createTicketWriter(deps: {
  self: string
  clock: Clock
  nonce: () => string
  sign: (text: string) => string
}) {
  return (to: string, exit: string, target: Target): string => {
    const ticket = { from: deps.self, to, at: Math.round(deps.clock()), nonce: deps.nonce(), exit }
    const signature = deps.sign(signedText(ticket, target))
    return `from=${ticket.from}; to=${to}; at=${ticket.at}; nonce=${ticket.nonce}; exit=${exit}; sig=${signature}`
  }
}

/**
 * Lets other gateways of the fleet in. Their key is the one that the shop tells; a ticket for another gateway, another
 * destination, another time, or shown a second time, opens nothing. What is cheap to see is looked at first.
 */
export function createHopAdmission(deps: {
  self: string
  clock: Clock
  findGateway: (id: string) => NodeGateway | undefined
  verify: (publicKey: string, text: string, signature: string) => boolean
}) {
  /** What was shown to the run before is not known, so nothing is taken that was written then. */
  const startedAt = deps.clock()
  /** Nonces that were shown, in the order of their end. */
  const shown = new Map<string, number>()

  function forgetOld(nowMs: number): void {
    for (const [nonce, endsAt] of shown) {
      if (endsAt > nowMs) return
      shown.delete(nonce)
    }
  }

  return (text: string, target: Target): Verdict => {
    const refused: Verdict = { refusal: 'hop_refused' }
    const ticket = readTicket(text)
    const gateway = ticket && deps.findGateway(ticket.from)
    if (!ticket || !gateway || ticket.to !== deps.self || ticket.from === deps.self) return refused
    if (!deps.verify(gateway.key, signedText(ticket, target), ticket.signature)) return refused
    const nowMs = deps.clock()
    if (ticket.at < startedAt || Math.abs(nowMs - ticket.at) > mostSkewMs) return { refusal: 'hop_late' }
    forgetOld(nowMs)
    const name = `${ticket.from} ${ticket.nonce}`
    if (shown.has(name) || shown.size >= mostNonces) return refused
    shown.set(name, nowMs + 2 * mostSkewMs + 1)
    const key = hopKey(ticket.from)
    return { access: { kind: 'hop', key, owner: key, source: undefined, gateway, exit: ticket.exit } }
  }
}

function readTicket(text: string): Ticket | undefined {
  const match = text.length > mostTicketLength ? null : pattern.exec(text)
  if (!match) return undefined
  const [, from = '', to = '', at, nonce = '', exit = '', signature = ''] = match
  return { from, to, at: Number(at), nonce, exit, signature }
}
