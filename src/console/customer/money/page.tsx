import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { download, toCsv } from '../../shared/browser.ts'
import { Copyable } from '../../shared/copy.tsx'
import { Select } from '../../shared/form.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { sayNote } from '../../shared/notes.tsx'
import { OrderLink } from '../../shared/orders.tsx'
import {
  Cell,
  CsvButton,
  Empty,
  Facts,
  Figures,
  Hint,
  Page,
  PagedRows,
  Panel,
  Reading,
  RefusalNotice,
  Rows,
} from '../../shared/parts.tsx'
import { tradeMessages } from '../../shared/trade.ts'
import { type CustomerAnswer, loadPages, useChange, usePages, useRead } from '../api.ts'
import { moneyMessages } from './messages.ts'
import { loadMovements, pageSize, useMonthMovements } from './movements.ts'
import { TopUp } from './pay.tsx'
import { monthsUntil, spentByProduct, spentIn } from './spending.ts'

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
      <ByProduct />
      <Movements />
    </Page>
  )
}

const maxMonthPages = 200
const shownMonths = 12

/** The product of each of these orders. Pages are read until all of them are found. */
async function loadProducts(ids: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
  const products = new Map<string, string>()
  if (ids.size === 0) return products
  await loadPages('listOrders', { query: { limit: pageSize } }, maxMonthPages, ({ order_id, product }) => {
    if (ids.has(order_id)) products.set(order_id, product)
    return products.size < ids.size
  })
  return products
}

async function loadMonth(fromAt: number) {
  const since = await loadMovements(fromAt, maxMonthPages)
  const from = new Date(fromAt)
  const untilAt = new Date(from.getFullYear(), from.getMonth() + 1, 1).getTime()
  const movements = since.filter((each) => Date.parse(each.created_at) < untilAt)
  const ids = new Set(movements.flatMap((each) => (each.kind === 'credit' ? [] : (each.order_id ?? []))))
  const rows = spentByProduct(movements, await loadProducts(ids))
  return { rows, isCut: since.length >= pageSize * maxMonthPages }
}

/** Charges and refunds of a month by product. */
function ByProduct() {
  const { t, format, language } = useMessages(moneyMessages)
  const { t: trade } = useMessages(tradeMessages)
  const months = useMemo(() => monthsUntil(Date.now(), shownMonths), [])
  const [fromAt, setFrom] = useState(months[0] ?? 0)
  const spent = useQuery({ queryKey: ['listTransactions', 'products', fromAt], queryFn: () => loadMonth(fromAt) })
  const written = new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric' })
  const nameOf = (product: string) =>
    product === 'total' ? t.sum : product === '' ? t.noProduct : (trade.products[product] ?? product)
  const choice = (
    <Select
      aria-label={t.month}
      size="xs"
      value={String(fromAt)}
      options={months.map((at) => [String(at), written.format(at).replace(/\s*г\.$/, '')] as const)}
      onChange={(value) => setFrom(Number(value))}
    />
  )
  return (
    <Panel title={t.byProduct} aside={choice} className="stack">
      <Reading of={spent}>
        {({ rows, isCut }) => (
          <>
            {isCut && <Hint>{t.tooMany(format.number(pageSize * maxMonthPages))}</Hint>}
            <Rows
              label={t.byProduct}
              isSortable={false}
              rows={rows.length === 1 ? [] : rows}
              keyOf={(row) => row.product}
              empty={<Text c="dimmed">{t.nothingInMonth}</Text>}
              columns={(column) => [
                column(t.product, (row) => nameOf(row.product)),
                column.amount(t.charged, (row) => row.charged, format.exactMoney),
                column.amount(t.refunded, (row) => row.refunded, format.exactMoney),
                column.number(
                  t.net,
                  (row) => <strong>{format.exactMoney(row.net)}</strong>,
                  (row) => row.net,
                ),
              ]}
            />
          </>
        )}
      </Reading>
    </Panel>
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
        hasCsv={false}
        of={usePages('listTransactions', { query: { limit: 100 } })}
        height={280}
        isWide
        keyOf={(row) => row.id}
        empty={<Empty icon="wallet" title={t.none} about={t.noneAbout} to={['#/', t.choose]} />}
        columns={(column) => [
          column.value(t.when, (row) => row.created_at, format.moment),
          column.text(t.what, (row) => (
            <Cell note={sayNote(row.note, language)}>{trade.kinds[row.kind] ?? row.kind}</Cell>
          )),
          column(t.order, (row) => (
            <>
              {row.order_id !== null && <OrderLink id={row.order_id} />}
              {row.order_id === null && row.payment_id !== null && (
                <a href={`#/payments/${row.payment_id}`}>{t.receipt}</a>
              )}
            </>
          )),
          column.number(t.amount, (row) => (
            <span className={row.amount_rub > 0 ? 'plus' : ''}>
              {row.amount_rub > 0 ? '+' : ''}
              {format.exactMoney(row.amount_rub)}
            </span>
          )),
          column.amount(t.after, (row) => row.balance_after_rub, format.exactMoney),
        ]}
      />
    </Panel>
  )
}
