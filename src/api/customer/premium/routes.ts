import { bytes, toGigabytes } from '../../../core/bytes.ts'
import { readId, type SubuserId } from '../../../core/ids.ts'
import { problemOfLineTemplate, templateOf } from '../../../core/line-template.ts'
import { toSlug } from '../../../core/login.ts'
import { type FieldProblem, fieldProblem } from '../../../core/messages/problems.ts'
import { type Kopecks, toRoubles } from '../../../core/money.ts'
import { malformed, refuseField } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import { assertSeesPasswords } from '../../../domains/customers/index.ts'
import type { CustomersMetadata } from '../../../domains/metadata/index.ts'
import type { Orders } from '../../../domains/orders/index.ts'
import type { Premium } from '../../../domains/premium/index.ts'
import { noLimits, type Subuser } from '../../../domains/premium/subusers/rules.ts'
import type { PoolBalance } from '../../../domains/traffic/accounts/rules.ts'
import { orRefuse } from '../../answers.ts'
import { type BoughtBy, type Bound, bind, bindCreation, bindPurchase, bindReply } from '../../bind.ts'
import { isoOrNull } from '../../fields.ts'
import type { z } from '../../operation.ts'
import { pageOf, positionOf, soughtFor } from '../../pages.ts'
import * as shapes from './shapes.ts'
import { toRef } from './shapes.ts'
import * as access from './shapes-access.ts'

/** Operations in the order of the description: each can succeed after the earlier ones; deletions are last. */
type Deps = { readonly premium: Premium; readonly orders: Orders; readonly metadata: CustomersMetadata }

export function premiumOperations(deps: Deps): readonly Bound[] {
  const { premium } = deps
  return [
    ...trafficOperations(premium),
    ...subuserOperations(premium, deps),
    ...movingOperations(premium),
    ...accessOperations(premium),
    ...locationOperations(premium),
    ...endingOperations(premium),
  ]
}

function trafficOperations({ traffic }: Premium): readonly Bound[] {
  return [
    bind(shapes.quoteTraffic, async ({ query }) => {
      const { total, perGigabyte, available, tier, next } = await traffic.quote(query.pool_type, query.gb)
      return {
        pool_type: query.pool_type,
        gb: query.gb / 10,
        price_per_gb_rub: toRoubles(perGigabyte),
        price_rub: toRoubles(total),
        available,
        tier: toTier(tier),
        next_tier: next && { ...toTier(next.tier), missing_gb: next.missingTenths / 10 },
        valid_until: null,
      }
    }),

    bindPurchase(shapes.buyTraffic, toBought, (request, { body }) =>
      traffic.buy(request, { pool: body.pool_type, tenths: body.gb, subuser: readSubuser(body.subuser_id) }),
    ),

    bind(shapes.getTraffic, async ({ caller, query }) => {
      const { pools, ...of } = await traffic.balance(caller.customer, readSubuser(query.subuser_id), query.pool_type)
      const [first] = pools
      const subuser = toRef(of.subuser)
      return query.pool_type !== undefined && first
        ? { ...toPoolBalance(first), subuser }
        : { pools: pools.map(toPoolBalance), subuser }
    }),
  ]
}

const toBought = (of: BoughtBy<Premium['traffic']['buy']>) => ({
  order_id: of.order,
  pool_type: of.pool,
  price_rub: toRoubles(of.price),
  balance_rub: toRoubles(of.balance),
  traffic_added_gb: toGigabytes(of.added),
  traffic_balance_gb: toGigabytes(of.left),
  subuser: toRef(of.subuser),
})

const toTier = (of: { readonly fromTenths: number; readonly perGigabyte: Kopecks }) => ({
  from_gb: of.fromTenths / 10,
  price_per_gb_rub: toRoubles(of.perGigabyte),
})

const toPoolBalance = (of: PoolBalance) => ({
  pool_type: of.pool,
  traffic_gb: toGigabytes(of.left),
  purchased_gb: toGigabytes(bytes(of.left + of.used)),
  used_gb: toGigabytes(of.used),
  updated_at: isoOrNull(of.updatedAt),
})

