import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Transaction } from '../../client/customer.ts'
import { download, toCsv } from '../../shared/browser.ts'
import { Copyable } from '../../shared/copy.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { sayNote } from '../../shared/notes.ts'
import { OrderLink } from '../../shared/orders.tsx'
import { Cell, CsvButton, Empty, Facts, Figures, Page, PagedRows, Panel, RefusalNotice } from '../../shared/parts.tsx'
import { tradeMessages } from '../../shared/trade.ts'
import { type CustomerAnswer, loadPages, useChange, usePages, useRead } from '../api.ts'
import { moneyMessages } from './messages.ts'
import { TopUp } from './pay.tsx'
import { days, spentIn } from './spending.ts'

/** The movements since a time, newest first; at most 10,000. */
const loadMovements = (sinceAt: number): Promise<readonly Transaction[]> =>
  loadPages('listTransactions', { query: { limit: 500 } }, 20, (each) => Date.parse(each.created_at) >= sinceAt)

export const useMonthMovements = () =>
  useQuery({
    queryKey: ['listTransactions', 'month'],
    queryFn: () => loadMovements(Date.now() - days * 86_400_000),
  })

export function MoneyPage() {
  const { t, format } = useMessages(moneyMessages)
  const balance = useRead('getBalance').data
  const movements = useMonthMovements().data
  return (
    <Page title={t.title} about={t.about}>
      <Figures
        of={[
          [t.balance, balance && format.exactMoney(balance.balance_rub)],
          [t.spent, movements && format.exactMoney(spentIn(movements))],
          [t.apiSpent, balance && format.exactMoney(balance.api_spent_rub)],
        ]}
      />
      <TopUp />
      <ReferralPanel />
      <Movements />
    </Page>
  )
}

function ReferralPanel() {
  const { t, format } = useMessages(moneyMessages)
  const found = useRead('getReferral').data
  const making = useChange('makeReferralCode')
  if (!found || found.terms === null) return null
  const { percent, top_ups: topUps } = found.terms
  return (
    <Panel title={t.referral} className="stack">
      <Text c="dimmed">{t.referralAbout(format.percent(percent), t.topUps(topUps, format))}</Text>
      {found.code === null ? (
        <div>
          <Button loading={making.isPending} onClick={() => making.mutate({})}>
            {t.referralGet}
          </Button>
        </div>
      ) : (
        <Referral of={found} />
      )}
      <RefusalNotice error={making.error} />
    </Panel>
  )
}

function Referral({ of: { code, link, brought, earned_rub } }: { readonly of: CustomerAnswer<'getReferral'> }) {
  const { t, format } = useMessages(moneyMessages)
  const [label, text] = link === null ? [t.referralCode, code ?? ''] : [t.referralLink, link]
  return (
    <>
      <Facts
        of={[
          [label, <Copyable text={text} label={label} />],
          [t.brought, format.number(brought)],
          [t.earned, format.exactMoney(earned_rub)],
        ]}
      />
      {link === null && <Text c="dimmed">{t.referralTell}</Text>}
    </>
  )
}

const csvColumns = ['id', 'created_at', 'kind', 'amount_rub', 'balance_after_rub', 'order_id', 'note'] as const

async function downloadAll(): Promise<void> {
  const lines = (await loadMovements(0)).map((each) => csvColumns.map((name) => each[name]))
  download('transactions.csv', toCsv([csvColumns, ...lines]), 'text/csv')
}

function Movements() {
  const { t, format, language } = useMessages(moneyMessages)
  const { t: trade } = useMessages(tradeMessages)
  return (
    <Panel title={t.transactions} aside={<CsvButton label={t.csv} onClick={() => void downloadAll()} />}>
      <PagedRows
        label={t.transactions}
        of={usePages('listTransactions', { query: { limit: 100 } })}
        height={280}
        isWide
        keyOf={(row) => row.id}
        empty={<Empty icon="wallet" title={t.none} about={t.noneAbout} />}
        columns={(column) => [
          column(t.when, (row) => format.moment(row.created_at)),
          column.text(t.what, (row) => (
            <Cell note={sayNote(row.note, language)}>{trade.kinds[row.kind] ?? row.kind}</Cell>
          )),
          column(t.order, (row) => row.order_id !== null && <OrderLink id={row.order_id} />),
          column.number(t.amount, (row) => (
            <span className={row.amount_rub > 0 ? 'plus' : ''}>
              {row.amount_rub > 0 ? '+' : ''}
              {format.exactMoney(row.amount_rub)}
            </span>
          )),
          column.number(t.after, (row) => format.exactMoney(row.balance_after_rub)),
        ]}
      />
    </Panel>
  )
}
