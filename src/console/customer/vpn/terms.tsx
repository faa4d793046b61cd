import { Choices } from '../../shared/choices.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { type Answer, useRead } from '../api.ts'
import { vpnWords } from './words.ts'

type Prices = Extract<Answer<'quoteVpn'>, { prices: unknown }>['prices']

/** What a subscription costs, for each term that is sold. */
export function usePrices() {
  const { data, error, refetch } = useRead('quoteVpn')
  return {
    data: data && 'prices' in data ? data.prices : undefined,
    isCarried: data?.available ?? true,
    error,
    refetch,
  }
}

export function TermChoice({
  prices,
  value,
  onChange,
}: {
  readonly prices: Prices
  readonly value: number
  readonly onChange: (months: number) => void
}) {
  const words = useWords(vpnWords)
  const format = useFormat()
  return (
    <Choices
      legend={words.term}
      value={value}
      options={prices.map(({ period, price_rub, price_per_month_rub }) => ({
        value: period,
        label: (
          <>
            {words.months(period, format)}
            <br />
            <strong>{format.money(price_rub)}</strong>
          </>
        ),
        note: words.perMonth(format.money(price_per_month_rub)),
      }))}
      onChange={onChange}
    />
  )
}