function subuserOperations({ subusers }: Premium, { orders, metadata }: Deps): readonly Bound[] {
  return [
    bindCreation(
      shapes.createSubuser,
      orders,
      (made: z.input<typeof shapes.createSubuser.answer>) => made,
      ({ caller, body }) => {
        const { dayBytes, monthBytes, totalBytes, tunnels } = shapes.readLimits(body)
        const fields = {
          name: body.name ?? body.login ?? 'sub-user',
          login: body.login,
          limits: {
            dayBytes: dayBytes ?? noLimits.dayBytes,
            monthBytes: monthBytes ?? noLimits.monthBytes,
            totalBytes: totalBytes ?? noLimits.totalBytes,
            tunnels: tunnels ?? noLimits.tunnels,
          },
          keepHosts: body.keep_hosts,
          metadata: body.metadata,
        }
        return async (tx) => {
          const made = await subusers.createIn(tx, caller.customer, fields)
          return { subuser: shapes.toSubuser(made, body.metadata), password: await subusers.openPassword(tx, made.id) }
        }
      },
    ),

    bind(shapes.listSubusers, async ({ caller, query }) => {
      const after = positionOf(query.cursor, (text) => readId('subuser', text)) ?? ''
      const found = await subusers.list(caller.customer, after, soughtFor(query.limit), query.metadata)
      const ids = found.map((each) => each.id)
      const pairs = await metadata.of(caller.customer, 'subuser', ids)
      const toShown = (each: Subuser) => shapes.toSubuser(each, pairs.get(each.id))
      const { items, next_cursor } = pageOf(found, query.limit, 'id', toShown)
      return { subusers: items, next_cursor }
    }),

    bind(shapes.updateSubuser, async ({ caller, body }) => {
      const change = {
        name: body.name,
        blocked: body.blocked,
        keepHosts: body.keep_hosts,
        limits: shapes.readLimits(body),
      }
      const after = await subusers.update(caller.customer, readSubuser(body.subuser_id), change)
      const pairs = await metadata.of(caller.customer, 'subuser', [after.id])
      return { subuser: shapes.toSubuser(after, pairs.get(after.id)) }
    }),
  ]
}

function movingOperations({ traffic }: Premium): readonly Bound[] {
  return [
    bindPurchase(shapes.moveTraffic, toMoved, (request, { body }) => {
      if ((body.gb === undefined) === (body.all !== true)) throw refuseField('gb', 'either', { other: '"all": true' })
      return traffic.move(request, {
        pool: body.pool_type,
        tenths: body.gb ?? 'all',
        from: readSubuser(body.from_subuser_id),
        to: readSubuser(body.to_subuser_id),
      })
    }),
  ]
}

type Moved = BoughtBy<Premium['traffic']['move']>

const toEnd = ({ subuser, left }: Moved['to']) => ({ subuser: toRef(subuser), traffic_balance_gb: toGigabytes(left) })

const toMoved = (of: Moved) => ({
  order_id: of.order,
  pool_type: of.pool,
  moved_gb: toGigabytes(of.moved),
  from: toEnd(of.from),
  to: toEnd(of.to),
})

function accessOperations({ subusers, whitelist, generate }: Premium): readonly Bound[] {
  return [
    bindReply(access.generateProxies, async ({ caller, body }) => {
      const { input, formatId } = readGenerate(body)
      if (input.template.includes('{password}')) assertSeesPasswords(caller)
      const { subuser, domain, ip, browserHost, admitsNone } = await generate(caller.customer, input)
      const { countries, zips, ...locations } = input.locations
      const format = body.format === undefined ? 'format_id' : 'format'
      const data = {
        subuser: toRef(subuser),
        params: {
          pool_type: input.pool,
          countries: countries.map((code) => code.toUpperCase()),
          zipcodes: zips,
          ...locations,
          type: input.type,
          protocol: input.protocol,
          session_ttl: input.type === 'sticky' ? input.ttlMinutes : null,
          quantity: input.quantity,
          format_id: formatId,
          format: input.template,
        },
        domain: domain.join('\n'),
        ip: ip.join('\n'),
        proxies: [...domain],
        browser_host: browserHost,
      }
      return { data, warnings: admitsNone ? [fieldProblem(format, 'whitelist_empty')] : [] }
    }),

    bind(access.getWhitelist, async ({ caller, query }) =>
      toWhitelist(await whitelist.list(caller.customer, readSubuser(query.subuser_id))),
    ),

    bind(access.addToWhitelist, async ({ caller, body }) => {
      const done = await whitelist.add(caller.customer, readSubuser(body.subuser_id), body.ip, body.comment)
      return { ip: done.prefix, added: done.added, ...toWhitelist(done) }
    }),

    bind(access.removeFromWhitelist, async ({ caller, body }) => {
      const done = await whitelist.remove(caller.customer, readSubuser(body.subuser_id), body.ip)
      return { ip: done.prefix, removed: done.removed, ...toWhitelist(done) }
    }),

    bind(access.getPassword, async ({ caller, query }) => {
      assertSeesPasswords(caller)
      return toCredential(await subusers.password(caller.customer, readSubuser(query.subuser_id)))
    }),

    bind(access.resetPassword, async ({ caller, body }) =>
      toCredential(await subusers.resetPassword(caller.customer, readSubuser(body.subuser_id))),
    ),
  ]
}

