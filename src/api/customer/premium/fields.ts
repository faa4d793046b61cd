import { z } from '@hono/zod-openapi'
import { problem } from '../../../core/messages/problems.ts'
import { Refusal } from '../../../core/refusal.ts'
import type { Subuser } from '../../../domains/premium/subusers/rules.ts'
import { checked, flag, named, text } from '../../fields.ts'
import { exampleOf, operationsOf } from '../../operation.ts'

const exampleSubuser = 'sub_01k73sf8000000000000000000'
export const exampleMade = 'sub_01k73sf8000000000000000001'

/** An id that has not the shape of one names nothing, and is answered like one that names nothing of yours. */
export const requiredSubuserId = (description: string, example = exampleMade) =>
  checked(description, /^[A-Za-z0-9_]{1,64}$/, ['id', { prefix: 'sub' }], example)

export const subuserId = (description = 'Whose; your default sub-user unless given.', example = exampleSubuser) =>
  requiredSubuserId(description, example).optional()

/** The name of a pool. Capitals pass, so that the refusal of an unknown pool can list the known ones. */
export const poolType = () =>
  z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_]{0,30}$/, problem('name_of', { thing: 'pool' }))
    .openapi({
      description:
        'The pool; as shipped residential, residential_premium, datacenter or mobile. `GET ' +
        '/premium/traffic/balance` lists all.',
      example: 'residential',
      pattern: '^[a-z][a-z0-9_]{0,30}$',
    })

export const shownPool = () => text('The pool.', 'residential')

/** The operation that lists the values of a field. */
const see = {
  pool_type: 'GET /premium/traffic/balance',
  subuser_id: 'GET /premium/subusers',
  from_subuser_id: 'GET /premium/subusers',
  to_subuser_id: 'GET /premium/subusers',
  country_code: 'POST /premium/locations/countries',
  countries: 'POST /premium/locations/countries',
  states: 'POST /premium/locations/states',
  cities: 'POST /premium/locations/cities',
  zipcodes: 'POST /premium/locations/zipcodes',
  asns: 'POST /premium/locations/asns',
}

export const operation = operationsOf({ tag: 'Premium proxies', see })

export const noSuchSubuser = { not_found: new Refusal('subuser_not_found', {}, { charged: false }) }

const described = {
  type: 'number' as const,
  minimum: 0.1,
  maximum: 10_000,
  example: 1.5,
  description: 'Gigabytes (10^9 bytes), 0.1 to 10000 in steps of 0.1.',
}
const stepsOfTenths = problem('in_steps', { from: 0.1, to: 10_000, step: 0.1 })

/** Tenths of a gigabyte. `0.15` is refused and not rounded; `0.30000000000000004`, the sum of 0.1 and 0.2, is 0.3. */
function readTenths(gb: number, context: z.RefinementCtx): number {
  const tenths = Math.round(gb * 10)
  if (tenths >= 1 && tenths <= 100_000 && Math.abs(gb * 10 - tenths) < 1e-6) return tenths
  context.addIssue({ code: 'custom', message: stepsOfTenths })
  return z.NEVER
}

/** Gigabytes in a query, in plain decimal digits. */
export const queryGigabytes = () =>
  z
    .string()
    .refine((written) => /^\d{1,5}(\.\d{1,20})?$/.test(written), stepsOfTenths)
    .transform((written, context) => readTenths(Number(written), context))
    .openapi(described)

export const bodyGigabytes = () => z.number().transform(readTenths).openapi(described)

export const gigabytes = (description: string) =>
  z.number().openapi({ description: `${description} In GB of 10^9 bytes.`, example: 1.5 })

/** A sub-user wherever an answer is about one. */
export const subuserRef = named('SubuserRef', {
  subuser_id: text('Its id, to name it by in other operations.', exampleSubuser),
  login: text('What a proxy login begins with.', 'u7k2m9x4qa'),
  name: text('How you call it.', 'default'),
  is_default: flag('Whether it is the one that is meant when none is named.'),
})

/** A sub-user made by `POST /premium/subusers`. */
export const madeExample = {
  ...exampleOf(subuserRef),
  subuser_id: exampleMade,
  login: 'alice',
  name: 'Alice',
  is_default: false,
}

export const toRef = (of: Subuser) => ({
  subuser_id: of.id,
  login: of.login,
  name: of.name,
  is_default: of.isDefault,
})

/** Printable text of bounded length. JSON Schema cannot say "printable", so only the length is described. */
export const printable = (min: number, max: number) =>
  z
    .string()
    .refine(
      (written) => written.length >= min && written.length <= max && !/[\p{Cc}\p{Cs}]/u.test(written),
      problem('printable', { from: min, to: max }),
    )
    .openapi({ minLength: min, maxLength: max })
