import { kopecks, zero } from '../../../core/money.ts'
import { malformed, Refusal } from '../../../core/refusal.ts'
import { readIso, toIso } from '../../../core/time.ts'
import type { Codes, Referrals } from '../../../domains/payments/index.ts'
import { readCode } from '../../../domains/payments/rules.ts'
import type { Bound } from '../../bind.ts'
import type { AdminCaller, BindAdmin } from '../bind.ts'
import { toHundredths } from '../fields.ts'
import { readNamedCustomer } from './routes.ts'
import * as shapes from './shapes-codes.ts'

export type AdminCodesDeps = { readonly codes: Codes; readonly referrals: Referrals }

const oneOfBoth = (): Refusal =>
  malformed([{ field: 'percent', problem: 'say either this or amount_rub, and not both' }])

function loadCode(text: string): string {
  const code = readCode(text)
  if (!code) throw new Refusal('code_not_found')
  return code
}

export function adminCodeOperations(bind: BindAdmin, deps: AdminCodesDeps): readonly Bound<AdminCaller>[] {
  const { codes } = deps
  return [
    bind(shapes.listCodes, async ({ query }) => ({ items: (await codes.list(query.limit)).map(shapes.toCode) })),
    bind(shapes.addCode, async ({ body }) => {
      const { amount_rub: amount, percent, least_rub: least, uses, until, note } = body
      const value = amount ?? percent
      if (value === undefined || (amount !== undefined && percent !== undefined)) throw oneOfBoth()
      const code = loadCode(body.name)
      await codes.add({
        code,
        kind: amount === undefined ? 'percent' : 'amount',
        value: BigInt(toHundredths(value)),
        least: least === undefined ? zero : kopecks(BigInt(toHundredths(least))),
        uses: uses ?? null,
        untilAt: until === undefined ? null : (readIso(until) ?? null),
        note,
      })
      return { name: code }
    }),
    bind(shapes.endCode, async ({ params }) => {
      const code = loadCode(params.name)
      await codes.end(code)
      return { name: code, ended: true }
    }),
    ...referralOperations(bind, deps),
  ]
}

function referralOperations(bind: BindAdmin, { referrals }: AdminCodesDeps): readonly Bound<AdminCaller>[] {
  return [
    bind(shapes.listReferrals, async ({ query }) => {
      const terms = await referrals.terms()
      const found = await referrals.list(query.limit)
      return {
        terms: terms ? { percent: terms.hundredths / 100, top_ups: terms.topUps } : null,
        items: found.map((each) => ({
          customer_id: each.customer,
          referrer_id: each.referrer,
          at: toIso(each.at),
        })),
      }
    }),
    bind(shapes.setReferralTerms, async ({ body }) => {
      await referrals.set({ hundredths: toHundredths(body.percent), topUps: body.top_ups })
      return { percent: body.percent, top_ups: body.top_ups }
    }),
    bind(shapes.addReferral, async ({ body }) => {
      const customer = readNamedCustomer('customer_id', body.customer_id)
      const referrer = readNamedCustomer('referrer_id', body.referrer_id)
      await referrals.add(customer, referrer)
      return { customer_id: customer, referrer_id: referrer }
    }),
  ]
}
