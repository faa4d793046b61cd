import { z } from '@hono/zod-openapi'
import type { Subuser } from '../../../domains/premium/rules.ts'
import { type Bytes, toGigabytes } from '../../../kernel/bytes.ts'

export const tag = 'Premium'

const idPattern = /^[A-Za-z0-9_]{1,64}$/

/** An id that has not the shape of one names nothing, and is answered like one that names nothing of yours. */
export const subuserId = (description = 'Whose; your default sub-user unless given.') =>
  z
    .string()
    .regex(idPattern, 'must be an id as the list of sub-users shows it')
    .optional()
    .openapi({ description, example: 'sub_01k73sf80000000000000000000' })

export const requiredSubuserId = (description: string) =>
  z
    .string()
    .regex(idPattern, 'must be an id as the list of sub-users shows it')
    .openapi({ description, example: 'sub_01k73sf80000000000000000000' })

export const poolType = () =>
  z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,30}$/, 'must be the name of a pool, in small letters')
    .openapi({
      description: 'The pool; as shipped residential, residential_premium, datacenter, mobile.',
      example: 'residential',
    })

const gbDescription = 'Gigabytes (10^9 bytes), 0.1 to 10000 in steps of 0.1.'
const mostTenths = 100_000

/** Tenths of a gigabyte from a query: plain decimal digits, at most one behind the point. */
export const queryGigabytes = () =>
  z
    .string()
    .refine((text) => /^\d{1,5}(\.\d)?$/.test(text), 'must be gigabytes in steps of 0.1, in plain digits')
    .transform((text) => Math.round(Number(text) * 10))
    .refine((tenths) => tenths >= 1 && tenths <= mostTenths, 'must be from 0.1 to 10000')
    .openapi({
      type: 'number',
      minimum: 0.1,
      maximum: 10_000,
      example: 1.5,
      description: gbDescription,
    })

/** Tenths of a gigabyte from a body. `0.15` is refused rather than rounded. */
export const bodyGigabytes = () =>
  z
    .number()
    .refine(
      (gb) => gb >= 0.1 && gb <= 10_000 && Math.round(gb * 10) / 10 === gb,
      'must be from 0.1 to 10000 in steps of 0.1',
    )
    .transform((gb) => Math.round(gb * 10))
    .openapi({ type: 'number', minimum: 0.1, maximum: 10_000, example: 1.5, description: gbDescription })

export const gigabytes = (description: string) =>
  z.number().openapi({ description: `${description} In GB of 10^9 bytes.`, example: 1.5 })

/** A sub-user wherever an answer is about one. */
export const subuserRef = z
  .object({
    subuser_id: z.string().openapi({ example: 'sub_01k73sf80000000000000000000' }),
    login: z.string().openapi({ description: 'What a proxy login begins with.', example: 'u7k2m9x4qa' }),
    name: z.string(),
    is_default: z.boolean(),
  })
  .openapi('SubuserRef')

export const refExample = {
  subuser_id: 'sub_01k73sf80000000000000000000',
  login: 'u7k2m9x4qa',
  name: 'default',
  is_default: true,
}

export const toRef = (of: Subuser) => ({
  subuser_id: of.id,
  login: of.login,
  name: of.name,
  is_default: of.isDefault,
})

export const toGb = (count: Bytes): number => toGigabytes(count)

/** Text for people: printable, of bounded length. JSON Schema has no way to say the first, so only the second is described. */
export const printable = (min: number, max: number) =>
  z
    .string()
    .refine(
      (text) => text.length >= min && text.length <= max && !/[\p{Cc}\p{Cs}]/u.test(text),
      `must be ${min === 0 ? 'at most' : `${min} to`} ${max} printable characters`,
    )
    .openapi({ minLength: min, maxLength: max })
