import { Button, Text } from '@mantine/core'
import { useRef } from 'react'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Facts, Notice, Panel, Status } from '../shared/parts.tsx'
import { orderName, tradeMessages } from '../shared/trade.ts'
import { api, type OperatorAnswer, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { CustomerLink, OnceShown } from './parts.tsx'
import { RoleAct } from './role-act.tsx'

const saleMessages = messages({
  ...operatorTexts,
  firstSaleAbout: pair(
    'In a sandbox no money is real. Buy as a customer would, and the order appears here within seconds.',
    'В песочнице деньги ненастоящие. Купите как покупатель, и заказ через секунды появится здесь.',
  ),
  one: pair(
    'Make a test customer and open the sign-in link in a private window.',
    'Заведите пробного покупателя и откройте ссылку для входа в приватном окне.',
  ),
  two: pair(
    'There, set a password, top up with the sandbox method, and buy anything.',
    'Задайте там пароль, пополните баланс способом песочницы и купите что угодно.',
  ),
  three: pair('Look here: the order arrives by itself.', 'Смотрите сюда: заказ придёт сам.'),
  testCustomer: pair('Make a test customer', 'Завести пробного покупателя'),
  testName: pair('Test customer', 'Пробный покупатель'),
  openFront: pair('Open the shop as a visitor', 'Открыть магазин как посетитель'),
  waitingForSale: pair('Waiting for an order', 'Ждём заказ'),
  arrived: pair('An order has arrived', 'Пришёл заказ'),
  earlier: phrase('The last order so far: {order}, {moment}.', 'Последний заказ пока: {order}, {moment}.'),
  toOrder: pair('Open the order', 'Открыть заказ'),
})

type Setup = OperatorAnswer<'getSetup'>

/** In a sandbox: how to make a first sale, and the order as it arrives. */
export function FirstSale({ of }: { readonly of: Setup }) {
  const { t } = useMessages(saleMessages)
  if (of.mode !== 'sandbox') return null
  return (
    <Panel title={t.firstSale} className="stack">
      <Text c="dimmed">{t.firstSaleAbout}</Text>
      <ol className="setup-steps">
        <li>
          <div className="stack tight">
            {t.one}
            <div className="line">
              <RoleAct
                operation="linkCustomer"
                label={t.testCustomer}
                look={{ variant: 'filled', size: 'xs' }}
                fields={[{ name: 'name', label: t.name, initial: t.testName }]}
                run={({ name }) => makeCustomer(String(name))}
                show={(link) => <OnceShown text={link} />}
              />
              <Button component="a" href="/" target="_blank" size="xs" variant="default">
                {t.openFront}
              </Button>
            </div>
          </div>
        </li>
        <li>{t.two}</li>
        <li>{t.three}</li>
      </ol>
      <Arrival first={of.last_order} />
    </Panel>
  )
}

/** A new customer without an e-mail address, and the link that signs the customer in. */
async function makeCustomer(name: string): Promise<string> {
  const { customer_id } = await api.call('createCustomer', { body: { name } })
  const { link } = await api.call('linkCustomer', { params: { customer_id } })
  return link ?? ''
}

/** The newest order, once it is another than that of the page's beginning. */
function Arrival({ first }: { readonly first: Setup['last_order'] }) {
  const { t, format } = useMessages(saleMessages)
  const { t: trade } = useMessages(tradeMessages)
  const before = useRef(first?.order_id)
  const last = useRead('getSetup', {}, { everyMs: 2_000 }).data?.last_order ?? first
  if (last === null || last.order_id === before.current) {
    return (
      <div role="status" className="first-use waits">
        <Status tone="warn">{t.waitingForSale}</Status>
        {last !== null && (
          <Text size="sm" c="dimmed">
            {t.earlier(orderName(last, trade), format.moment(last.created_at))}
          </Text>
        )}
      </div>
    )
  }
  return (
    <Notice tone="good">
      <Text fw={600}>{t.arrived}</Text>
      <Facts
        of={[
          [t.product, orderName(last, trade)],
          [t.customer, <CustomerLink id={last.customer_id} name={last.customer_name} />],
          [t.price, <strong>{format.exactMoney(last.price_rub)}</strong>],
        ]}
      />
      <div className="line notice-actions">
        <Button component="a" size="xs" href={`#/orders/${last.order_id}`}>
          {t.toOrder}
        </Button>
      </div>
    </Notice>
  )
}
