import { useQuery } from '@tanstack/react-query'
import type { Transaction } from '../../client/customer.ts'
import { loadPages } from '../api.ts'
import { days } from './spending.ts'

export const pageSize = 500

/** The movements since a time, newest first; at most 10,000, or `maxPages` of 500. */
export const loadMovements = (sinceAt: number, maxPages = 20): Promise<readonly Transaction[]> =>
  loadPages(
    'listTransactions',
    { query: { limit: pageSize } },
    maxPages,
    (each) => Date.parse(each.created_at) >= sinceAt,
  )

export const useMonthMovements = () =>
  useQuery({
    queryKey: ['listTransactions', 'month'],
    queryFn: () => loadMovements(Date.now() - days * 86_400_000),
  })
