import { z } from '@hono/zod-openapi'
import { readPrefix } from '../../core/address.ts'
import { readCountry } from '../../core/country.ts'
import { problem } from '../../core/messages/problems.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import { readIso, toIso } from '../../core/time.ts'
import { checked, exampleAt, flag, roubles, rows, text, whole } from '../fields.ts'

export const exampleCustomer = 'cus_01k73sf8000000000000000000'

export const customerName = text('Name of the customer.', 'Anna')

export const customerParam = z.object({ customer_id: text("The customer's id.", exampleCustomer) })

export const orderParam = z.object({ order_id: text("The order's id.", 'ord_01k73sf8000000000000000000') })

export const nodeParam = z.object({ name: text("The node's name.", 'gate-1') })

export const printableText = (description: string, maxLength: number, example: string) =>
  z
    .string()
    .refine(
      (written) => new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${maxLength}}$`, 'u').test(written) && written.trim() !== '',
      problem('printable', { from: 1, to: maxLength }),
    )
    .openapi({ description, example, minLength: 1, maxLength })

export const remark = (description: string, unless: string) =>
  printableText(description, 500, unless).default(unless).openapi({ default: unless })

export const note = (unless: string) => remark('Reason; the customer sees it in transactions and events.', unless)

export const amount = (description: string) =>
  z
    .number()
    .gt(0, problem('more_than', { min: 0 }))
    .max(1_000_000_000)
    .refine((value) => Number.isInteger(Math.round(value * 1e6) / 1e4), problem('two_decimals'))
    .openapi({ description: `${description} In roubles.`, example: 1000 })

export const yes = (description: string) => z.boolean().default(false).openapi({ description, default: false })

export const prefixText = (description = 'Address range in CIDR notation.') =>
  checked(description, (written) => readPrefix(written) !== undefined, ['prefix'], '203.0.113.0/24')

export const countryText = () =>
  checked('ISO 3166-1 alpha-2 country code.', (written) => readCountry(written) !== undefined, ['country_code'], 'DE')

export const instant = (description: string) =>
  checked(description, (written) => readIso(written) !== undefined, ['moment'], toIso(exampleAt))

export const day = (description: string) =>
  checked(
    description,
    (value) => /^\d{4}-\d{2}-\d{2}$/.test(value) && readIso(value) !== undefined,
    ['date'],
    '2026-01-01',
  )

/** A percentage in a body, below a hundred, with at most two decimals. */
export const percent = (description: string, example: number) =>
  z
    .number()
    .min(0)
    .lt(100)
    .refine((value) => Number.isInteger(Math.round(value * 1e6) / 1e4), problem('two_decimals'))
    .openapi({ description: `${description} In percent.`, example })

/** A value that `percent` has accepted, in hundredths of a percent. */
export const toHundredths = (value: number): number => Math.round(value * 100)

export const toKopecks = (sum: number): Kopecks => kopecks(BigInt(toHundredths(sum)))

export const dryRun = () => yes('Only compute the result; change nothing.')

/** In the answer of an operation that can be tried. */
export const isDryRun = flag('True if this was a dry run that changed nothing; absent otherwise.').optional()

export const dryRunOf = (body: { readonly dry_run: boolean }) => (body.dry_run ? { dry_run: true } : {})

/** How the refund of ended proxies is made up. Absent for other products, and in answers stored by older versions. */
export const refundParts = {
  purchase_rub: roubles('Part of the refund that returns purchases of proxies.', 80).optional(),
  prolongation_rub: roubles('Part of the refund that returns prolongations of proxies.', 20).optional(),
  services: rows('The first 50 ended proxies with what was paid for each; empty without a refund.', {
    proxy: whole('Number of the proxy.', 7),
    address: text('Egress address.', '203.0.113.7'),
    paid_rub: roubles('Price of all its terms.', 150),
    used_rub: roubles('Price of its used time.', 50),
    unused_purchase_rub: roubles('Unused part of its purchase.', 80),
    unused_prolongation_rub: roubles('Unused part of its prolongations.', 20),
    refunded_purchase_rub: roubles('Its part of the refund of purchases.', 80),
    refunded_prolongation_rub: roubles('Its part of the refund of prolongations.', 20),
  }).optional(),
}

export const replayed = flag('True if this answer repeats an earlier request; absent otherwise.').optional()
