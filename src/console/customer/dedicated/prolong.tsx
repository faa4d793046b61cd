import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import type { Proxy } from '../../client/customer.ts'
import { Choices } from '../../shared/choices.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { Facts, Reading } from '../../shared/parts.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { usePurchase, useRead } from '../api.ts'
import { dedicatedWords } from './words.ts'

/** By how many days these can be prolonged. */
export function useProlongPeriods(picked: readonly Proxy[]): readonly number[] {
  const ipv = (picked[0]?.ipv ?? 4) as 3 | 4 | 6
  return useRead('listCountries', { query: { ipv } }).data?.prolong_periods ?? []
}

/** A price for all of them together, and the button: all are prolonged, or none. */
export function ProlongForm({ picked, onDone }: { readonly picked: readonly Proxy[]; readonly onDone: () => void }) {
  const words = useWords(dedicatedWords)
  const format = useFormat()
  const periods = useProlongPeriods(picked)
  const [chosen, setChosen] = useState(30)
  const period = periods.includes(chosen) ? chosen : (periods[0] ?? 0)
  const ids = picked.map((each) => each.id)
  const quote = useRead('quoteProlonging', { query: { ids: ids.join(','), period } }, { isWanted: period > 0 })
  const purchase = usePurchase('prolongDedicated')
  const isCurrent = quote.data?.period === period && !quote.isPlaceholderData
  const [first] = quote.data?.items ?? []
  return (
    <div className="stack">
      <Text c="dimmed">{words.prolongAbout}</Text>
      <Choices
        isNarrow
        legend={words.period}
        value={period}
        options={periods.map((value) => ({ value, label: words.days(value, format) }))}
        onChange={setChosen}
      />
      <Reading of={quote} height={48}>
        {(price) => (
          <Facts
            of={[
              [words.price, <strong key="price">{format.money(price.total_price_rub)}</strong>],
              ...(picked.length === 1 && first ? [[words.until, format.moment(first.expires_at)] as const] : []),
            ]}
          />
        )}
      </Reading>
      <RefusalNotice error={purchase.error} />
      <Button disabled={!isCurrent} loading={purchase.isPending} onClick={() => purchase.buy({ ids, period }, onDone)}>
        {words.prolong}
      </Button>
    </div>
  )
}
