import { quoteEveryMs, useRead } from './api.ts'

export function useVpnPrices(uuid?: string) {
  const given = uuid === undefined ? {} : { query: { uuid } }
  const { data, error, refetch } = useRead('quoteVpn', given, { everyMs: quoteEveryMs })
  return { data: data && 'prices' in data ? data.prices : undefined, isServed: data?.available ?? true, error, refetch }
}

/** Whether VPN is on sale, or the customer has a subscription; true until that is known. */
export function useHasVpn(): boolean {
  const isSold = useVpnPrices().data?.length !== 0
  const { data } = useRead('getVpn', {}, { isWanted: !isSold })
  return isSold || data?.items.length !== 0
}
