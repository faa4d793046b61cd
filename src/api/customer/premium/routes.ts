import { readId } from '../../../core/ids.ts'
import { type FieldProblem, malformed } from '../../../core/refusal.ts'
import type { Premium } from '../../../domains/premium/index.ts'
import { noLimits } from '../../../domains/premium/subusers/rules.ts'
import { type Bound, bind, bindPurchase } from '../../bind.ts'
import { positionOf, soughtFor } from '../../fields.ts'
import type { z } from '../../operation.ts'
import { assertSeesPasswords } from '../passwords.ts'
import { noSuchSubuser, readFormat, readPlaces, readSubuser } from './reading.ts'
import { placeOperations } from './routes-places.ts'
import {
  addToWhitelist,
  defaultTtlMinutes,
  generateProxies,
  getPassword,
  getWhitelist,
  removeFromWhitelist,
  resetPassword,
  toAdded,
  toCredential,
  toGenerated,
  toRemoved,
  toWhitelist,
} from './shapes-access.ts'
import {
  createSubuser,
  deleteSubuser,
  listSubusers,
  readLimits,
  toDeleted,
  toSubuser,
  toSubusers,
  updateSubuser,
} from './shapes-subusers.ts'
import {
  buyTraffic,
  getTraffic,
  moveTraffic,
  quoteTraffic,
  toBought,
  toMoved,
  toTraffic,
  toTrafficQuote,
} from './shapes-traffic.ts'

/** In the order in which they are described: each can succeed after those before it, and what takes away comes last. */
export function premiumOperations(deps: { premium: Premium }): readonly Bound[] {
  const { premium } = deps
  return [
    ...trafficOperations(premium),
    ...subuserOperations(premium),
    ...movingOperations(premium),
    ...accessOperations(premium),
    ...placeOperations(premium),
    ...endingOperations(premium),
  ]
}

function trafficOperations({ traffic }: Premium): readonly Bound[] {
  return [
    bind(quoteTraffic, async ({ query }) =>
      toTrafficQuote(query.pool_type, query.gb, await traffic.quote(query.pool_type, query.gb)),
    ),

    bindPurchase(buyTraffic, toBought, (request, { body }) =>
      traffic.buy(request, { pool: body.pool_type, tenths: body.gb, subuser: readSubuser(body.subuser_id) }),
    ),

    bind(getTraffic, async ({ caller, query }) =>
      toTraffic(
        await traffic.balance(caller.customer, readSubuser(query.subuser_id), query.pool_type),
        query.pool_type !== undefined,
      ),
    ),
  ]
}

function subuserOperations({ subusers }: Premium): readonly Bound[] {
  return [
    bind(createSubuser, async ({ caller, body }) => {
      const { dayBytes, monthBytes, totalBytes, tunnels } = readLimits(body)
      const made = await subusers.create(caller.customer, {
        name: body.name ?? body.login ?? 'sub-user',
        login: body.login,
        limits: {
          dayBytes: dayBytes ?? noLimits.dayBytes,
          monthBytes: monthBytes ?? noLimits.monthBytes,
          totalBytes: totalBytes ?? noLimits.totalBytes,
          tunnels: tunnels ?? noLimits.tunnels,
        },
        keepHosts: body.keep_hosts,
      })
      const { password } = await subusers.password(caller.customer, made.id)
      return { subuser: toSubuser(made), password }
    }),

    bind(listSubusers, async ({ caller, query }) => {
      const after = positionOf(query.cursor, (text) => readId('subuser', text)) ?? ''
      return toSubusers(await subusers.list(caller.customer, after, soughtFor(query.limit)), query.limit)
    }),

    bind(updateSubuser, async ({ caller, body }) => {
      const change = {
        name: body.name,
        blocked: body.blocked,
        keepHosts: body.keep_hosts,
        limits: readLimits(body),
      }
      return { subuser: toSubuser(await subusers.update(caller.customer, readSubuser(body.subuser_id), change)) }
    }),
  ]
}

function movingOperations({ traffic }: Premium): readonly Bound[] {
  return [
    bindPurchase(moveTraffic, toMoved, (request, { body }) => {
      if ((body.gb === undefined) === (body.all !== true)) {
        throw malformed([{ field: 'gb', problem: 'must be given, or "all": true in its place, and not both' }])
      }
      return traffic.move(request, {
        pool: body.pool_type,
        tenths: body.gb ?? 'all',
        from: readSubuser(body.from_subuser_id),
        to: readSubuser(body.to_subuser_id),
      })
    }),
  ]
}

function accessOperations({ subusers, whitelist, generate }: Premium): readonly Bound[] {
  return [
    bind(generateProxies, async ({ caller, body }) => {
      const { wish, formatId } = readGenerate(body)
      if (wish.template.includes('{password}')) assertSeesPasswords(caller)
      return toGenerated(await generate(caller.customer, wish), wish, formatId)
    }),

    bind(getWhitelist, async ({ caller, query }) =>
      toWhitelist(await whitelist.list(caller.customer, readSubuser(query.subuser_id))),
    ),

    bind(addToWhitelist, async ({ caller, body }) =>
      toAdded(await whitelist.add(caller.customer, readSubuser(body.subuser_id), body.ip, body.comment)),
    ),

    bind(removeFromWhitelist, async ({ caller, body }) =>
      toRemoved(await whitelist.remove(caller.customer, readSubuser(body.subuser_id), body.ip)),
    ),

    bind(getPassword, async ({ caller, query }) => {
      assertSeesPasswords(caller)
      return toCredential(await subusers.password(caller.customer, readSubuser(query.subuser_id)))
    }),

    bind(resetPassword, async ({ caller, body }) =>
      toCredential(await subusers.resetPassword(caller.customer, readSubuser(body.subuser_id))),
    ),
  ]
}

function endingOperations({ remove }: Premium): readonly Bound[] {
  return [
    bindPurchase(deleteSubuser, toDeleted, (request, { body }) => {
      const subuser = readSubuser(body.subuser_id)
      if (subuser === undefined) throw noSuchSubuser()
      return remove(request, { subuser, to: readSubuser(body.to_subuser_id) })
    }),
  ]
}

type GenerateBody = z.output<typeof generateProxies.body>

/** What each field asks for on its own the schema has said; here is what they ask of one another. */
function readGenerate(body: GenerateBody) {
  const { formatId, template, problem } = readFormat(body)
  const problems: FieldProblem[] = [
    ...(body.type === 'rotating' && body.session_ttl !== undefined
      ? [{ field: 'session_ttl', problem: 'is only for sticky proxies' }]
      : []),
    ...(problem ? [problem] : []),
  ]
  if (problems.length > 0) throw malformed(problems)
  const wish = {
    subuser: readSubuser(body.subuser_id),
    pool: body.pool_type,
    places: readPlaces(body),
    type: body.type,
    protocol: body.protocol,
    ttlMinutes: body.session_ttl ?? defaultTtlMinutes,
    quantity: body.quantity,
    template,
  }
  return { wish, formatId }
}
