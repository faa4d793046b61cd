import { useMemo } from 'react'
import { useMessages } from '../../shared/messages.tsx'
import { type CustomerAnswer, useRead } from '../api.ts'
import { dedicatedMessages } from './messages.ts'

/** The bytes of a proxy by day, oldest first, and the noon of the first day. */
export type Days = Readonly<{ bytes: readonly number[]; firstAt: number }>

type Traffic = CustomerAnswer<'getDailyTraffic'>['proxies'][number]

const [halfDayMs, dayMs] = [43_200_000, 86_400_000]

/** The traffic of these proxies by day, by id. */
export function useDays(ids: readonly number[]): ReadonlyMap<number, Days> {
  const { data } = useRead('getDailyTraffic', { query: { ids: ids.join(',') } }, { isWanted: ids.length > 0 })
  return useMemo(() => {
    const firstAt = data === undefined ? 0 : Date.parse(data.first_day) + halfDayMs
    const toDays = ({ rx_bytes_by_day: received, tx_bytes_by_day: sent }: Traffic): Days => ({
      bytes: received.map((each, index) => each + (sent[index] ?? 0)),
      firstAt,
    })
    return new Map(data?.proxies.map((each) => [each.id, toDays(each)]))
  }, [data])
}

const [width, height] = [93, 16]

/** A bar for each day, as high as its share of the busiest day; a line where there was no traffic. */
export function DaysChart({ days: { bytes, firstAt } }: { readonly days: Days }) {
  const { t, format } = useMessages(dedicatedMessages)
  const most = Math.max(...bytes)
  const step = width / bytes.length
  const bars = bytes.map((each, index) => {
    const share = most === 0 ? 0 : each / most
    return `M${((index + 0.5) * step).toFixed(1)} ${height}v-${Math.max(1, share * height).toFixed(1)}`
  })
  const mostAt = new Date(firstAt + bytes.indexOf(most) * dayMs).toISOString()
  const label = most === 0 ? t.noTraffic : t.mostOn(format.bytes(most), format.day(mostAt))
  return (
    <svg
      className="days"
      role="img"
      aria-label={label}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
    >
      <title>{label}</title>
      <path d={bars.join('')} strokeWidth={step - 1} />
    </svg>
  )
}
