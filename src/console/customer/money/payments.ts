import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useOnce } from '../../shared/once.ts'
import { api } from '../api.ts'

export type Method = {
  readonly method: string
  readonly name: string
  readonly min_rub: number
  readonly max_rub: number
  readonly fee_percent: number
  readonly email?: boolean
}

export type Payment = {
  readonly payment_id: string
  readonly status: 'pending' | 'paid' | 'expired' | 'cancelled' | 'refunded'
  readonly amount_rub: number
  readonly to_pay_rub?: number
  readonly pay_url: string | null
  readonly qr: string | null
  readonly expires_at: string
}

/** What paying needs of the shop. A shop that takes no payments has none of it in its description. */
type Till = {
  call(name: 'listPaymentMethods'): Promise<{ readonly items: readonly Method[] }>
  call(name: 'getPayment', given: { readonly params: { readonly payment_id: string } }): Promise<Payment>
  call(name: 'createPayment', given: { readonly body: object; readonly key: string }): Promise<Payment>
}

const till = api as unknown as Till
/** Whether the shop takes payments at all. */
export const isTaking: boolean = api.has('listPaymentMethods')
const lookEveryMs = 2_000

/** The ways to pay; none where the shop takes no payments. */
export const useMethods = () =>
  useQuery({
    queryKey: ['listPaymentMethods'],
    queryFn: () => till.call('listPaymentMethods'),
    enabled: isTaking,
  }).data?.items ?? []

/** Begins a payment. The same wish, sent again because its answer was lost, is the same payment. */
export function useBeginning() {
  const asked = useRef({ body: '', key: '' })
  const beginning = useMutation({
    mutationFn: async (body: { readonly amount_rub: number; readonly method: string; readonly email?: string }) => {
      const written = JSON.stringify(body)
      if (asked.current.body !== written) asked.current = { body: written, key: `console-${crypto.randomUUID()}` }
      const begun = await till.call('createPayment', { body, key: asked.current.key })
      asked.current.body = ''
      return begun
    },
  })
  return { ...beginning, begin: useOnce(beginning.mutateAsync) }
}

/** A payment as it stands; looked at until something has become of it, and then the balance too. */
export function usePayment(begun: Payment): Payment {
  const queries = useQueryClient()
  const { payment_id } = begun
  const payment =
    useQuery({
      queryKey: ['getPayment', payment_id],
      queryFn: () => till.call('getPayment', { params: { payment_id } }),
      refetchInterval: (query) => (query.state.data?.status === 'paid' ? false : lookEveryMs),
      refetchIntervalInBackground: true,
    }).data ?? begun
  const isPaid = payment.status === 'paid'
  useEffect(() => {
    if (isPaid) void queries.invalidateQueries()
  }, [isPaid, queries])
  return payment
}
