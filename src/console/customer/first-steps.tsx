import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import { useOwner } from '../client/session.ts'
import { Icon } from '../shared/icons.tsx'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Panel } from '../shared/parts.tsx'
import { useRead } from './api.ts'
import { useProxies } from './dedicated/use-proxies.ts'
import { customerTexts } from './messages.ts'
import { usePools } from './premium/use-pools.ts'

const stepMessages = messages({
  ...customerTexts,
  title: pair('Your first steps', 'Первые шаги'),
  progress: phrase('{done} of {all} done', 'Готово {done} из {all}'),
  done: pair('Done', 'Готово'),
  next: pair('Next', 'Дальше'),
  steps: {
    topUp: pair('Top up the balance', 'Пополните баланс'),
    buy: pair('Buy your first service', 'Купите первую услугу'),
    connect: pair('Connect', 'Подключитесь'),
  },
  abouts: {
    topUp: pair('Choose an amount and a payment method.', 'Выберите сумму и способ оплаты.'),
    buy: pair('Proxies, traffic or VPN: see the prices below.', 'Прокси, трафик или VPN: цены ниже.'),
    connect: pair(
      'Put the address into your program. This step is done when the first byte has passed.',
      'Укажите адрес в программе. Шаг выполнен, когда пройдёт первый байт.',
    ),
  },
  bySeller: pair('Ask the seller to credit your balance.', 'Попросите продавца пополнить баланс.'),
  allDone: pair('All three steps are done. The service works.', 'Все три шага выполнены. Всё работает.'),
  hide: pair('Hide', 'Скрыть'),
  toConnect: pair('Show how', 'Показать как'),
  toBuy: pair('Choose', 'Выбрать'),
})

const everyMs = 10_000

type Step = 'topUp' | 'buy' | 'connect'
const order: readonly Step[] = ['topUp', 'buy', 'connect']

type Progress = {
  readonly done: Readonly<Record<Step, boolean>>
  /** The page of the bought service. */
  readonly service: string
}

/** What a new customer has done so far, read again every 10 s; undefined until it is known. */
function useProgress(isWanted: boolean): Progress | undefined {
  const settings = { isWanted, everyMs }
  const balance = useRead('getBalance', {}, settings).data
  const orders = useRead('listOrders', { query: { limit: 1 } }, settings).data?.orders
  const vpn = useRead('getVpn', {}, settings).data?.items
  const proxies = useProxies(isWanted ? { everyMs } : {}).data
  const pools = usePools(undefined, settings).data
  if (balance === undefined || orders === undefined || vpn === undefined || proxies === undefined) return undefined
  if (pools === undefined) return undefined
  const bought = pools.filter((each) => each.purchased_gb > 0)
  const isUsed =
    proxies.some(({ traffic }) => traffic.rx_bytes + traffic.tx_bytes > 0) ||
    pools.some((each) => each.used_gb > 0) ||
    vpn.some(({ devices }) => devices.some((each) => each.last_handshake_at !== null))
  const hasBought = orders.length > 0
  const hasService = proxies.length + vpn.length + bought.length > 0
  const service =
    proxies[0] !== undefined ? `#/dedicated/${proxies[0].id}` : vpn.length > 0 ? '#/vpn' : '#/premium/access'
  return {
    done: {
      topUp: hasBought || balance.balance_rub > 0,
      buy: hasBought,
      // A customer whose services have all ended is no new customer.
      connect: isUsed || (hasBought && !hasService),
    },
    service,
  }
}

const keyOf = (owner: string): string => `turnpike.first-steps.${owner}`

/** Three steps of a new customer, which tick themselves off. They are gone once the customer hides them. */
export function FirstSteps() {
  const { t, format } = useMessages(stepMessages)
  const owner = useOwner()
  const [isHidden, setHidden] = useState(() => localStorage.getItem(keyOf(owner)) !== null)
  const [wasOpen, setWasOpen] = useState(false)
  const progress = useProgress(!isHidden)
  if (isHidden || progress === undefined) return null
  const { done, service } = progress
  const count = order.filter((each) => done[each]).length
  const isOver = count === order.length
  if (!isOver && !wasOpen) setWasOpen(true)
  // Who came with all of them done has not seen them, and need not.
  if (isOver && !wasOpen) return null
  const hide = () => {
    localStorage.setItem(keyOf(owner), 'done')
    setHidden(true)
  }
  const next = order.find((each) => !done[each])
  return (
    <Panel
      title={t.title}
      aside={<span className="quiet">{t.progress(format.number(count), format.number(order.length))}</span>}
    >
      <ol className="first-steps">
        {order.map((step) => (
          <li key={step} className={done[step] ? 'done' : ''} aria-current={step === next ? 'step' : undefined}>
            <span className="tick">
              {done[step] ? <Icon name="check" size={16} /> : <span aria-hidden="true">{order.indexOf(step) + 1}</span>}
            </span>
            <div className="stack tight">
              <Text fw={600}>
                {t.steps[step]}
                {done[step] && <span className="unseen"> ({t.done})</span>}
              </Text>
              {step === next && <StepBody step={step} service={service} />}
            </div>
          </li>
        ))}
      </ol>
      {isOver && (
        <div className="line ends" role="status">
          <Text>{t.allDone}</Text>
          <Button variant="default" onClick={hide}>
            {t.hide}
          </Button>
        </div>
      )}
    </Panel>
  )
}

/** What to do for the next step, and the one button that leads there. */
function StepBody({ step, service }: { readonly step: Step; readonly service: string }) {
  const { t } = useMessages(stepMessages)
  const methods = useRead('listPaymentMethods').data?.items
  const takesPayments = methods === undefined || methods.length > 0
  const { href, label } = {
    topUp: { href: '#/money', label: t.topUp },
    buy: { href: '#/dedicated/buy', label: t.toBuy },
    connect: { href: service, label: t.toConnect },
  }[step]
  return (
    <>
      <Text size="sm" c="dimmed">
        {step === 'topUp' && !takesPayments ? t.bySeller : t.abouts[step]}
      </Text>
      {(step !== 'topUp' || takesPayments) && (
        <div>
          <Button component="a" href={href} size="xs">
            {label}
          </Button>
        </div>
      )}
    </>
  )
}