const toWhitelist = ({ entries, limit, subuser }: Awaited<ReturnType<Premium['whitelist']['list']>>) => ({
  ips: entries.map((of) => ({
    ip: of.prefix,
    comment: of.comment,
    created_at: toIso(of.createdAt),
    last_used_at: isoOrNull(of.lastUsedAt),
  })),
  limit,
  subuser: toRef(subuser),
})

const toCredential = ({ subuser, password }: Awaited<ReturnType<Premium['subusers']['password']>>) => ({
  login: subuser.login,
  password,
  subuser: toRef(subuser),
})

function locationOperations({ exits, usage }: Premium): readonly Bound[] {
  type LocationQuery = Parameters<typeof readLocations>[0] & { readonly pool_type: string }
  const find = async (body: LocationQuery, part: Parameters<typeof exits.locations>[1]) =>
    (await exits.locations(body.pool_type, part, readLocations(body))).map(({ country, name, exits: count, slug }) => ({
      slug,
      location: { country_code: country, name, exits: count },
    }))
  return [
    bind(access.listCountries, async ({ body }) => ({
      pool_type: body.pool_type,
      countries: (await find(body, 'countries')).map(({ location }) => location),
    })),
    bind(access.listStates, async ({ body }) => ({
      pool_type: body.pool_type,
      states: (await find(body, 'states')).map(({ location, slug }) => ({ ...location, state: slug })),
    })),
    bind(access.listCities, async ({ body }) => ({
      pool_type: body.pool_type,
      cities: (await find(body, 'cities')).map(({ location, slug }) => ({ ...location, city: slug })),
    })),
    bind(access.listZipcodes, async ({ body }) => ({
      pool_type: body.pool_type,
      zipcodes: (await find(body, 'zips')).map(({ location, slug }) => ({ ...location, zipcode: slug })),
    })),
    bind(access.listAsns, async ({ body }) => ({
      pool_type: body.pool_type,
      asns: (await find(body, 'asns')).map(({ location, slug }) => ({ ...location, asn: Number(slug) })),
    })),

    bind(access.getUsage, async ({ caller, query }) => {
      const { by, from, to, pool_type: pool, host } = query
      const subuser = readSubuser(query.subuser_id)
      const found = await usage(caller.customer, { subuser, by, from, to, pool, host })
      return {
        by: found.by,
        from: toIso(found.from),
        to: toIso(found.to),
        subuser: found.subuser && toRef(found.subuser),
        total_gb: toGigabytes(bytes(found.rows.reduce((sum, row) => sum + row.received + row.sent, 0n))),
        items: found.rows.map((row) => ({
          key: found.by === 'hour' || found.by === 'day' ? toIso(Number(row.key)) : row.key,
          received_bytes: Number(row.received),
          sent_bytes: Number(row.sent),
          gb: toGigabytes(bytes(row.received + row.sent)),
        })),
      }
    }),
  ]
}

function endingOperations({ remove }: Premium): readonly Bound[] {
  return [
    bindPurchase(shapes.deleteSubuser, toDeleted, (request, { body }) =>
      remove(request, { subuser: loadSubuser(body.subuser_id), to: readSubuser(body.to_subuser_id) }),
    ),
  ]
}

