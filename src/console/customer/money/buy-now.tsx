import { Button, NativeSelect, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { PaymentMethod } from '../../client/customer.ts'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { useRead } from '../api.ts'
import { Paying } from './paying.tsx'
import { comeBackTo, useBeginning, useMethods } from './payments.ts'
import { moneyWords } from './words.ts'

/** What is to be bought as soon as it is paid for: a product, with the fields of its purchase. */
type Wish = Readonly<Record<string, unknown>> & { readonly product: 'dedicated' | 'traffic' | 'vpn' }

type Props = { readonly price: number | undefined; readonly wish: Wish }

/** For whoever has too little: what is missing is paid, and the purchase follows by itself at the price shown. */
export function BuyNow({ price, wish }: Props) {
  const methods = useMethods()
  const balance = useRead('getBalance').data?.balance_rub
  const beginning = useBeginning()
  if (beginning.data) return <Paying begun={beginning.data} onAnother={beginning.reset} />
  if (price === undefined || balance === undefined || balance >= price || methods.length === 0) return null
  return (
    <Offer methods={methods} missing={Math.round((price - balance) * 100) / 100} wish={wish} beginning={beginning} />
  )
}

type OfferProps = {
  readonly methods: readonly PaymentMethod[]
  readonly missing: number
  readonly wish: Wish
  readonly beginning: ReturnType<typeof useBeginning>
}

function Offer({ methods, missing, wish, beginning }: OfferProps) {
  const words = useWords(moneyWords)
  const format = useFormat()
  const [chosen, setChosen] = useState('')
  const [email, setEmail] = useState('')
  const able = methods.filter((each) => each.max_rub >= missing)
  const method = able.find((each) => each.method === chosen) ?? able[0]
  if (method === undefined) return null
  const amount = Math.max(missing, method.min_rub)
  const begin = () =>
    beginning.begin({
      amount_rub: amount,
      method: method.method,
      return_url: comeBackTo(),
      ...(method.email && { email: email.trim() }),
      // It is what the API calls it; nothing here is a promise.
      // oxlint-disable-next-line unicorn/no-thenable
      then: wish,
    })
  return (
    <div className="stack">
      {able.length > 1 && (
        <NativeSelect
          label={words.method}
          value={method.method}
          data={able.map((each) => ({ value: each.method, label: each.name }))}
          onChange={(event) => setChosen(event.currentTarget.value)}
        />
      )}
      {method.email && (
        <TextInput
          type="email"
          label={words.email}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
      )}
      <Button size="md" loading={beginning.isPending} onClick={begin}>
        {words.buyNow(format.money(amount))}
      </Button>
      {method.fee_percent > 0 && (
        <Text size="sm" c="dimmed">
          {words.fee(format.number(method.fee_percent))}
        </Text>
      )}
      <RefusalNotice error={beginning.error} onAgain={begin} />
    </div>
  )
}
