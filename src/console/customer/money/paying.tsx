import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Payment } from '../../client/customer.ts'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { useNow } from '../../shared/now.ts'
import { Panel } from '../../shared/parts.tsx'
import { toPicture } from '../../shared/picture.ts'
import { usePayment } from './payments.ts'
import { moneyWords } from './words.ts'

/** A payment while it is made, and what has become of it: the page turns by itself. */
export function Paying({ begun, onAnother }: { readonly begun: Payment; readonly onAnother: () => void }) {
  const words = useWords(moneyWords)
  const format = useFormat()
  const payment = usePayment(begun)
  const another = (
    <Button variant="default" onClick={onAnother}>
      {words.another}
    </Button>
  )
  if (payment.status !== 'pending') return <Ended payment={payment}>{another}</Ended>
  return (
    <Panel title={words.payTitle(format.money(payment.to_pay_rub))} className="stack">
      {payment.qr !== null && <Code text={payment.qr} />}
      <Left until={payment.expires_at} />
      {payment.then && <Text ta="center">{words.thenBuys(format.money(payment.then.price_rub))}</Text>}
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

function Ended({ payment, children }: { readonly payment: Payment; readonly children: React.ReactNode }) {
  const words = useWords(moneyWords)
  const format = useFormat()
  const isPaid = payment.status === 'paid'
  return (
    <Panel title={words.topUp} className="stack">
      <div role="status" className={isPaid ? 'notice good' : 'notice warn'}>
        {isPaid ? words.paid(format.money(payment.amount_rub)) : words.ended[payment.status]}
      </div>
      {payment.then && <Purchase of={payment.then} />}
      <div className="line">{children}</div>
    </Panel>
  )
}

const places: Readonly<Record<string, string>> = { dedicated: '#/dedicated', traffic: '#/premium', vpn: '#/vpn' }

/** What has become of the purchase that a payment was made for. */
function Purchase({ of }: { readonly of: NonNullable<Payment['then']> }) {
  const words = useWords(moneyWords)
  if (of.state === 'waiting') return <Text>{words.thenWaits}</Text>
  if (of.state !== 'bought') {
    return (
      <div role="status" className="notice warn">
        {words.thenNot} {of.problem}
      </div>
    )
  }
  return (
    <div role="status" className="notice good">
      {words.thenBought} <a href={places[of.product] ?? '#/orders'}>{words.toBought}</a>
    </div>
  )
}

/** What a code holds, drawn here: the drawing program comes when somebody pays. */
const draw = async (text: string): Promise<string> => (await import('qr')).encodeQR(text, 'svg')

function Code({ text }: { readonly text: string }) {
  const words = useWords(moneyWords)
  const drawn = useQuery({ queryKey: ['qr', text], queryFn: () => draw(text) })
  return drawn.data === undefined ? null : (
    <img className="qr" src={toPicture(drawn.data)} alt={words.payCode} width="240" height="240" />
  )
}

const hourSeconds = 3_600

/** What is left to pay in, counted down: minutes and seconds, or days where it is long. */
function Left({ until }: { readonly until: string }) {
  const words = useWords(moneyWords)
  const format = useFormat()
  const nowAt = useNow(1_000)
  const seconds = Math.max(0, Math.floor((Date.parse(until) - nowAt) / 1_000))
  const shown =
    seconds > 48 * hourSeconds
      ? words.days(Math.floor(seconds / (24 * hourSeconds)), format)
      : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  return (
    <Text ta="center" c="dimmed">
      {words.waiting} <span className="mono">{shown}</span>
    </Text>
  )
}
