import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Proxy } from '../../client/customer.ts'
import { api, type CustomerAnswer, quoteEveryMs, useRead } from '../api.ts'
import { maxBatch, sendBatches, sumRoubles, toBatches } from './batches.ts'

export function useProlongPeriods(picked: readonly Proxy[]): readonly number[] {
  const ipv = (picked[0]?.ipv ?? 4) as 3 | 4 | 6
  return useRead('listCountries', { query: { ipv } }).data?.prolong_periods ?? []
}

/** The price to prolong all of them: the sum over the requests that would prolong them, each with its own price. */
export function useProlongQuote(ids: readonly number[], period: number, isWanted = true) {
  return useQuery({
    queryKey: ['quoteProlonging', period, ids.join()],
    queryFn: async () => {
      const parts: { readonly ids: readonly number[]; readonly answer: CustomerAnswer<'quoteProlonging'> }[] = []
      await sendBatches(toBatches(ids, maxBatch), {
        send: (batch) => api.call('quoteProlongingOfMany', { body: { ids: batch, period } }),
        onSent: (batch, answer) => void parts.push({ ids: batch, answer }),
      })
      const prices = new Map(parts.map((each) => [each.ids[0], each.answer.total_price_rub]))
      return { period, prices, total: sumRoubles([...prices.values()]), first: parts[0]?.answer.items[0] }
    },
    enabled: isWanted && period > 0 && ids.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: quoteEveryMs,
  })
}

export const usualPeriod = 30

/** The price to prolong all of them by the term that the form offers first; undefined until it is known. */
export function useUsualPrice(picked: readonly Proxy[]): number | undefined {
  const periods = useProlongPeriods(picked)
  const period = periods.includes(usualPeriod) ? usualPeriod : (periods[0] ?? 0)
  const ids = picked.map((each) => each.id)
  const quote = useProlongQuote(ids, period)
  return quote.isPlaceholderData ? undefined : quote.data?.total
}
