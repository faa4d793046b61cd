import type { Clock } from '../../../core/time.ts'
import type { NodeGateway } from '../../../node-protocol/state.ts'
import { type ConnectTarget, formatAuthority } from '../ways-in/authority.ts'
import type { AdmissionVerdict } from './admission.ts'

/** A signed, single-use request of one gateway to another. */
type Ticket = NonNullable<ReturnType<typeof readTicket>>

/** Allowed clock skew between two gateways, and lifetime of a ticket. */
export const maxSkewMs = 30_000
const maxNonces = 500_000
const maxTicketLength = 600
const pattern =
  /^from=([0-9a-z_]{1,40}); to=([0-9a-z_]{1,40}); at=(\d{1,15}); nonce=([0-9a-f]{32}); exit=([\w-]{1,64}); sig=([\w-]{86})$/

export const hopKey = (gateway: string): string => `hop ${gateway}`

/** Everything is signed, including the destination. */
const signedText = (ticket: Omit<Ticket, 'signature'>, target: ConnectTarget): string =>
  ['turnpike hop 1', ticket.from, ticket.to, ticket.at, ticket.nonce, ticket.exit, formatAuthority(target)].join('\n')

export function createTicketWriter(deps: {
  self: string
  clock: Clock
  nonce: () => string
  sign: (text: string) => string
}) {
  return (to: string, exit: string, target: ConnectTarget): string => {
    const ticket = { from: deps.self, to, at: Math.round(deps.clock()), nonce: deps.nonce(), exit }
    const signature = deps.sign(signedText(ticket, target))
    return `from=${ticket.from}; to=${to}; at=${ticket.at}; nonce=${ticket.nonce}; exit=${exit}; sig=${signature}`
  }
}

/** Remembers a nonce until `endsAt`. False if it was used before. */
export type ClaimNonce = (nonce: string, endsAt: number, nowMs: number) => boolean

/** Nonces in this thread's memory. */
export function createNonces(): ClaimNonce {
  /** Used nonces, in order of expiry. */
  const shown = new Map<string, number>()
  return (nonce, endsAt, nowMs) => {
    for (const [each, eachEndsAt] of shown) {
      if (eachEndsAt > nowMs) break
      shown.delete(each)
    }
    if (shown.has(nonce) || shown.size >= maxNonces) return false
    shown.set(nonce, endsAt)
    return true
  }
}

/** Admits gateways by ticket; rejects replays and tickets for another gateway, target or time. */
export function createHopAdmission(deps: {
  self: string
  clock: Clock
  findGateway: (id: string) => NodeGateway | undefined
  verify: (publicKey: string, text: string, signature: string) => boolean
  claimNonce: ClaimNonce
}) {
  /** Tickets from before the start are rejected: replays of them could not be detected. */
  const startedAt = deps.clock()

  return (text: string, target: ConnectTarget): AdmissionVerdict => {
    const refused: AdmissionVerdict = { refusal: 'hop_refused' }
    const ticket = readTicket(text)
    const gateway = ticket && deps.findGateway(ticket.from)
    if (!ticket || !gateway || ticket.to !== deps.self || ticket.from === deps.self) return refused
    if (!deps.verify(gateway.key, signedText(ticket, target), ticket.signature)) return refused
    const nowMs = deps.clock()
    if (ticket.at < startedAt || Math.abs(nowMs - ticket.at) > maxSkewMs) return { refusal: 'hop_late' }
    if (!deps.claimNonce(`${ticket.from} ${ticket.nonce}`, nowMs + 2 * maxSkewMs + 1, nowMs)) return refused
    const key = hopKey(ticket.from)
    return { access: { kind: 'hop', key, owner: key, source: undefined, gateway, exit: ticket.exit } }
  }
}

function readTicket(text: string) {
  const match = text.length > maxTicketLength ? null : pattern.exec(text)
  if (!match) return undefined
  const [, from = '', to = '', at, nonce = '', exit = '', signature = ''] = match
  return { from, to, at: Number(at), nonce, exit, signature }
}
