import { SegmentedControl, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import { Chart } from '../../shared/chart.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { Empty, Panel, Reading } from '../../shared/parts.tsx'
import { Rows } from '../../shared/rows.tsx'
import { type Answer, useRead } from '../api.ts'
import { premiumWords } from './words.ts'

const hourMs = 3_600_000
const dayMs = 86_400_000
const spans = { hour: { stepMs: hourMs, count: 48 }, day: { stepMs: dayMs, count: 30 } } as const
type By = keyof typeof spans

/** From a whole step on, so that a page that is opened twice asks for the same. */
function sinceOf(by: By, nowAt: number): string {
  const { stepMs, count } = spans[by]
  return new Date(Math.floor(nowAt / stepMs) * stepMs - (count - 1) * stepMs).toISOString()
}

/** A value for each step of the time, also where nothing was carried. */
export function fill(by: By, from: string, items: Answer<'getPremiumUsage'>['items']) {
  const { stepMs, count } = spans[by]
  const fromAt = Date.parse(from)
  const times = Array.from({ length: count }, (_, index) => fromAt + index * stepMs)
  const found = new Map(items.map((each) => [Math.floor(Date.parse(each.key) / stepMs), each]))
  const of = (field: 'received_bytes' | 'sent_bytes') =>
    times.map((at) => found.get(Math.floor(at / stepMs))?.[field] ?? 0)
  return { times, received: of('received_bytes'), sent: of('sent_bytes') }
}

export function UsageTab() {
  const words = useWords(premiumWords)
  const format = useFormat()
  const [by, setBy] = useState<By>('day')
  const from = useMemo(() => sinceOf(by, Date.now()), [by])
  const usage = useRead('getPremiumUsage', { query: { by, from } })
  const hosts = useRead('getPremiumUsage', { query: { by: 'host', from } })
  return (
    <>
      <Panel
        title={words.usage}
        aside={
          <SegmentedControl
            size="xs"
            value={by}
            onChange={(value) => setBy(value)}
            data={[
              { value: 'day', label: words.byDay },
              { value: 'hour', label: words.byHour },
            ]}
          />
        }
      >
        <Reading of={usage} height={240}>
          {(found) => {
            if (found.items.length === 0) {
              return <Empty icon="chart" title={words.noUsage} about={words.noUsageAbout} />
            }
            const { times, received, sent } = fill(by, from, found.items)
            const sum = words.sum(format.gigabytes(found.total_gb))
            return (
              <>
                <Text>{sum}</Text>
                <Chart
                  label={`${words.usage}. ${sum}`}
                  times={times}
                  series={[
                    { label: words.received, values: received },
                    { label: words.sent, values: sent },
                  ]}
                  write={format.bytes}
                />
              </>
            )
          }}
        </Reading>
      </Panel>
      <Panel title={words.hosts}>
        <Reading of={hosts}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty icon="globe" title={words.noHosts} about={words.noHostsAbout} />
            ) : (
              <Rows
                label={words.hosts}
                rows={items.slice(0, 20)}
                keyOf={(row) => row.key}
                columns={[
                  { name: 'host', label: words.host, show: (row) => <span className="mono">{row.key}</span> },
                  {
                    name: 'traffic',
                    label: words.traffic,
                    isFigure: true,
                    show: (row) => format.bytes(row.received_bytes + row.sent_bytes),
                  },
                ]}
              />
            )
          }
        </Reading>
      </Panel>
    </>
  )
}
