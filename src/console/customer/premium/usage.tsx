import { Checkbox, SegmentedControl, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import { Chart } from '../../shared/chart.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { Empty, Hint, Panel, Reading, RefusalNotice, Rows } from '../../shared/parts.tsx'
import { useChange, useRead } from '../api.ts'
import { premiumMessages } from './messages.ts'
import { useSubuserChoice, useSubusers } from './subusers.tsx'
import { type By, fill, sinceOf } from './usage-steps.ts'

export function UsageTab() {
  const { t, format } = useMessages(premiumMessages)
  const [by, setBy] = useState<By>('day')
  const from = useMemo(() => sinceOf(by, Date.now()), [by])
  const [subuser_id, choice] = useSubuserChoice(t.everybody)
  const usage = useRead('getPremiumUsage', { query: { by, from, subuser_id } })
  const options: { value: By; label: string }[] = [
    { value: 'day', label: t.byDay },
    { value: 'hour', label: t.byHour },
  ]
  const steps = <SegmentedControl size="xs" value={by} onChange={setBy} data={options} />
  return (
    <>
      {choice && <div className="line fields">{choice}</div>}
      <Panel title={t.usage} aside={steps}>
        <Reading of={usage} height={240}>
          {(found) => {
            if (found.items.length === 0) {
              return (
                <Empty icon="chart" title={t.noUsage} about={t.noUsageAbout} to={['#/premium/generate', t.getLine]} />
              )
            }
            const { times, received, sent } = fill(by, from, found.items)
            const bytes = [...received, ...sent].reduce((total, each) => total + each, 0)
            const sum = t.sum(format.bytes(bytes))
            return (
              <>
                <Text>{sum}</Text>
                <Chart
                  label={`${t.usage}. ${sum}`}
                  times={times}
                  series={[
                    { label: t.received, values: received },
                    { label: t.sent, values: sent },
                  ]}
                  write={format.bytes}
                />
              </>
            )
          }}
        </Reading>
      </Panel>
      <Hosts from={from} subuser_id={subuser_id} />
    </>
  )
}

/** Whether the shop stores destinations: of the chosen sub-user, or of the only one. */
function KeepHosts({ subuser_id }: { readonly subuser_id: string | undefined }) {
  const { t } = useMessages(premiumMessages)
  const all = useSubusers().data?.subusers ?? []
  const change = useChange('updateSubuser')
  const found = all.length === 1 ? all[0] : all.find((each) => each.subuser_id === subuser_id)
  return (
    <div className="stack">
      {found && (
        <Checkbox
          label={t.keepHosts}
          checked={found.keep_hosts}
          disabled={change.isPending}
          onChange={({ currentTarget: { checked } }) =>
            change.mutate({ body: { subuser_id: found.subuser_id, keep_hosts: checked } })
          }
        />
      )}
      <Hint>{t.keepHostsAbout}</Hint>
      <RefusalNotice error={change.error} />
    </div>
  )
}

function Hosts({ from, subuser_id }: { readonly from: string; readonly subuser_id: string | undefined }) {
  const { t, format } = useMessages(premiumMessages)
  const hosts = useRead('getPremiumUsage', { query: { by: 'host', from, subuser_id } })
  return (
    <Panel title={t.hosts} className="stack">
      <KeepHosts subuser_id={subuser_id} />
      <Reading of={hosts}>
        {({ items }) => (
          <Rows
            label={t.hosts}
            rows={items.slice(0, 20)}
            keyOf={(row) => row.key}
            empty={
              <Empty icon="globe" title={t.noHosts} about={t.noHostsAbout} to={['#/premium/generate', t.getLine]} />
            }
            columns={(column) => [
              column(
                t.host,
                (row) => <span className="mono">{row.key}</span>,
                (row) => row.key,
              ),
              column.amount(t.traffic, (row) => row.received_bytes + row.sent_bytes, format.bytes),
            ]}
          />
        )}
      </Reading>
    </Panel>
  )
}
