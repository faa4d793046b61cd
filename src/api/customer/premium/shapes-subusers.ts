import { z } from '@hono/zod-openapi'
import type { Bytes } from '../../../core/bytes.ts'
import type { OrderId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import type { Limits, Subuser } from '../../../domains/premium/subusers/rules.ts'
import {
  bodyInteger,
  exampleAt,
  exampleOrder,
  flag,
  moment,
  nextCursor,
  orderId,
  pageOf,
  pageQuery,
  text,
  whole,
} from '../../fields.ts'
import { operation } from '../../operation.ts'
import {
  exampleMade,
  gigabytes,
  madeExample,
  noSuchSubuser,
  printable,
  refExample,
  requiredSubuserId,
  see,
  shownPool,
  subuserId,
  subuserRef,
  tag,
  toGb,
  toRef,
} from './fields.ts'

const mostLimitBytes = Number.MAX_SAFE_INTEGER

/** Whole bytes or null for no limit. */
const limit = (description: string) =>
  bodyInteger({ min: 0, max: mostLimitBytes, example: 5_000_000_000, description }).nullable().optional()

const limitFields = {
  day_limit_bytes: limit('The most in a day of UTC, over all pools; null is no limit.'),
  month_limit_bytes: limit('The most in a month of UTC; null is no limit.'),
  total_limit_bytes: limit('The most in all; null is no limit.'),
  tunnel_limit: bodyInteger({
    min: 1,
    max: 1_000_000,
    example: 100,
    description: 'Connections at once; null is no limit.',
  })
    .nullable()
    .optional(),
}

const name = printable(1, 100).openapi({ description: 'How you call it.', example: 'Alice' })

const keepHosts = z
  .boolean()
  .openapi({ description: 'Whether destination hosts are kept for `usage`; switching it off forgets them at once.' })

const subuser = z
  .object({
    ...subuserRef.shape,
    status: z.enum(['active', 'blocked']).openapi({ description: 'A blocked one carries nothing.' }),
    day_limit_bytes: whole('The most in a day of UTC, over all pools; null is no limit.', 5_000_000_000).nullable(),
    month_limit_bytes: whole('The most in a month of UTC; null is no limit.').nullable(),
    total_limit_bytes: whole('The most in all; null is no limit.').nullable(),
    tunnel_limit: whole('Connections at once; null is no limit.', 100).nullable(),
    keep_hosts: flag('Whether destination hosts are kept for `usage`.'),
    created_at: moment('When it was made.'),
  })
  .openapi('Subuser')

const example = {
  ...madeExample,
  status: 'active' as const,
  day_limit_bytes: 5_000_000_000,
  month_limit_bytes: null,
  total_limit_bytes: null,
  tunnel_limit: null,
  keep_hosts: true,
  created_at: toIso(exampleAt),
}

const toLimit = (bytes: bigint | null): number | null => (bytes === null ? null : Number(bytes))

export const toSubuser = (of: Subuser) => ({
  ...toRef(of),
  status: of.blockedAt === null ? ('active' as const) : ('blocked' as const),
  day_limit_bytes: toLimit(of.limits.dayBytes),
  month_limit_bytes: toLimit(of.limits.monthBytes),
  total_limit_bytes: toLimit(of.limits.totalBytes),
  tunnel_limit: of.limits.tunnels,
  keep_hosts: of.keepHosts,
  created_at: toIso(of.createdAt),
})

type LimitFields = {
  readonly day_limit_bytes?: number | null | undefined
  readonly month_limit_bytes?: number | null | undefined
  readonly total_limit_bytes?: number | null | undefined
  readonly tunnel_limit?: number | null | undefined
}

const readLimit = (bytes: number | null | undefined): bigint | null | undefined =>
  bytes === undefined || bytes === null ? bytes : BigInt(bytes)

/** Limits as they were given; what was left out is undefined. */
export const readLimits = (of: LimitFields): { [Name in keyof Limits]: Limits[Name] | undefined } => ({
  dayBytes: readLimit(of.day_limit_bytes),
  monthBytes: readLimit(of.month_limit_bytes),
  totalBytes: readLimit(of.total_limit_bytes),
  tunnels: of.tunnel_limit,
})

/** Names of dedicated proxies begin with `tp`, and a gateway looks for those first. */
const loginProblem = 'must be 5 to 32 small letters, digits and _, beginning with a letter, and not with tp'

export const createSubuser = operation({
  id: 'createSubuser',
  method: 'POST',
  path: '/premium/subusers',
  tag,
  summary: 'Add a sub-user',
  description: 'It has its own login, password, whitelist and traffic. Move traffic to it, or buy for it.',
  body: z.object({
    name: name.optional(),
    login: z
      .string()
      .regex(/^(?!tp)[a-z][a-z0-9_]{4,31}$/, loginProblem)
      .optional()
      .openapi({ description: 'Yours to choose if nobody has it; made for you otherwise.', example: 'alice' }),
    keep_hosts: keepHosts.default(true),
    ...limitFields,
  }),
  exampleBody: { name: 'Alice' },
  answer: z.object({ subuser, password: text('The password of its proxies.', '0a1b2c3d4e5f6g7h8j9kmnpq') }),
  example: { subuser: example, password: '0a1b2c3d4e5f6g7h8j9kmnpq' },
  codes: ['conflict'],
  refusals: {
    conflict: new Refusal('subuser_login_taken'),
  },
})

export const listSubusers = operation({
  id: 'listSubusers',
  method: 'GET',
  path: '/premium/subusers',
  tag,
  summary: 'List sub-users, oldest first',
  query: z.object(pageQuery),
  answer: z.object({
    subusers: z.array(subuser).openapi({ description: 'One page of sub-users.' }),
    next_cursor: nextCursor(),
  }),
  example: { subusers: [{ ...example, ...refExample }], next_cursor: null },
})

export const toSubusers = (found: readonly Subuser[], limitOfPage: number) => {
  const { items, next_cursor } = pageOf(found, limitOfPage, (each) => each.id)
  return { subusers: items.map(toSubuser), next_cursor }
}

export const updateSubuser = operation({
  id: 'updateSubuser',
  method: 'POST',
  path: '/premium/subusers/update',
  tag,
  summary: 'Change, block or unblock a sub-user',
  description: 'What is left out stays as it is. A blocked one carries nothing and keeps its traffic.',
  body: z.object({
    subuser_id: subuserId(undefined, exampleMade),
    name: name.optional(),
    blocked: z.boolean().optional().openapi({ description: 'Whether it may carry anything.' }),
    keep_hosts: keepHosts.optional(),
    ...limitFields,
  }),
  exampleBody: { subuser_id: exampleMade, name: 'Alice' },
  answer: z.object({ subuser }),
  example: { subuser: example },
  see,
  codes: ['not_found'],
  refusals: noSuchSubuser,
})

const returned = z.object({ pool_type: shownPool(), gb: gigabytes('What went over.') })

export const deleteSubuser = operation({
  id: 'deleteSubuser',
  method: 'POST',
  path: '/premium/subusers/delete',
  isDestructive: true,
  tag,
  summary: 'Delete a sub-user and take its traffic back',
  description:
    'Its traffic goes to your default sub-user or to the one you name. What a node holds at that moment follows ' +
    'when it comes back. An `Idempotency-Key` makes a retry safe.',
  body: z.object({
    subuser_id: requiredSubuserId('Which; not the default one.'),
    to_subuser_id: subuserId('Who gets its traffic; your default sub-user unless given.'),
  }),
  exampleBody: { subuser_id: exampleMade },
  answer: z.object({
    order_id: orderId(),
    deleted: subuserRef.openapi({ description: 'The one that is no more.' }),
    to: subuserRef.openapi({ description: 'The one that has its traffic now.' }),
    returned: z.array(returned).openapi({ description: 'What went over, for each pool that had any.' }),
  }),
  example: {
    order_id: exampleOrder,
    deleted: madeExample,
    to: refExample,
    returned: [{ pool_type: 'residential', gb: 1.2 }],
  },
  see: { ...see, to_subuser_id: see.subuser_id },
  codes: ['not_found'],
  refusals: {
    ...noSuchSubuser,
    conflict: new Refusal('default_subuser_stays'),
  },
  charges: true,
  isFree: true,
})

export const toDeleted = (of: {
  order: OrderId
  subuser: Subuser
  heir: Subuser
  returned: readonly { readonly pool: string; readonly moved: Bytes }[]
}) => ({
  order_id: of.order,
  deleted: toRef(of.subuser),
  to: toRef(of.heir),
  returned: of.returned.map((each) => ({ pool_type: each.pool, gb: toGb(each.moved) })),
})
