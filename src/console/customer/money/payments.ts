import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Payment, PaymentMethod } from '../../client/customer.ts'
import { useWords } from '../../shared/language.tsx'
import { methodNames } from '../../shared/method-names.ts'
import { api, usePurchase, useRead } from '../api.ts'

/** Whether the shop takes payments at all. */
export const isTaking: boolean = api.has('listPaymentMethods')
const lookEveryMs = 2_000

/** The ways to pay, named in the reader's language; none where the shop takes no payments. */
export function useMethods(): readonly PaymentMethod[] {
  const names = useWords(methodNames)
  const found = useRead('listPaymentMethods', {}, { isWanted: isTaking }).data?.items ?? []
  return found.map((each) => ({ ...each, name: names[each.method] ?? each.name }))
}

/** Begins a payment. The same wish, sent again because its answer was lost, is the same payment. */
export function useBeginning() {
  const { buy: begin, ...beginning } = usePurchase('createPayment')
  return { ...beginning, begin }
}

/** Where payers come back to: the page that says what has become of it. */
export const comeBackTo = (): string => `${location.origin}/#/money`

/** The payment that was begun last, if it can still be paid: whoever comes back finds it here. */
export function useOpenPayment(): Payment | undefined {
  const last = useRead('listPayments', { query: { limit: 1 } }, { isWanted: isTaking }).data?.payments[0]
  return last?.status === 'pending' ? last : undefined
}

/** Whether nothing more will become of it that anybody waits for. */
const isDone = ({ status, then }: Payment): boolean => status === 'paid' && then?.state !== 'waiting'

/** A payment as it stands; looked at until something has become of it, and then everything else is read anew. */
export function usePayment(begun: Payment): Payment {
  const queries = useQueryClient()
  const { payment_id } = begun
  const payment =
    useQuery({
      queryKey: ['getPayment', payment_id],
      queryFn: () => api.call('getPayment', { params: { payment_id } }),
      refetchInterval: (query) => (query.state.data && isDone(query.state.data) ? false : lookEveryMs),
      refetchIntervalInBackground: true,
    }).data ?? begun
  const stands = `${payment.status} ${payment.then?.state ?? ''}`
  useEffect(() => {
    if (stands.startsWith('paid')) void queries.invalidateQueries()
  }, [stands, queries])
  return payment
}
