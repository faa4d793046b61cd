import { Chart } from '../shared/chart.tsx'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Country, Facts, Hint, Panel, Reading, Rows } from '../shared/parts.tsx'
import { type OperatorAnswer, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'

const upcomingMessages = messages({
  ...operatorTexts,
  title: pair('The next 14 days', 'Следующие 14 дней'),
  renew: pair('Renew automatically', 'Продлятся сами'),
  end: pair('End', 'Закончатся'),
  inAll: phrase('{renew} services renew automatically, {end} end.', 'Продлятся сами: {renew}, закончатся: {end}.'),
  stockAbout: pair(
    'Addresses that run out within a year at the rate of the last 24 hours. Addresses that come back are not counted.',
    'Адреса, которые закончатся в течение года при продажах как за последние 24 часа. Возвращающиеся не учтены.',
  ),
  soldPerDay: pair('Sold in 24 hours', 'Продано за 24 часа'),
  runsOut: pair('Runs out', 'Закончатся'),
  about: phrase('about {day}', 'около {day}'),
  certificate: pair('Certificate of the shop ends', 'Сертификат магазина кончается'),
})

type Upcoming = OperatorAnswer<'getUpcoming'>

/** Renewals, ends, stock that runs out and certificates that end in the next days. */
export function UpcomingPanel() {
  const { t } = useMessages(upcomingMessages)
  const found = useRead('getUpcoming', { query: { days: 14 } }, { everyMs: 60_000 })
  return (
    <Panel title={t.title} className="stack">
      <Reading of={found} height={300}>
        {(upcoming) => <Shown of={upcoming} />}
      </Reading>
    </Panel>
  )
}

function Shown({ of: { days, stock, certificates } }: { readonly of: Upcoming }) {
  const { t, format } = useMessages(upcomingMessages)
  const renew = days.map((each) => each.proxies_renew + each.vpn_renew)
  const end = days.map((each) => each.proxies_end + each.vpn_end)
  const sum = (of: readonly number[]): string => format.number(of.reduce((all, each) => all + each, 0))
  const text = t.inAll(sum(renew), sum(end))
  return (
    <>
      <span>{text}</span>
      {[...renew, ...end].some((each) => each > 0) && (
        <Chart
          label={text}
          times={days.map((each) => Date.parse(each.day))}
          series={[
            { label: t.renew, values: renew },
            { label: t.end, values: end },
          ]}
          write={format.number}
        />
      )}
      {stock.length > 0 && (
        <>
          <Hint>{t.stockAbout}</Hint>
          <Rows
            label={t.runsOut}
            rows={stock}
            keyOf={(row) => `${row.country} ${row.ipv}`}
            columns={(column) => [
              column(t.kind, (row) => <Country code={row.country}>{t.kinds[row.ipv]}</Country>),
              column.number(t.freeSlots, (row) => format.number(row.free)),
              column.number(t.soldPerDay, (row) => format.number(row.sold_per_day)),
              // A rate of one day does not tell the hour.
              column(
                t.runsOut,
                (row) => t.about(format.day(row.runs_out_at)),
                (row) => row.runs_out_at,
              ),
            ]}
          />
        </>
      )}
      {certificates.length > 0 && (
        <Facts of={certificates.map((each) => [t.certificate, format.moment(each.ends_at)])} />
      )}
    </>
  )
}
