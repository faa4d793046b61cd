import { useInfiniteQuery } from '@tanstack/react-query'
import type { Transaction } from '../../client/customer.ts'
import { api } from '../api.ts'

const aPage = 100
/** As far back as a picture of thirty days looks, at the most. */
const mostPages = 20

export const useMovements = () =>
  useInfiniteQuery({
    queryKey: ['listTransactions', 'pages'],
    queryFn: ({ pageParam }) => api.call('listTransactions', { query: { limit: aPage, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })

export const useOrders = () =>
  useInfiniteQuery({
    queryKey: ['listOrders', 'pages'],
    queryFn: ({ pageParam }) => api.call('listOrders', { query: { limit: aPage, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })

/** Every movement from a time on, newest first. */
export async function loadMovements(sinceAt: number): Promise<readonly Transaction[]> {
  const found: Transaction[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < mostPages; pages += 1) {
    const page = await api.call('listTransactions', { query: { limit: 500, cursor } })
    found.push(...page.transactions.filter((each) => Date.parse(each.created_at) >= sinceAt))
    const last = page.transactions.at(-1)
    if (page.next_cursor === null || last === undefined || Date.parse(last.created_at) < sinceAt) break
    cursor = page.next_cursor
  }
  return found
}
