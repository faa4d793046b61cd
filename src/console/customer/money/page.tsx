import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Transaction } from '../../client/customer.ts'
import { download, toCsv } from '../../shared/download.ts'
import { useFormat } from '../../shared/format.ts'
import { Icon } from '../../shared/icons.tsx'
import { useLanguage, useWords } from '../../shared/language.tsx'
import { sayNote } from '../../shared/notes.ts'
import { OrderLink } from '../../shared/orders.tsx'
import { Empty, Figure, Page, Panel, Reading } from '../../shared/parts.tsx'
import { Rows } from '../../shared/rows.tsx'
import { tradeWords } from '../../shared/trade-words.ts'
import { sharedWords } from '../../shared/words.ts'
import { useRead } from '../api.ts'
import { loadMovements, useMovements } from './movements.ts'
import { ReferralPanel } from './referral.tsx'
import { spentIn } from './spending.ts'
import { TopUp } from './top-up.tsx'
import { moneyWords } from './words.ts'

const month = 30 * 86_400_000

export function MoneyPage() {
  const words = useWords(moneyWords)
  return (
    <Page title={words.title} about={words.about}>
      <Figures />
      <TopUp />
      <ReferralPanel />
      <Movements />
    </Page>
  )
}

function Figures() {
  const words = useWords(moneyWords)
  const format = useFormat()
  const balance = useRead('getBalance').data
  const movements = useQuery({
    queryKey: ['listTransactions', 'month'],
    queryFn: () => loadMovements(Date.now() - month),
  }).data
  return (
    <div className="cards">
      <Panel>
        <Figure label={words.balance} value={balance ? format.exactMoney(balance.balance_rub) : '…'} />
      </Panel>
      <Panel>
        <Figure label={words.spent} value={movements ? format.exactMoney(spentIn(movements)) : '…'} />
      </Panel>
      <Panel>
        <Figure label={words.apiSpent} value={balance ? format.exactMoney(balance.api_spent_rub) : '…'} />
      </Panel>
    </div>
  )
}

async function downloadAll(): Promise<void> {
  const all = await loadMovements(0)
  const lines = all.map((each) => [
    each.id,
    each.created_at,
    each.kind,
    each.amount_rub,
    each.balance_after_rub,
    each.order_id,
    each.note,
  ])
  const head = ['id', 'created_at', 'kind', 'amount_rub', 'balance_after_rub', 'order_id', 'note']
  download('transactions.csv', toCsv([head, ...lines]), 'text/csv')
}

function Movements() {
  const words = useWords(moneyWords)
  const shared = useWords(sharedWords)
  const { language } = useLanguage()
  const trade = useWords(tradeWords)
  const format = useFormat()
  const pages = useMovements()
  const columns = [
    { name: 'when', label: words.when, show: (row: Transaction) => format.moment(row.created_at) },
    {
      name: 'what',
      label: words.what,
      isText: true,
      show: (row: Transaction) => (
        <span>
          {trade.kinds[row.kind] ?? row.kind}
          {row.note !== '' && <small>{sayNote(row.note, language, format)}</small>}
        </span>
      ),
    },
    {
      name: 'order',
      label: words.order,
      show: (row: Transaction) => row.order_id !== null && <OrderLink id={row.order_id} />,
    },
    {
      name: 'amount',
      label: words.amount,
      isFigure: true,
      show: (row: Transaction) => (
        <span className={row.amount_rub > 0 ? 'plus' : ''}>
          {row.amount_rub > 0 ? '+' : ''}
          {format.exactMoney(row.amount_rub)}
        </span>
      ),
    },
    {
      name: 'after',
      label: words.after,
      isFigure: true,
      show: (row: Transaction) => format.exactMoney(row.balance_after_rub),
    },
  ]
  return (
    <Panel
      title={words.transactions}
      aside={
        <Button
          variant="default"
          size="xs"
          leftSection={<Icon name="download" size={15} />}
          onClick={() => void downloadAll()}
        >
          {words.csv}
        </Button>
      }
    >
      <Reading of={pages} height={280}>
        {({ pages: loaded }) => {
          const rows = loaded.flatMap((page) => page.transactions)
          if (rows.length === 0) return <Empty icon="wallet" title={words.none} about={words.noneAbout} />
          return (
            <div className="stack">
              <Rows label={words.transactions} columns={columns} rows={rows} keyOf={(row) => row.id} />
              {pages.hasNextPage && (
                <Button variant="default" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
                  {shared.more}
                </Button>
              )}
            </div>
          )
        }}
      </Reading>
    </Panel>
  )
}

/** The end of a number is what tells it from others. */
