import { Button, NumberInput, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { Choices } from '../../shared/choices.tsx'
import { Listing } from '../../shared/copy.tsx'
import { type Format, useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { Empty, Facts, Page, Panel, Reading } from '../../shared/parts.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { type Answer, usePurchase, useRead } from '../api.ts'
import { BuyNow } from '../money/buy-now.tsx'
import { dedicatedWords } from './words.ts'

type Kind = 3 | 4 | 6
type Wish = { readonly ipv: Kind; readonly country_code: string; readonly period: number; readonly count: number }
type Sold = Answer<'listCountries'>

/** A quote is asked for once the typing has stopped for so long. */
const settledMs = 200
const mostCount = 1000

/** The wish as the shop can sell it: a country and a term that this kind has. */
function within(wish: Wish, sold: Sold | undefined): Wish {
  const offered = sold?.countries ?? []
  const named = offered.find((each) => each.country_code === wish.country_code)
  const country = named ?? offered.find((each) => each.available > 0) ?? offered[0]
  const periods = sold?.periods ?? []
  const period = periods.includes(wish.period) ? wish.period : (periods.find((each) => each >= 30) ?? periods[0])
  return { ...wish, country_code: country?.country_code ?? '', period: period ?? 0 }
}

const isWhole = ({ country_code, period, count }: Wish): boolean =>
  country_code !== '' && period > 0 && Number.isInteger(count) && count >= 1 && count <= mostCount

export function BuyDedicated() {
  const words = useWords(dedicatedWords)
  const format = useFormat()
  const [wished, setWish] = useState<Wish>({ ipv: 4, country_code: '', period: 30, count: 1 })
  const sold = useRead('listCountries', { query: { ipv: wished.ipv } }, { everyMs: 15_000 })
  const purchase = usePurchase('buyDedicated')
  const isCurrent = sold.data?.ipv === wished.ipv
  const wish = within(wished, isCurrent ? sold.data : undefined)
  const set = (change: Partial<Wish>) => setWish({ ...wish, ...change })
  if (purchase.data) return <Bought bought={purchase.data} onAgain={purchase.reset} />
  return (
    <Page title={words.buyTitle} about={words.buyAbout}>
      <div className="buying">
        <Panel className="stack wide">
          <Choices<Kind>
            legend={words.kind}
            value={wish.ipv}
            options={([4, 3, 6] as const).map((value) => ({
              value,
              label: words.kinds[value],
              note: words.kindsAbout[value],
            }))}
            onChange={(ipv) => set({ ipv })}
          />
          <Reading of={sold}>
            {({ countries, periods }) =>
              countries.length === 0 ? (
                <Empty icon="globe" title={words.outOf} about={words.outOfAbout} />
              ) : (
                <>
                  <Countries wish={wish} countries={countries} onChoose={(country_code) => set({ country_code })} />
                  <Choices
                    isNarrow
                    legend={words.period}
                    value={wish.period}
                    options={periods.map((value) => ({ value, label: words.days(value, format) }))}
                    onChange={(period) => set({ period })}
                  />
                  <NumberInput
                    label={words.count}
                    value={Number.isNaN(wish.count) ? '' : wish.count}
                    min={1}
                    max={mostCount}
                    allowDecimal={false}
                    allowNegative={false}
                    maw="10rem"
                    onChange={(count) => set({ count: count === '' ? Number.NaN : Number(count) })}
                  />
                </>
              )
            }
          </Reading>
        </Panel>
        <Quote wish={wish} purchase={purchase} />
      </div>
    </Page>
  )
}

function Countries({
  wish,
  countries,
  onChoose,
}: {
  readonly wish: Wish
  readonly countries: Sold['countries']
  readonly onChoose: (code: string) => void
}) {
  const words = useWords(dedicatedWords)
  const format = useFormat()
  return (
    <Choices
      legend={words.country}
      value={wish.country_code}
      options={countries.map(({ country_code: value, available }) => ({
        value,
        label: (
          <>
            <span className="code">{value}</span> {format.country(value)}
          </>
        ),
        note: available > 0 ? words.available(available, format) : words.soldOut,
        isDisabled: available === 0,
      }))}
      onChange={onChoose}
    />
  )
}

type Purchase = ReturnType<typeof usePurchase<'buyDedicated'>>

/** The price as it is now, and the button. What stands in the way is said before it is pressed. */
function Quote({ wish, purchase }: { readonly wish: Wish; readonly purchase: Purchase }) {
  const words = useWords(dedicatedWords)
  const format = useFormat()
  const [settled] = useDebouncedValue(wish, settledMs)
  const quote = useRead('quoteDedicated', { query: settled }, { isWanted: isWhole(settled) })
  const balance = useRead('getBalance').data?.balance_rub
  const isCurrent = quote.data !== undefined && !quote.isPlaceholderData && isSame(wish, quote.data)
  const problem = isCurrent ? findProblem(quote.data, balance, words, format) : undefined
  return (
    <Panel className="stack quote" title={words.total}>
      <div aria-live="polite" className={isCurrent ? 'stack' : 'stack settling'}>
        <Reading of={quote} height={150}>
          {(price) => (
            <>
              <span className="price">{format.money(price.price_rub)}</span>
              <Facts
                of={[
                  [words.perProxy, format.money(price.price_per_proxy_rub)],
                  ...(price.discount_percent > 0
                    ? [[words.discount, `${format.number(price.discount_percent)} %`] as const]
                    : []),
                  ...(balance === undefined || balance < price.price_rub
                    ? []
                    : [[words.after, format.exactMoney(balance - price.price_rub)] as const]),
                ]}
              />
            </>
          )}
        </Reading>
        {problem !== undefined && <Text size="sm">{problem}</Text>}
      </div>
      <Button
        size="md"
        disabled={!isCurrent || problem !== undefined}
        loading={purchase.isPending}
        onClick={() => purchase.buy(wish)}
      >
        {words.buy(format.money(quote.data?.price_rub ?? 0))}
      </Button>
      <RefusalNotice error={purchase.error} onAgain={() => purchase.buy(wish)} />
      <BuyNow
        price={isCurrent && quote.data.available >= wish.count ? quote.data.price_rub : undefined}
        wish={{ product: 'dedicated', ...wish }}
      />
    </Panel>
  )
}

const isSame = (wish: Wish, price: Answer<'quoteDedicated'>): boolean =>
  wish.ipv === price.ipv &&
  wish.country_code === price.country_code &&
  wish.period === price.period &&
  wish.count === price.count

function findProblem(
  price: Answer<'quoteDedicated'>,
  balance: number | undefined,
  words: (typeof dedicatedWords)['en'],
  format: Format,
): string | undefined {
  if (price.available < price.count) return words.notEnough(format.number(price.available))
  return balance !== undefined && balance < price.price_rub ? words.tooPoor : undefined
}

function Bought({ bought, onAgain }: { readonly bought: Answer<'buyDedicated'>; readonly onAgain: () => void }) {
  const words = useWords(dedicatedWords)
  const format = useFormat()
  const { proxies } = bought
  const lines = proxies.map(({ ip, port, username, password }) => `${ip}:${port}:${username}:${password ?? ''}`)
  const [first] = proxies
  return (
    <Page
      title={words.bought}
      about={words.boughtAbout(words.shown(proxies.length, format), format.money(bought.price_rub))}
    >
      <Panel className="stack">
        <Listing text={lines.join('\n')} label={words.title} />
        <div className="line">
          <Button component="a" href="#/dedicated">
            {words.toList}
          </Button>
          {first && (
            <Button component="a" variant="default" href={`#/dedicated/${first.id}`}>
              {words.use}
            </Button>
          )}
          <Button variant="subtle" onClick={onAgain}>
            {words.another}
          </Button>
        </div>
      </Panel>
    </Page>
  )
}
