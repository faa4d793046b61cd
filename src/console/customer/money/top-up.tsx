import { Button, NativeSelect, NumberInput, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Form, useTyped } from '../../shared/form.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { useNow } from '../../shared/now.ts'
import { Panel } from '../../shared/parts.tsx'
import { toPicture } from '../../shared/picture.ts'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { type Method, type Payment, useBeginning, useMethods, usePayment } from './payments.ts'
import { moneyWords } from './words.ts'

/** Money comes in here, where the shop takes it. */
export function TopUp() {
  const methods = useMethods()
  const beginning = useBeginning()
  if (methods.length === 0) return null
  return beginning.data ? (
    <Paying begun={beginning.data} onAnother={beginning.reset} />
  ) : (
    <Wish methods={methods} beginning={beginning} />
  )
}

type Beginning = ReturnType<typeof useBeginning>

function Wish({ methods, beginning }: { readonly methods: readonly Method[]; readonly beginning: Beginning }) {
  const words = useWords(moneyWords)
  const format = useFormat()
  const [amount, setAmount] = useState<number | string>(1000)
  const [chosen, setChosen] = useState(methods[0]?.method ?? '')
  const email = useTyped()
  const method = methods.find((each) => each.method === chosen) ?? methods[0]
  if (method === undefined) return null
  const body = {
    amount_rub: Number(amount),
    method: method.method,
    ...(method.email === true && { email: email.text }),
  }
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
        {method.email === true && <TextInput type="email" label={words.email} {...email.props} />}
        <Button type="submit" disabled={!isWithin} loading={beginning.isPending}>
          {words.pay}
        </Button>
      </Form>
      <Text size="sm" c="dimmed">
        {words.limits(format.money(method.min_rub), format.money(method.max_rub))}
        {method.fee_percent > 0 && ` ${words.fee(format.number(method.fee_percent))}`}
      </Text>
      <RefusalNotice error={beginning.error} onAgain={() => beginning.begin(body)} />
    </Panel>
  )
}

/** What a code holds, drawn here: the drawing program comes when somebody pays. */
const draw = async (text: string): Promise<string> => (await import('qr')).encodeQR(text, 'svg')

function Paying({ begun, onAnother }: { readonly begun: Payment; readonly onAnother: () => void }) {
  const words = useWords(moneyWords)
  const format = useFormat()
  const payment = usePayment(begun)
  const another = (
    <Button variant="default" onClick={onAnother}>
      {words.another}
    </Button>
  )
  if (payment.status !== 'pending') {
    const isPaid = payment.status === 'paid'
    return (
      <Panel title={words.topUp} className="stack">
        <div role="status" className={isPaid ? 'notice good' : 'notice warn'}>
          {isPaid ? words.paid(format.money(payment.amount_rub)) : words.ended[payment.status]}
        </div>
        <div>{another}</div>
      </Panel>
    )
  }
  return (
    <Panel title={words.payTitle(format.money(payment.to_pay_rub ?? payment.amount_rub))} className="stack">
      {payment.qr !== null && <Code text={payment.qr} />}
      <Left until={payment.expires_at} />
      <div className="line">
        {payment.pay_url !== null && (
          <Button component="a" href={payment.pay_url} target="_blank" rel="noopener">
            {words.openPay}
          </Button>
        )}
        {another}
      </div>
    </Panel>
  )
}

function Code({ text }: { readonly text: string }) {
  const words = useWords(moneyWords)
  const drawn = useQuery({ queryKey: ['qr', text], queryFn: () => draw(text) })
  return drawn.data === undefined ? null : (
    <img className="qr" src={toPicture(drawn.data)} alt={words.payCode} width="240" height="240" />
  )
}

/** Minutes and seconds that are left, counted down. */
function Left({ until }: { readonly until: string }) {
  const words = useWords(moneyWords)
  const nowAt = useNow(1_000)
  const seconds = Math.max(0, Math.floor((Date.parse(until) - nowAt) / 1_000))
  const shown = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  return (
    <Text ta="center" c="dimmed">
      {words.waiting} <span className="mono">{shown}</span>
    </Text>
  )
}
