import { Button, NativeSelect, NumberInput, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import type { Payment, PaymentMethod } from '../../client/customer.ts'
import { Form, useTyped } from '../../shared/form.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { Panel } from '../../shared/parts.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { useRead } from '../api.ts'
import { Paying } from './paying.tsx'
import { comeBackTo, useBeginning, useMethods, useOpenPayment } from './payments.ts'
import { moneyWords } from './words.ts'

/** Money comes in here, where the shop takes it. */
export function TopUp() {
  const methods = useMethods()
  const beginning = useBeginning()
  const open = useOpenPayment()
  const [shown, setShown] = useState<Payment>()
  const [isPutAside, setPutAside] = useState(false)
  // What is shown stays until it is put aside: it says what has become of it.
  const found = beginning.data ?? shown ?? (isPutAside ? undefined : open)
  useEffect(() => {
    if (found !== undefined && shown === undefined && !isPutAside) setShown(found)
  }, [found, shown, isPutAside])
  if (methods.length === 0) return null
  const another = () => {
    beginning.reset()
    setShown(undefined)
    setPutAside(true)
  }
  return found ? (
    <Paying key={found.payment_id} begun={found} onAnother={another} />
  ) : (
    <Wish methods={methods} beginning={beginning} />
  )
}

type Beginning = ReturnType<typeof useBeginning>

/** What a code adds is asked for once the typing has stopped for so long. */
const settledMs = 300

function Wish({ methods, beginning }: { readonly methods: readonly PaymentMethod[]; readonly beginning: Beginning }) {
  const words = useWords(moneyWords)
  const format = useFormat()
  const [amount, setAmount] = useState<number | string>(1000)
  const [chosen, setChosen] = useState(methods[0]?.method ?? '')
  const email = useTyped()
  const code = useTyped()
  const method = methods.find((each) => each.method === chosen) ?? methods[0]
  if (method === undefined) return null
  const asked = { amount_rub: Number(amount), method: method.method, ...(code.text !== '' && { code: code.text }) }
  const body = { ...asked, return_url: comeBackTo(), ...(method.email && { email: email.text }) }
  const isWithin = Number(amount) >= method.min_rub && Number(amount) <= method.max_rub
  return (
    <Panel title={words.topUp} className="stack">
      <Form className="line fields" onSubmit={() => beginning.begin(body)}>
        <NumberInput
          label={words.topUpAmount}
          value={amount}
          min={method.min_rub}
          max={method.max_rub}
          decimalScale={2}
          allowNegative={false}
          w="10rem"
          onChange={setAmount}
        />
        <NativeSelect
          label={words.method}
          value={method.method}
          data={methods.map((each) => ({ value: each.method, label: each.name }))}
          onChange={(event) => setChosen(event.currentTarget.value)}
        />
        {method.email && <TextInput type="email" label={words.email} {...email.props} />}
        <TextInput label={words.code} autoComplete="off" maxLength={40} w="12rem" {...code.props} />
        <Button type="submit" disabled={!isWithin} loading={beginning.isPending}>
          {words.pay}
        </Button>
      </Form>
      <Text size="sm" c="dimmed">
        {words.limits(format.money(method.min_rub), format.money(method.max_rub))}
        {method.fee_percent > 0 && ` ${words.fee(format.number(method.fee_percent))}`}
      </Text>
      {isWithin && asked.code !== undefined && <Bonus asked={asked} />}
      <RefusalNotice error={beginning.error} onAgain={() => beginning.begin(body)} />
    </Panel>
  )
}

type Asked = { readonly amount_rub: number; readonly method: string; readonly code?: string }

/** What the code brings, before anything is paid; or why it brings nothing. */
function Bonus({ asked }: { readonly asked: Asked }) {
  const words = useWords(moneyWords)
  const format = useFormat()
  const [settled] = useDebouncedValue(asked, settledMs)
  const quote = useRead('quotePayment', { query: settled }, { isWanted: settled.code !== undefined })
  if (quote.error !== null) return <RefusalNotice error={quote.error} />
  if (quote.data === undefined || quote.isPlaceholderData) return null
  const { bonus_rub: bonus, balance_grows_rub: grows } = quote.data
  return (
    <div role="status" className="notice good">
      {words.bonus(format.exactMoney(bonus), format.exactMoney(grows))}
    </div>
  )
}
