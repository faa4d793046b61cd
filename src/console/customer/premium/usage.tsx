import { SegmentedControl, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import { Chart } from '../../shared/chart.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { Empty, Panel, Reading } from '../../shared/parts.tsx'
import { Rows } from '../../shared/rows.tsx'
import { useRead } from '../api.ts'
import { useSubuserChoice } from './subusers.tsx'
import { type By, fill, sinceOf } from './usage-steps.ts'
import { premiumWords } from './words.ts'

export function UsageTab() {
  const words = useWords(premiumWords)
  const format = useFormat()
  const [by, setBy] = useState<By>('day')
  const from = useMemo(() => sinceOf(by, Date.now()), [by])
  const [subuser_id, choice] = useSubuserChoice(words.everybody)
  const usage = useRead('getPremiumUsage', { query: { by, from, subuser_id } })
  const hosts = useRead('getPremiumUsage', { query: { by: 'host', from, subuser_id } })
  return (
    <>
      {choice && <div className="line fields">{choice}</div>}
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
