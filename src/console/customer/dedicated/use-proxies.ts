import { useQuery } from '@tanstack/react-query'
import { loadPages } from '../api.ts'

/** The customer's newest 5,000 proxies; an export has all of them. */
export const useProxies = ({ everyMs }: { readonly everyMs?: number } = {}) =>
  useQuery({
    queryKey: ['listDedicated', 'all'],
    queryFn: () => loadPages('listDedicated', { query: { limit: 500 } }, 10),
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  })
