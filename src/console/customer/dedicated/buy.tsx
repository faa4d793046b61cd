import { Button, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import type { Payment } from '../../client/customer.ts'
import { Choices } from '../../shared/form.tsx'
import { type Format, useMessages } from '../../shared/messages.tsx'
import { NumberField } from '../../shared/number-field.tsx'
import { Empty, Facts, Flag, Hint, Page, Panel, Reading, RefusalNotice } from '../../shared/parts.tsx'
import { type CustomerAnswer, quoteEveryMs, usePurchase, useRead } from '../api.ts'
import { BuyNow, PaidPurchase } from '../money/pay.tsx'
import { dedicatedMessages } from './messages.ts'
import { OrderedProxies, ProxiesResult } from './result.tsx'

type Kind = 3 | 4 | 6
type DedicatedOrder = Readonly<{ ipv: Kind; country_code: string; period: number; count: number }>
type Sold = CustomerAnswer<'listCountries'>

const maxCount = 1000
const allKinds = [4, 3, 6] as const

/** The kinds with a price; all of them until the shop has answered. */
function useSoldKinds(): readonly Kind[] {
  const isSold: Readonly<Record<Kind, boolean>> = { 4: useIsSold(4), 3: useIsSold(3), 6: useIsSold(6) }
  return allKinds.filter((kind) => isSold[kind])
}

const useIsSold = (ipv: Kind): boolean => useRead('listCountries', { query: { ipv } }).data?.countries.length !== 0

/** The order with a country and a term that the shop sells of this kind. */
function within(order: DedicatedOrder, sold: Sold | undefined): DedicatedOrder {
  const offered = sold?.countries ?? []
  const named = offered.find((each) => each.country_code === order.country_code)
  const country = named ?? offered.find((each) => each.available > 0) ?? offered[0]
  const periods = sold?.periods ?? []
  const period = periods.includes(order.period) ? order.period : (periods.find((each) => each >= 30) ?? periods[0])
  return { ...order, country_code: country?.country_code ?? '', period: period ?? 0 }
}

const isWhole = ({ country_code, period, count }: DedicatedOrder): boolean =>
  country_code !== '' && period > 0 && Number.isInteger(count) && count >= 1 && count <= maxCount

export function BuyDedicated() {
  const { t, format } = useMessages(dedicatedMessages)
  const [typed, setOrder] = useState<DedicatedOrder>({ ipv: 4, country_code: '', period: 30, count: 1 })
  const kinds = useSoldKinds()
  const chosen = kinds.includes(typed.ipv) ? typed : { ...typed, ipv: kinds[0] ?? typed.ipv }
  const sold = useRead('listCountries', { query: { ipv: chosen.ipv } }, { everyMs: 15_000 })
  const purchase = usePurchase('buyDedicated')
  const [paid, setPaid] = useState<Payment>()
  const isCurrent = sold.data?.ipv === chosen.ipv
  const order = within(chosen, isCurrent ? sold.data : undefined)
  const set = (change: Partial<DedicatedOrder>) => setOrder({ ...order, ...change })
  if (purchase.data) return <Bought bought={purchase.data} onAgain={purchase.reset} />
  if (paid) return <PaidProxies payment={paid} onAgain={() => setPaid(undefined)} />
  return (
    <Page title={t.buyTitle} about={t.buyAbout}>
      <div className="buying">
        <Panel className="stack wide">
          {kinds.length > 0 && (
            <Choices<Kind>
              legend={t.kind}
              value={order.ipv}
              options={kinds.map((value) => ({ value, label: t.kinds[value], note: t.kindsAbout[value] }))}
              onChange={(ipv) => set({ ipv })}
            />
          )}
          <Reading of={sold}>
            {({ countries, periods }) =>
              countries.length === 0 ? (
                <Empty icon="globe" title={t.outOf} about={t.outOfAbout} />
              ) : (
                <>
                  <Countries order={order} countries={countries} onChoose={(country_code) => set({ country_code })} />
                  <Choices
                    isNarrow
                    legend={t.period}
                    value={order.period}
                    options={periods.map((value) => ({ value, label: t.days(value, format) }))}
                    onChange={(period) => set({ period })}
                  />
                  <NumberField
                    label={t.count}
                    value={order.count}
                    min={1}
                    max={maxCount}
                    allowDecimal={false}
                    allowNegative={false}
                    maw="10rem"
                    onChange={(count) => set({ count })}
                  />
                </>
              )
            }
          </Reading>
        </Panel>
        <Quote order={order} purchase={purchase} onPaid={setPaid} />
      </div>
    </Page>
  )
}

function PaidProxies(props: { readonly payment: Payment; readonly onAgain: () => void }) {
  const { t } = useMessages(dedicatedMessages)
  return (
    <Page title={t.bought}>
      <PaidPurchase {...props}>{(order) => <OrderedProxies order={order} />}</PaidPurchase>
    </Page>
  )
}

type CountriesProps = {
  readonly order: DedicatedOrder
  readonly countries: Sold['countries']
  readonly onChoose: (code: string) => void
}

function Countries({ order, countries, onChoose }: CountriesProps) {
  const { t, format } = useMessages(dedicatedMessages)
  return (
    <Choices
      legend={t.country}
      value={order.country_code}
      options={countries.map(({ country_code: value, available }) => ({
        value,
        label: (
          <>
            <Flag code={value} /> {format.country(value)}
          </>
        ),
        note: available > 0 ? t.available(format.number(available)) : t.soldOut,
        isDisabled: available === 0,
      }))}
      onChange={onChoose}
    />
  )
}

type Purchase = ReturnType<typeof usePurchase<'buyDedicated'>>

type QuoteProps = {
  readonly order: DedicatedOrder
  readonly purchase: Purchase
  readonly onPaid: (payment: Payment) => void
}

/** The price now, and the button, which is disabled with a reason if the purchase would be refused. */
function Quote({ order, purchase, onPaid }: QuoteProps) {
  const { t, format } = useMessages(dedicatedMessages)
  const [settled] = useDebouncedValue(order, 200)
  const quote = useRead('quoteDedicated', { query: settled }, { isWanted: isWhole(settled), everyMs: quoteEveryMs })
  const balance = useRead('getBalance').data?.balance_rub
  const isCurrent = quote.data !== undefined && !quote.isPlaceholderData && isSame(order, quote.data)
  const buy = () => quote.data && purchase.buy({ ...order, max_price_rub: quote.data.price_rub })
  const problem = isCurrent ? findProblem(quote.data, balance, t, format) : undefined
  return (
    <Panel className={problem === undefined ? 'stack quote reached' : 'stack quote'} title={t.total}>
      <div aria-live="polite" className={isCurrent ? 'stack' : 'stack settling'}>
        <Reading of={quote} height={60}>
          {(price) => (
            <>
              <span className="price">{format.money(price.price_rub)}</span>
              {price.discount_percent > 0 && <Discount of={price} />}
              <Facts
                of={[
                  [t.perProxy, format.money(price.price_per_proxy_rub)],
                  balance !== undefined &&
                    balance >= price.price_rub && [t.after, format.exactMoney(balance - price.price_rub)],
                ]}
              />
            </>
          )}
        </Reading>
        {problem !== undefined && <Text size="sm">{problem}</Text>}
      </div>
      <Button size="md" disabled={!isCurrent || problem !== undefined} loading={purchase.isPending} onClick={buy}>
        {t.buyFor(quote.data === undefined ? '…' : format.money(quote.data.price_rub))}
      </Button>
      <RefusalNotice error={purchase.error} onAgain={buy} />
      <BuyNow
        price={isCurrent && quote.data.available >= order.count ? quote.data.price_rub : undefined}
        order={{ product: 'dedicated', ...order }}
        onBought={onPaid}
      />
    </Panel>
  )
}

/** The price without the discount, the discount and its reasons: the term, the count or both. */
function Discount({ of }: { readonly of: CustomerAnswer<'quoteDedicated'> }) {
  const { t, format } = useMessages(dedicatedMessages)
  const { country_code, period, count, ipv } = of
  const single = { country_code, period, count: 1, ipv: ipv as Kind }
  const termPercent = useRead('quoteDedicated', { query: single }).data?.discount_percent
  if (termPercent === undefined) return null
  const [term, proxies] = [t.days(period, format), t.shown(count, format)]
  const both = termPercent > 0 ? t.and(term, proxies) : proxies
  const reason = t.discountFor(count === 1 || termPercent === of.discount_percent ? term : both)
  const percent = format.percent(of.discount_percent)
  return <Hint>{t.discount(format.money(of.full_price_rub), percent, reason, format.money(of.price_rub))}</Hint>
}

const isSame = (order: DedicatedOrder, price: CustomerAnswer<'quoteDedicated'>): boolean =>
  order.ipv === price.ipv &&
  order.country_code === price.country_code &&
  order.period === price.period &&
  order.count === price.count

function findProblem(
  price: CustomerAnswer<'quoteDedicated'>,
  balance: number | undefined,
  t: (typeof dedicatedMessages)['en'],
  format: Format,
): string | undefined {
  if (price.available < price.count) return t.notEnough(format.number(price.available))
  return balance !== undefined && balance < price.price_rub ? t.tooPoor : undefined
}

type BoughtProps = { readonly bought: CustomerAnswer<'buyDedicated'>; readonly onAgain: () => void }

function Bought({ bought, onAgain }: BoughtProps) {
  const { t, format } = useMessages(dedicatedMessages)
  const { proxies, price_rub } = bought
  return (
    <Page title={t.bought} about={t.boughtAbout(t.shown(proxies.length, format), format.money(price_rub))}>
      <ProxiesResult proxies={proxies}>
        <div className="line">
          <Button component="a" href="#/dedicated">
            {t.toList}
          </Button>
          <Button variant="subtle" onClick={onAgain}>
            {t.another}
          </Button>
        </div>
      </ProxiesResult>
    </Page>
  )
}