const toDeleted = (of: BoughtBy<Premium['remove']>) => ({
  order_id: of.order,
  deleted: toRef(of.subuser),
  to: toRef(of.heir),
  returned: of.returned.map((each) => ({ pool_type: each.pool, gb: toGigabytes(each.moved) })),
})

/** Checks the fields against one another; the schema has checked each for itself. */
function readGenerate(body: z.output<typeof access.generateProxies.body>) {
  const { formatId, template, problem } = readFormat(body)
  const problems: FieldProblem[] = [
    ...(body.type === 'rotating' && body.session_ttl !== undefined
      ? [fieldProblem('session_ttl', 'only_with', { other: 'type=sticky' })]
      : []),
    ...(problem ? [problem] : []),
  ]
  if (problems.length > 0) throw malformed(problems)
  const input = {
    subuser: readSubuser(body.subuser_id),
    pool: body.pool_type,
    locations: readLocations(body),
    type: body.type,
    protocol: body.protocol,
    ttlMinutes: body.session_ttl ?? access.defaultTtlMinutes,
    quantity: body.quantity,
    template,
  }
  return { input, formatId }
}

const loadSubuser = (text: string): SubuserId =>
  orRefuse(readId('subuser', text), 'subuser_not_found', {}, { charged: false })

/** A text that is no id is refused like an unknown id. */
export const readSubuser = (text: string | undefined): SubuserId | undefined =>
  text === undefined ? undefined : loadSubuser(text)

type LocationFields = Partial<Pick<z.output<typeof access.generateProxies.body>, keyof typeof access.locationFields>>

/** Places as a login writes them, each once. A name that leaves nothing to write is not a place. */
function readLocations(fields: LocationFields) {
  const codes = [...(fields.country_code === undefined ? [] : [fields.country_code]), ...(fields.countries ?? [])]
  return {
    countries: [...new Set(codes.map((code) => code.toLowerCase()))],
    states: readNames('states', fields.states),
    cities: readNames('cities', fields.cities),
    zips: readNames('zipcodes', fields.zipcodes),
    asns: [...new Set(fields.asns ?? [])],
  }
}

const maxSlug = 40

function readNames(field: string, names: readonly string[] | undefined): string[] {
  const slugs = (names ?? []).map(toSlug)
  const empty = slugs.findIndex((slug) => slug === '' || slug.length > maxSlug)
  if (empty >= 0) throw refuseField(`${field}.${empty}`, 'latin_name', { max: maxSlug })
  return [...new Set(slugs)]
}

type Format = { readonly formatId: 1 | 2 | 3 | 4 | null; readonly template: string; readonly problem?: FieldProblem }

/** Placeholder names of other sellers, mapped to ours. */
const partOf: Readonly<Record<string, string>> = {
  login: 'login',
  username: 'login',
  user: 'login',
  password: 'password',
  pass: 'password',
  hostname: 'host',
  host: 'host',
  ip: 'host',
  port: 'port',
  protocol: 'protocol',
  scheme: 'protocol',
}

/** A format by its number, in either field, or as a template, whose words may come without braces. */
function readFormat(body: { format_id?: 1 | 2 | 3 | 4 | undefined; format?: string | number | undefined }): Format {
  const { format } = body
  if (format === undefined) return byNumber(body.format_id ?? 1)
  if (body.format_id !== undefined) {
    return { ...byNumber(1), problem: fieldProblem('format', 'not_with', { others: ['format_id'] }) }
  }
  const number = ([1, 2, 3, 4] as const).find((each) => String(each) === String(format))
  if (number !== undefined) return byNumber(number)
  const template = typeof format === 'number' ? '' : toBraces(format)
  const problem =
    typeof format === 'number'
      ? fieldProblem('format', 'template_or', { allowed: [1, 2, 3, 4] })
      : problemOfLineTemplate(template)
  return { formatId: null, template, ...(problem && { problem }) }
}

const byNumber = (formatId: 1 | 2 | 3 | 4): Format => ({ formatId, template: templateOf[formatId] })

function toBraces(format: string): string {
  const names = format.match(/[A-Za-z_]+/g) ?? []
  const isPlain =
    !/[{}]/.test(format) && names.length > 0 && names.every((name) => Object.hasOwn(partOf, name.toLowerCase()))
  return isPlain ? format.replace(/[A-Za-z_]+/g, (name) => `{${partOf[name.toLowerCase()]}}`) : format
}
