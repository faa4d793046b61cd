import { useRead } from '../api.ts'

export function usePools(subuser_id?: string, settings: Parameters<typeof useRead>[2] = {}) {
  const { data, error, refetch } = useRead('getTraffic', { query: { subuser_id } }, settings)
  return { data: data && 'pools' in data ? data.pools : undefined, error, refetch }
}
