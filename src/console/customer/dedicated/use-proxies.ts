import { useQuery } from '@tanstack/react-query'
import { loadPages } from '../api.ts'

const pageSize = 500
const maxPages = 10
/** The console shows a customer's newest proxies up to this many; an export has 10,000. */
export const maxShown = pageSize * maxPages

export const useProxies = ({ everyMs }: { readonly everyMs?: number } = {}) =>
  useQuery({
    queryKey: ['listDedicated', 'all'],
    queryFn: () => loadPages('listDedicated', { query: { limit: pageSize } }, maxPages),
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  })
