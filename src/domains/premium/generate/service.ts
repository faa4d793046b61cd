import { bracketed } from '../../../core/address.ts'
import { randomBase32 } from '../../../core/base32.ts'
import type { CustomerId, RandomBytes, SubuserId } from '../../../core/ids.ts'
import { compile, identifiesByPort } from '../../../core/line-template.ts'
import { maxLoginLength, type ProxyLogin, writeProxyLogin } from '../../../core/login.ts'
import { malformed } from '../../../core/refusal.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database } from '../../../db/transaction.ts'
import type { Ports } from '../../fleet/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import * as store from '../access/store.ts'
import type { Places } from '../exits/rules.ts'
import type { Exits } from '../exits/service.ts'
import type { Subuser } from '../subusers/rules.ts'
import type { Subusers } from '../subusers/service.ts'
import { lockSubuser, touchSubuser } from '../subusers/store.ts'

/** Where customers reach the gateway: by name, by address, and on which port. */
export type Gateway = { readonly host: string; readonly address: string; readonly port: number }

export type GenerateRequest = {
  readonly subuser: SubuserId | undefined
  readonly pool: string
  readonly places: Places
  readonly type: 'sticky' | 'rotating'
  readonly protocol: 'http' | 'socks5'
  readonly ttlMinutes: number
  readonly quantity: number
  readonly template: string
}

export type Generated = {
  readonly subuser: Subuser
  readonly domain: readonly string[]
  readonly ip: readonly string[]
}

/** 50 bits: a thousand names never meet, and nobody guesses another's. */
const sessionLength = 10

/** Lists of proxies, ready to paste. Everything but the endpoint lives in the login, or behind a port of one's own. */
export function createGenerator(deps: {
  db: Database
  clock: Clock
  random: RandomBytes
  ledger: Pick<Ledger, 'lock'>
  subusers: Subusers
  exits: Exits
  gateway: Gateway
  ports: Ports
}) {
  const { db, clock, subusers, gateway } = deps

  function sessionNames(count: number, taken: Iterable<string> = []): string[] {
    const names = new Set(taken)
    const fresh: string[] = []
    while (fresh.length < count) {
      const name = randomBase32(deps.random(sessionLength))
      if (names.has(name)) continue
      names.add(name)
      fresh.push(name)
    }
    return fresh
  }

  function baseOf(subuser: Subuser, asked: GenerateRequest): ProxyLogin {
    return { login: subuser.login, pool: asked.pool, ...asked.places, session: null }
  }

  /**
   * Behind a port stands a login too, and a gateway reads no longer one: it is refused before a port is taken for it.
   */
  function assertFits(subuser: Subuser, asked: GenerateRequest): void {
    const session = asked.type === 'sticky' ? { name: 'x'.repeat(sessionLength), ttlMinutes: asked.ttlMinutes } : null
    if (writeProxyLogin({ ...baseOf(subuser, asked), session }).length <= maxLoginLength) return
    throw malformed([
      { field: 'countries', problem: `and the other places make a login longer than ${maxLoginLength}` },
    ])
  }

  /** A login for each line; a rotating one is the same in all of them. */
  function byLogin(subuser: Subuser, asked: GenerateRequest): { login: string; port: number }[] {
    const base = baseOf(subuser, asked)
    const names = asked.type === 'sticky' ? sessionNames(asked.quantity) : []
    const logins = Array.from({ length: asked.quantity }, (_, index) => {
      const name = names[index]
      return writeProxyLogin(name === undefined ? base : { ...base, session: { name, ttlMinutes: asked.ttlMinutes } })
    })
    return logins.map((login) => ({ login, port: gateway.port }))
  }

  /**
   * A port for each line. Ports that stand for the same already are used again, so asking twice gives the same list;
   * what is missing is taken from the range, in the customer's turn. A port is never given to anyone else, so that a
   * source address which two sub-users have whitelisted still means one of them.
   */
  async function byPort(subuser: Subuser, asked: GenerateRequest): Promise<{ login: string; port: number }[]> {
    const parameters = writeProxyLogin(baseOf(subuser, asked))
    const isSticky = asked.type === 'sticky'
    const ttlMinutes = isSticky ? asked.ttlMinutes : 0
    const needed = isSticky ? asked.quantity : 1
    const room = await deps.ports.room()
    const ports = await db.transact(async (tx) => {
      // The limit is the customer's, so it is the customer's turn that is taken.
      await deps.ledger.lock(tx, subuser.customer)
      await lockSubuser(tx, subuser.id)
      const known = await store.listPorts(tx, subuser.id, parameters, ttlMinutes, needed)
      const missing = needed - known.length
      if (missing === 0) return known
      const held = await store.countPortsOfCustomer(tx, subuser.customer)
      const taken = await deps.ports.take(tx, missing, held, room)
      const names = isSticky
        ? sessionNames(
            missing,
            known.map((each) => each.session),
          )
        : ['']
      const fresh = names.map((session, index) => ({
        port: taken[index] ?? 0,
        subuser: subuser.id,
        parameters,
        ttlMinutes,
        session,
      }))
      store.insertPorts(tx, fresh, clock())
      touchSubuser(tx, subuser.id, clock())
      return [...known, ...fresh]
    })
    return Array.from({ length: asked.quantity }, (_, index) => ({
      login: subuser.login,
      port: ports[isSticky ? index : 0]?.port ?? gateway.port,
    }))
  }

  return async function generate(customer: CustomerId, asked: GenerateRequest): Promise<Generated> {
    const subuser = await subusers.load(customer, asked.subuser)
    await deps.exits.fitting(asked.pool, asked.places)
    assertFits(subuser, asked)
    const lines = identifiesByPort(asked.template) ? await byPort(subuser, asked) : byLogin(subuser, asked)
    const password = asked.template.includes('{password}') ? await subusers.openPassword(db, subuser.id) : ''
    const write = compile(asked.template)
    const at = (host: string): string[] =>
      lines.map((line) =>
        write({
          host: bracketed(host),
          port: String(line.port),
          login: line.login,
          password,
          protocol: asked.protocol,
        }),
      )
    return { subuser, domain: at(gateway.host), ip: at(gateway.address) }
  }
}
