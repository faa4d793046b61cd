import { useQuery } from '@tanstack/react-query'
import type { Proxy } from '../../client/customer.ts'
import { api } from '../api.ts'

/** What is looked for among the proxies. Empty is whatever there is. */
export type Sought = {
  readonly text: string
  readonly status: '' | Proxy['status']
  readonly country: string
  readonly ipv: number
}

export const everything: Sought = { text: '', status: '', country: '', ipv: 0 }

const aPage = 500
/** More than this is not for eyes; an export has all. */
const mostShown = 5_000

async function loadAll(): Promise<readonly Proxy[]> {
  const found: Proxy[] = []
  let cursor: string | undefined
  do {
    const page = await api.call('listDedicated', { query: { limit: aPage, cursor } })
    found.push(...page.proxies)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined && found.length < mostShown)
  return found
}

/** All of the customer's proxies, newest first. */
export const useProxies = () => useQuery({ queryKey: ['listDedicated', 'all'], queryFn: loadAll })

export const isSought = (proxy: Proxy, { text, status, country, ipv }: Sought): boolean =>
  (status === '' || proxy.status === status) &&
  (country === '' || proxy.country_code === country) &&
  (ipv === 0 || proxy.ipv === ipv) &&
  [proxy.ip, proxy.exit_ip, proxy.username, proxy.comment, String(proxy.id)].some((each) =>
    each.toLowerCase().includes(text.trim().toLowerCase()),
  )

/** How a proxy is called among people: where one connects to. */
export const nameOf = ({ ip, port }: Proxy): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)
